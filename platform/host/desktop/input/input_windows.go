package input

import (
	"context"
	"errors"
	"fmt"

	robot "github.com/go-vgo/robotgo/win"
	"golang.org/x/sys/windows"

	"hob/platform/host/desktop/window"
)

// windowsBackend is the backend for Windows.
type windowsBackend struct {
	getenv func(string) string
	w      window.Window
}

func (h *Controller) openBackend(_ context.Context, w window.Window) (inputBackend, error) {
	return windowsBackend{h.opt.Getenv, w}, nil
}

func (windowsBackend) closeBackend() {}

func (d windowsBackend) listWindows(ctx context.Context) ([]window.Window, error) {
	return window.New(window.Options{Getenv: d.getenv}).List(ctx)
}

const desktopReadObjects = 1 // DESKTOP_READOBJECTS

// checkKeyboardFree fails while the screen is locked or Windows shows a UAC prompt. The keyboard
// then belongs to another desktop, which Hob cannot access.
func (windowsBackend) checkKeyboardFree(context.Context) error {
	user := windows.NewLazySystemDLL("user32.dll")
	h, _, _ := user.NewProc("OpenInputDesktop").Call(0, 0, desktopReadObjects)
	if h == 0 {
		return fmt.Errorf("%w: the screen is locked, or Windows shows a permission prompt", ErrMoved)
	}
	_, _, _ = user.NewProc("CloseDesktop").Call(h)
	return nil
}

// raiseWindow requests once that the window comes to the front. Windows may refuse the request.
func (d windowsBackend) raiseWindow(context.Context) error {
	_, _, _ = windows.NewLazySystemDLL("user32.dll").NewProc("SetForegroundWindow").Call(uintptr(d.w.ID))
	return nil
}

// typeRunes types characters. Line ends and tabs need real keys.
func (windowsBackend) typeRunes(ctx context.Context, some []rune) error {
	for _, r := range some {
		var err error
		switch r {
		case '\n':
			err = robot.KeyTap("enter")
		case '\t':
			err = robot.KeyTap("tab")
		default:
			robot.TypeStr(string(r))
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

func (windowsBackend) pressChord(_ context.Context, key string, held []string) error {
	with := make([]any, len(held)) // pass each key as a separate argument, because robotgo ignores a slice here
	for k, m := range held {
		with[k] = m
	}
	return robot.KeyTap(key, with...)
}

func (windowsBackend) movePointer(_ context.Context, x, y int) error {
	robot.Move(x, y)
	return nil
}

func (windowsBackend) clickButton(_ context.Context, _, _ int, button string, twice bool) error {
	return robot.Click(map[string]string{"left": "left", "middle": "center", "right": "right"}[button], twice)
}
