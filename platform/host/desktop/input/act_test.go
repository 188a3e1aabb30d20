package input

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// fakeBackend is a desktop whose state changes during an action.
type fakeBackend struct {
	windows []window.Window
	did     []string
	before  func(what string) // called before each action
	held    error             // error of checkKeyboardFree
	raises  bool              // true if raising a window succeeds
	fails   error
}

func (d *fakeBackend) recordAction(what string) error {
	if d.before != nil {
		d.before(what)
	}
	if d.fails != nil {
		return d.fails
	}
	d.did = append(d.did, what)
	return nil
}

func (d *fakeBackend) listWindows(context.Context) ([]window.Window, error) {
	return slices.Clone(d.windows), nil
}
func (d *fakeBackend) checkKeyboardFree(context.Context) error { return d.held }
func (d *fakeBackend) typeRunes(_ context.Context, s []rune) error {
	return d.recordAction("text " + string(s))
}

func (d *fakeBackend) pressChord(_ context.Context, k string, h []string) error {
	return d.recordAction(strings.Join(append(h, k), "+"))
}

func (d *fakeBackend) movePointer(context.Context, int, int) error { return d.recordAction("point") }
func (d *fakeBackend) closeBackend()                               {}
func (d *fakeBackend) clickButton(_ context.Context, _, _ int, button string, twice bool) error {
	return d.recordAction("click " + button)
}

func (d *fakeBackend) raiseWindow(context.Context) error {
	err := d.recordAction("raise")
	for i := range d.windows {
		d.windows[i].Active = d.raises && d.windows[i].ID == 1
	}
	if d.raises {
		slices.SortStableFunc(d.windows, func(a, b window.Window) int { return int(a.ID) - int(b.ID) })
	}
	return err
}

// bringToFront brings another window to the front.
func (d *fakeBackend) bringToFront(id uint64) {
	for i := range d.windows {
		d.windows[i].Active = d.windows[i].ID == id
	}
	slices.SortStableFunc(d.windows, func(a, b window.Window) int {
		return map[bool]int{true: -1, false: 1}[a.Active]
	})
}

// The checks before each piece are the same on every system.
func TestWindowAction(t *testing.T) {
	no := errors.New("not there")
	boom := errors.New("no such key")
	two := "0123456789abcdefrest"
	type world struct {
		*fakeBackend
		a windowAction
	}
	for name, tc := range map[string]struct {
		set  func(w *world)
		do   func(ctx context.Context, a windowAction) error
		did  string
		errs []error
		sure bool // true if the error must not be ErrUnsure
	}{
		"the window is in front":                {nil, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, two) }, "text 0123456789abcdef,text rest", nil, true},
		"the window is behind":                  {func(w *world) { w.bringToFront(2); w.raises = true }, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, "x") }, "raise,text x", nil, true},
		"the window does not come to the front": {func(w *world) { w.bringToFront(2) }, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, "x") }, "raise", []error{ErrMoved}, true},
		"the window is gone":                    {func(w *world) { w.windows = w.windows[1:] }, func(ctx context.Context, a windowAction) error { return a.pressChords(ctx, []string{"x"}) }, "", []error{ErrGone}, true},
		"the screen is locked":                  {func(w *world) { w.held = ErrMoved }, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, "x") }, "", []error{ErrMoved}, true},
		"the window is not allowed":             {func(w *world) { w.a.ok = func(window.Window) error { return no } }, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, "x") }, "", []error{no}, true},
		"another window comes to the front":     {func(w *world) { w.before = func(string) { w.bringToFront(2) } }, func(ctx context.Context, a windowAction) error { return a.typeText(ctx, two) }, "text 0123456789abcdef", []error{ErrMoved, ErrUnsure}, false},
		"the screen is locked during typing":    {func(w *world) { w.before = func(string) { w.held = ErrMoved } }, func(ctx context.Context, a windowAction) error { return a.pressChords(ctx, []string{"ctrl+a", "x"}) }, "ctrl+a", []error{ErrMoved, ErrUnsure}, false},
		"a key is not pressed":                  {func(w *world) { w.fails = boom }, func(ctx context.Context, a windowAction) error { return a.pressChords(ctx, []string{"x"}) }, "", []error{boom, ErrUnsure}, false},
		"a position in the window":              {nil, func(ctx context.Context, a windowAction) error { return a.clickAt(ctx, 5, 5, "left", false) }, "point,click left", nil, true},
		"a place under another":                 {func(w *world) { w.bringToFront(2); w.raises = true }, func(ctx context.Context, a windowAction) error { return a.clickAt(ctx, 5, 5, "left", false) }, "raise,point,click left", nil, true},
		"a place of another":                    {nil, func(ctx context.Context, a windowAction) error { return a.clickAt(ctx, 500, 5, "left", false) }, "", []error{ErrMoved}, true},
		"a notification covers the position": {func(w *world) {
			w.before = func(string) { w.windows = append([]window.Window{{ID: 9, W: 100, H: 100, Notice: true}}, w.windows...) }
		}, func(ctx context.Context, a windowAction) error { return a.clickAt(ctx, 5, 5, "left", false) }, "point", []error{ErrMoved}, true},
		"the window is raised": {func(w *world) { w.bringToFront(2); w.raises = true }, func(ctx context.Context, a windowAction) error { return a.bringToFront(ctx) }, "raise", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeBackend{windows: []window.Window{{ID: 1, W: 100, H: 100, Active: true}, {ID: 2, W: 100, H: 100}, {ID: 3, X: 400, W: 200, H: 100}}}
				w := &world{d, windowAction{d, window.Window{ID: 1}, yesWindow}}
				if tc.set != nil {
					tc.set(w)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := tc.do(ctx, w.a)
				if got := strings.Join(d.did, ","); got != tc.did {
					t.Errorf("did %s, want %s", got, tc.did)
				}
				for _, want := range tc.errs {
					if !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
				}
				if (err == nil) != (len(tc.errs) == 0) || errors.Is(err, ErrUnsure) == tc.sure && err != nil {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

func yesWindow(window.Window) error { return nil }

// Letters with modifiers are pressed on the keys that have them in the Mac's layout.
func TestKeystroke(t *testing.T) {
	osruntest.Check(t, keystrokeScript())
	world := map[string]any{"apps": map[string]any{"com.apple.systemevents": map[string]any{"running": true, "root": map[string]any{}, "dict": map[string]any{}}}}
	m := osruntest.NewMac(t, world)
	if err := pressLetter(t.Context(), m, "q", []string{"cmd", "shift"}); err != nil {
		t.Fatal(err)
	}
	if got := m.EvalWorld("world.apps['com.apple.systemevents'].root.__typed"); got != `["q",["command down","shift down"]]` {
		t.Errorf("pressed %s", got)
	}
	m.Fail("keystroke", 1002)
	if err := pressLetter(t.Context(), m, "q", nil); osrun.KindOf(err) != osrun.Denied || !strings.Contains(err.Error(), "Privacy_Accessibility") {
		t.Errorf("pressLetter = %v", err)
	}
}
