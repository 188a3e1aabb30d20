package input

import (
	"context"
	"errors"
	"fmt"

	robot "github.com/go-vgo/robotgo/darwin"

	"hob/platform/host/desktop/quartz"
	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
)

// macBackend is the backend for macOS.
type macBackend struct {
	h *Controller
	w window.Window
}

// keyPause is the wait of robotgo after each key, in milliseconds.
const keyPause = 3

// openBackend fails if the screen has no width: robotgo reports no error if it did not find the
// system's libraries or a screen.
func (h *Controller) openBackend(_ context.Context, w window.Window) (inputBackend, error) {
	if width, _ := robot.GetScreenSize(); width == 0 {
		return nil, fmt.Errorf("%w: this process cannot access the macOS screen; start Hob within your desktop session", errors.ErrUnsupported)
	}
	robot.SetDelay(keyPause)
	return macBackend{h, w}, nil
}

func (macBackend) closeBackend() {}

func (m macBackend) listWindows(ctx context.Context) ([]window.Window, error) {
	return window.New(window.Options{Getenv: m.h.opt.Getenv}).List(ctx)
}

func (macBackend) checkKeyboardFree(context.Context) error {
	if !quartz.Trusted() { // macOS would drop the keys silently
		return (&osrun.Error{Script: "type and click", App: "macOS", Cause: "Hob has no Accessibility permission"}).Allow("accessibility")
	}
	if who := quartz.KeyboardHolder(); who != "" {
		return fmt.Errorf("%w: %s receives the keyboard input", ErrMoved, who)
	}
	return nil
}

func (m macBackend) raiseWindow(context.Context) error {
	return quartz.Raise(m.w.PID, uint32(m.w.ID)) //nolint:gosec // window ids on macOS have 32 bits
}

// typeRunes types characters independently of the keyboard layout. Line ends and tabs need real
// keys.
func (macBackend) typeRunes(ctx context.Context, some []rune) error {
	for _, r := range some {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		switch r {
		case '\n':
			err = robot.KeyTap("enter")
		case '\t':
			err = robot.KeyTap("tab")
		default:
			robot.TypeStr(string(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m macBackend) pressChord(ctx context.Context, key string, held []string) error {
	if _, named := namedKeysyms()[key]; !named {
		return pressLetter(ctx, m.h.opt.Scripts, key, held)
	}
	return robot.KeyTap(key, held)
}

func (macBackend) movePointer(_ context.Context, x, y int) error {
	robot.Move(x, y)
	if gx, gy := robot.Location(); gx != x || gy != y {
		return fmt.Errorf("%w: the pointer is at %d,%d instead of %d,%d", ErrMoved, gx, gy, x, y)
	}
	return nil
}

func (macBackend) clickButton(_ context.Context, _, _ int, button string, twice bool) error {
	return robot.Click(map[string]string{"left": "left", "middle": "center", "right": "right"}[button], twice)
}
