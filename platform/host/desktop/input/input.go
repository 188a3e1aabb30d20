// Package input types and clicks as the user would. It applies no policy, but it only acts in the
// window that its caller names. It first brings that window to the front, checks it again between
// the pieces of the text, and stops with an error if another window has the focus.
//
// It works on systems that report which window is in front: X11, the Wayland compositor sway,
// Windows and macOS. act.go contains the checks before each piece, which are the same on all
// systems.
//
// For the pointer and key chords it uses robotgo's backends without cgo, which are selected at run
// time and not loaded if there is no display. It does not use them in the following cases, in which
// they do not work:
//   - Text on X11: robotgo restores a key's old meaning before programs have read
//     the new one, so that letters missing on the keyboard are lost. This package
//     assigns such letters to spare keys and keeps the assignment.
//   - A display that robotgo does not find itself (in a service): this package uses
//     XTEST.
//   - Wayland: robotgo's keyboard has only US letters and silently drops all others;
//     wtype creates a keyboard with all letters of the text.
//   - Letters with modifiers on macOS: robotgo presses the position of a letter on a
//     US keyboard, which is another key elsewhere; System Events uses the actual
//     layout.
package input

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
)

// Errors of a Controller.
var (
	ErrMoved  = errors.New("another window is in front")
	ErrGone   = errors.New("window no longer exists")
	ErrUnsure = errors.New("unknown how much of the input was sent")
)

// MaxText is the maximum length of the text to type, in characters.
const MaxText = 5000

// Options of New; the zero value is useful.
type Options struct {
	Getenv func(string) string
	Wait   time.Duration // timeout of one action, default 60 s
	// Scripts runs the scripts for macOS; nil creates a runner.
	Scripts osrun.Runner
}

// Controller types and clicks. It runs one action at a time.
type Controller struct {
	opt  Options
	turn chan struct{}
}

// New returns a Controller. It does not connect yet.
func New(o Options) *Controller {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = time.Minute
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	return &Controller{o, make(chan struct{}, 1)}
}

// Check is called with the window right before each piece of an action. If it returns an error, the
// action ends.
type Check func(w window.Window) error

// Type types text into a window. A line end presses Enter, and a tab presses Tab.
func (h *Controller) Type(ctx context.Context, w window.Window, text string, ok Check) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxText || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return fmt.Errorf("cannot type this text; use at most %d characters without control characters", MaxText)
	}
	return h.runInput(ctx, w, ok, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, text) })
}

// Press presses chords in a window, one after another, such as "ctrl+s".
func (h *Controller) Press(ctx context.Context, w window.Window, chord []string, ok Check) error {
	for _, c := range chord {
		if _, _, err := Chord(c); err != nil {
			return err
		}
	}
	return h.runInput(ctx, w, ok, func(ctx context.Context, a windowAction) error { return a.pressChords(ctx, chord) })
}

// Click clicks at a point of the screen at which the window must be visible. button is left, right
// or middle.
func (h *Controller) Click(ctx context.Context, w window.Window, x, y int, button string, twice bool, ok Check) error {
	if !slices.Contains([]string{"left", "right", "middle"}, button) {
		return fmt.Errorf("unknown button %q; use left, right or middle", button)
	}
	return h.runInput(ctx, w, ok, func(ctx context.Context, a windowAction) error { return a.clickAt(ctx, x, y, button, twice) })
}

// Focus brings a window to the front, so that it gets the keyboard.
func (h *Controller) Focus(ctx context.Context, w window.Window, ok Check) error {
	return h.runInput(ctx, w, ok, func(ctx context.Context, a windowAction) error { return a.bringToFront(ctx) })
}

func (h *Controller) runInput(ctx context.Context, w window.Window, ok Check, does func(context.Context, windowAction) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.opt.Wait)
	defer cancel()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	d, err := h.openBackend(ctx, w)
	if err != nil {
		return err
	}
	defer d.closeBackend()
	err = does(ctx, windowAction{d, w, ok})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	}
	return err
}

// piece is the number of characters typed between two checks of the window.
const piece = 16

// partialError returns the error for input that was sent only in part.
func partialError(err error, left int, what string) error {
	return fmt.Errorf("%w; %d %s: %w", ErrUnsure, left, what, err)
}

// partialKeysError returns the error for a list of keys of which only some were pressed.
func partialKeysError(err error, left, done int) error {
	if done == 0 {
		return err
	}
	return partialError(err, left, "of the keys were not pressed")
}

// Chord parses a chord such as "ctrl+shift+t" into a key and its modifiers, with robotgo's names.
func Chord(s string) (key string, held []string, err error) {
	words := strings.Split(strings.ToLower(strings.TrimSpace(s)), "+")
	for i, w := range words {
		w = strings.TrimSpace(w)
		if other := map[string]string{"control": "ctrl", "win": "cmd", "super": "cmd", "meta": "cmd", "command": "cmd", "option": "alt", "return": "enter", "escape": "esc", "del": "delete", "pgup": "pageup", "pgdn": "pagedown", "page_up": "pageup", "page_down": "pagedown"}[w]; other != "" {
			w = other
		}
		if i < len(words)-1 {
			if !slices.Contains([]string{"ctrl", "alt", "shift", "cmd"}, w) {
				return "", nil, fmt.Errorf("unknown modifier %q; use ctrl, alt, shift or cmd", w)
			}
			held = append(held, w)
			continue
		}
		_, named := namedKeysyms()[w]
		if r, n := utf8.DecodeRuneInString(w); !named && (n != len(w) || r < '!' || r > '~') {
			return "", nil, fmt.Errorf("unknown key %q", w)
		}
		key = w
	}
	return key, held, nil
}

// namedKeysyms returns the named keys, by robotgo's names, with the values of keysymdef.h.
func namedKeysyms() map[string]uint32 {
	m := map[string]uint32{
		"enter": 0xff0d, "tab": 0xff09, "esc": 0xff1b, "backspace": 0xff08, "delete": 0xffff, "space": 0x20, "insert": 0xff63,
		"home": 0xff50, "left": 0xff51, "up": 0xff52, "right": 0xff53, "down": 0xff54, "pageup": 0xff55, "pagedown": 0xff56, "end": 0xff57,
	}
	for i := range uint32(12) {
		m[fmt.Sprintf("f%d", i+1)] = 0xffbe + i
	}
	return m
}
