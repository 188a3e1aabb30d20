package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	robot "github.com/go-vgo/robotgo/x11"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
	"hob/platform/host/desktop/xwin"
	"hob/platform/retry"
)

// x11Backend is the backend for an X display, for one action.
type x11Backend struct {
	x   *xwin.Conn
	env session.Env
	w   window.Window
}

func (h *Controller) openBackend(ctx context.Context, w window.Window) (inputBackend, error) {
	env := session.DetectSession(ctx, h.opt.Getenv)
	if env.Wayland != "" {
		return openWayland(ctx, env, w)
	}
	x, err := window.Display(ctx, env)
	if err != nil {
		return nil, err
	}
	if err := xtest.Init(x.X); err != nil {
		x.Close()
		return nil, fmt.Errorf("the X display does not support the XTEST extension: %w: %w", errors.ErrUnsupported, err)
	}
	return &x11Backend{x, env, w}, nil
}

func (s *x11Backend) closeBackend() { s.x.Close() }

func (s *x11Backend) listWindows(context.Context) ([]window.Window, error) {
	return window.ListX11(s.x)
}

// checkKeyboardFree fails if a program has grabbed the keyboard, because such a program receives
// all key presses regardless of the active window. To test this, it tries to grab the keyboard.
func (s *x11Backend) checkKeyboardFree(context.Context) error {
	r, err := xproto.GrabKeyboard(s.x.X, true, s.x.Root, xproto.TimeCurrentTime, xproto.GrabModeAsync, xproto.GrabModeAsync).Reply()
	if err != nil {
		return err
	}
	if r.Status != xproto.GrabStatusSuccess {
		return fmt.Errorf("%w: a screen lock, a password prompt or a menu has grabbed the keyboard", ErrMoved)
	}
	return xproto.UngrabKeyboardChecked(s.x.X, xproto.TimeCurrentTime).Check()
}

func (s *x11Backend) raiseWindow(ctx context.Context) error {
	list, err := s.x.Windows()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(v xwin.Window) bool { return uint64(v.ID) == s.w.ID })
	if i < 0 {
		return ErrGone
	}
	return s.x.Activate(ctx, list[i])
}

// pace is the delay that programs need to process changed keys and individual key presses.
const pace = 2 * time.Millisecond

// typeRunes types characters. Before any key is pressed, it assigns characters that are missing on
// the keyboard to spare keys. The assignments are kept, because programs may look up a key's
// meaning much later, and spare keys had no meaning before.
func (s *x11Backend) typeRunes(ctx context.Context, text []rune) error {
	b, err := s.readKeyboard()
	if err != nil {
		return err
	}
	for _, r := range text {
		if err := b.remapSpareKey(keysymOf(r)); err != nil {
			return err
		}
	}
	s.x.X.Sync()
	for _, r := range text {
		code, shift, ok := b.findKey(keysymOf(r))
		if !ok {
			return fmt.Errorf("keyboard has no key for %q", r)
		}
		if err := b.tapKey(ctx, code, shift); err != nil {
			return err
		}
	}
	s.x.X.Sync()
	return nil
}

// keysymOf returns the X keysym of a character (keysymdef.h: Latin-1 characters are unchanged, all
// others use their code point).
func keysymOf(r rune) uint32 {
	switch {
	case r == '\n':
		return 0xff0d
	case r == '\t':
		return 0xff09
	case r < 0x100:
		return uint32(r)
	}
	return 0x01000000 | uint32(r)
}

// keyboardMap is the keyboard mapping of the X server.
type keyboardMap struct {
	s     *x11Backend
	first xproto.Keycode
	per   int
	syms  []xproto.Keysym
	shift xproto.Keycode
	lent  []xproto.Keycode // spare keys that the current piece needs
}

func (s *x11Backend) readKeyboard() (*keyboardMap, error) {
	first, last := s.x.Info.MinKeycode, s.x.Info.MaxKeycode
	r, err := xproto.GetKeyboardMapping(s.x.X, first, byte(last-first)+1).Reply()
	if err != nil {
		return nil, err
	}
	b := &keyboardMap{s: s, first: first, per: int(r.KeysymsPerKeycode), syms: r.Keysyms}
	b.shift, _, _ = b.findKey(0xffe1)
	if b.per < 1 || b.shift == 0 {
		return nil, errors.New("the X display has no keyboard")
	}
	return b, nil
}

// findKey returns the key of a keysym in the first group.
func (b *keyboardMap) findKey(sym uint32) (code xproto.Keycode, shift, ok bool) {
	for i := 0; i+b.per <= len(b.syms); i += b.per {
		for col := range min(2, b.per) {
			if uint32(b.syms[i+col]) == sym {
				return b.first + xproto.Keycode(i/b.per), col == 1, true //nolint:gosec // at most 255 keys
			}
		}
	}
	return 0, false, false
}

// remapSpareKey ensures that a key produces the keysym. If none does, it assigns the keysym to a
// key without one, or to a spare key that this piece does not need. That key has the same meaning
// with and without shift.
func (b *keyboardMap) remapSpareKey(sym uint32) error {
	if code, _, ok := b.findKey(sym); ok {
		b.lent = append(b.lent, code)
		return nil
	}
	free := func(taken bool) int {
		for i := len(b.syms) - b.per; i >= 0; i -= b.per {
			key := b.syms[i : i+b.per]
			same := !slices.ContainsFunc(key, func(k xproto.Keysym) bool { return k != key[0] })
			code := b.first + xproto.Keycode(i/b.per) //nolint:gosec // at most 255 keys
			if same && (key[0] == 0 || taken && b.per > 1 && key[0] > 0xff && key[0]&0xffffff00 != 0xff00 && !slices.Contains(b.lent, code)) {
				return i
			}
		}
		return -1
	}
	i := free(false)
	if i < 0 {
		i = free(true)
	}
	if i >= 0 {
		key := b.syms[i : i+b.per]
		for col := range key {
			key[col] = xproto.Keysym(sym)
		}
		code := b.first + xproto.Keycode(i/b.per) //nolint:gosec // at most 255 keys
		if err := xproto.ChangeKeyboardMappingChecked(b.s.x.X, 1, code, byte(b.per), key).Check(); err != nil {
			return err
		}
		b.lent = append(b.lent, code)
		return nil
	}
	return errors.New("keyboard has no spare key")
}

func (b *keyboardMap) tapKey(ctx context.Context, code xproto.Keycode, shift bool) error {
	if shift {
		b.sendKeystroke(code, b.shift)
	} else {
		b.sendKeystroke(code)
	}
	return retry.Sleep(ctx, pace)
}

// sendKeystroke presses a key with its modifiers and releases all of them. It does not wait in
// between, because the keys would stay pressed if the context ended in between and closed the
// connection.
func (b *keyboardMap) sendKeystroke(code xproto.Keycode, held ...xproto.Keycode) {
	for _, m := range held {
		b.s.fakeInput(xproto.KeyPress, byte(m))
	}
	b.s.fakeInput(xproto.KeyPress, byte(code))
	b.s.fakeInput(xproto.KeyRelease, byte(code))
	for _, m := range slices.Backward(held) {
		b.s.fakeInput(xproto.KeyRelease, byte(m))
	}
}

func (s *x11Backend) fakeInput(kind, detail byte) {
	xtest.FakeInput(s.x.X, kind, detail, 0, s.x.Root, 0, 0, 0)
}

// pressChord uses robotgo if robotgo finds the same display.
func (s *x11Backend) pressChord(ctx context.Context, key string, held []string) error {
	if s.env.Inherited {
		defer robot.Close() // robotgo keeps a connection open and does not detect that the display has closed
		return robot.KeyTap(key, held)
	}
	b, err := s.readKeyboard()
	if err != nil {
		return err
	}
	sym, named := namedKeysyms()[key]
	if !named {
		sym = uint32(key[0])
	}
	code, shift, ok := b.findKey(sym)
	if !ok {
		return fmt.Errorf("keyboard has no key %q", key)
	}
	var with []xproto.Keycode
	for _, m := range held {
		mod, _, ok := b.findKey(map[string]uint32{"ctrl": 0xffe3, "alt": 0xffe9, "shift": 0xffe1, "cmd": 0xffeb}[m])
		if !ok {
			return fmt.Errorf("keyboard has no key %q", m)
		}
		with = append(with, mod)
	}
	if shift && !slices.Contains(with, b.shift) {
		with = append(with, b.shift)
	}
	b.sendKeystroke(code, with...)
	s.x.X.Sync()
	return retry.Sleep(ctx, pace)
}

func (s *x11Backend) movePointer(_ context.Context, x, y int) error {
	if s.env.Inherited {
		defer robot.Close()
		robot.Move(x, y)
		return nil
	}
	xtest.FakeInput(s.x.X, xproto.MotionNotify, 0, 0, s.x.Root, int16(x), int16(y), 0) //nolint:gosec // coordinates within a window fit
	s.x.X.Sync()
	return nil
}

func (s *x11Backend) clickButton(_ context.Context, _, _ int, button string, twice bool) error {
	if s.env.Inherited {
		defer robot.Close()
		return robot.Click(map[string]string{"left": "left", "middle": "center", "right": "right"}[button], twice)
	}
	n := byte(slices.Index([]string{"left", "middle", "right"}, button) + 1) //nolint:gosec // buttons have the numbers 1 to 3
	for range map[bool]int{false: 1, true: 2}[twice] {
		s.fakeInput(xproto.ButtonPress, n)
		s.fakeInput(xproto.ButtonRelease, n)
	}
	s.x.X.Sync()
	return nil
}
