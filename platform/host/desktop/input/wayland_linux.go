package input

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"unicode"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/swayipc"
	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
)

// swayBackend controls the compositor sway. sway reports the focused window, and wtype presses
// keys.
type swayBackend struct {
	sway  *swayipc.Conn
	w     window.Window
	wtype string
	first []string // arguments of wtype before the arguments of each call
	env   []string
}

// found is the time in milliseconds that programs need to detect a new keyboard. Keys that are
// pressed earlier are lost.
const found = "150"

func openWayland(ctx context.Context, e session.Env, w window.Window) (inputBackend, error) {
	c, err := window.Compositor(ctx, e)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("wtype")
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%w: typing on Wayland requires wtype; install the package wtype", errors.ErrUnsupported)
	}
	var first []string
	if there, err := c.Keyboard(ctx); err != nil || !there {
		first = []string{"-s", found}
	}
	return &swayBackend{c, w, program, first, []string{"WAYLAND_DISPLAY=" + e.Wayland, "XDG_RUNTIME_DIR=" + e.RuntimeDir, "HOME=" + e.Home, "LC_ALL=C.UTF-8"}}, nil
}

func (d *swayBackend) closeBackend() { d.sway.Close() }

func (d *swayBackend) listWindows(ctx context.Context) ([]window.Window, error) {
	return window.ListSway(ctx, d.sway)
}

// checkKeyboardFree does nothing, because sway lists no focused window if something else has the
// keyboard.
func (d *swayBackend) checkKeyboardFree(context.Context) error { return nil }

func (d *swayBackend) raiseWindow(ctx context.Context) error { return d.sway.Focus(ctx, d.w.ID) }

// runWtype starts wtype and passes the text on standard input, because all users of this machine
// can read the arguments of processes.
func (d *swayBackend) runWtype(ctx context.Context, in string, args ...string) error {
	cmd := exec.Command(d.wtype, slices.Concat(d.first, args)...) //nolint:noctx // Output ends the whole process tree
	cmd.Env = d.env
	if _, err := osrun.Output(ctx, cmd, []byte(in)); err != nil {
		return fmt.Errorf("run wtype: %w", err)
	}
	return nil
}

func (d *swayBackend) typeRunes(ctx context.Context, some []rune) error {
	return d.runWtype(ctx, string(some), "-")
}

func (d *swayBackend) pressChord(ctx context.Context, key string, held []string) error {
	return d.runWtype(ctx, "", wtypeChord(key, held)...)
}

// wtypeChord returns the arguments of wtype for a chord. It uses xkb's names of the keys.
func wtypeChord(key string, held []string) (args []string) {
	mods := make([]string, len(held))
	for i, h := range held {
		mods[i] = map[string]string{"ctrl": "ctrl", "alt": "alt", "shift": "shift", "cmd": "logo"}[h]
		args = append(args, "-M", mods[i])
	}
	args = append(args, "-k", xkbName(key))
	for _, m := range slices.Backward(mods) {
		args = append(args, "-m", m)
	}
	return args
}

func xkbName(key string) string {
	if n := map[string]string{
		"enter": "Return", "tab": "Tab", "esc": "Escape", "backspace": "BackSpace", "delete": "Delete", "space": "space", "insert": "Insert",
		"home": "Home", "left": "Left", "up": "Up", "right": "Right", "down": "Down", "pageup": "Page_Up", "pagedown": "Page_Down", "end": "End",
	}[key]; n != "" {
		return n
	}
	r := []rune(key)
	switch {
	case len(r) > 1: // f1 to f12
		return strings.ToUpper(key)
	case unicode.IsLetter(r[0]) || unicode.IsDigit(r[0]):
		return key
	}
	return fmt.Sprintf("U%04X", r[0])
}

// errPointer is the error for clicks on Wayland: notifications and panels cover the windows at
// unknown positions, so a click could hit something other than what was approved.
var errPointer = fmt.Errorf("%w: Wayland does not report what covers a window, so Hob cannot click at a position; use click_element or press_keys", errors.ErrUnsupported)

func (*swayBackend) movePointer(context.Context, int, int) error { return errPointer }

func (*swayBackend) clickButton(context.Context, int, int, string, bool) error { return errPointer }
