package input

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/window"
)

func findWindow(t *testing.T, getenv func(string) string, title string) window.Window {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list, err := window.New(window.Options{Getenv: getenv}).List(t.Context())
		for _, w := range list {
			if w.Title == title {
				return w
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no window: %+v %v", list, err)
		}
	}
}

// On a real compositor, text reaches only the allowed window.
func TestType_OnWayland(t *testing.T) {
	for name, keyboard := range map[string]bool{"with a keyboard": true, "on a seat without one": false} {
		t.Run(name, func(t *testing.T) { typesOnWayland(t, keyboard) })
	}
}

func typesOnWayland(t *testing.T, keyboard bool) {
	if _, err := exec.LookPath("wtype"); err != nil {
		t.Skip("wtype is not installed")
	}
	s := desktoptest.NewWayland(t)
	if keyboard {
		s.Run(t, "wtype", "-s", "1000000")
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"first", "second"} {
		s.Run(t, "foot", "-T", "the "+name, "-e", "/bin/sh", "-c", "stty -echo; cat > "+file(name))
		findWindow(t, s.Getenv, "the "+name)
	}
	for _, name := range []string{"first", "second"} {
		checkFile(t, file(name), "") // the shells are ready
	}
	first := findWindow(t, s.Getenv, "the first")
	if first.Kind() != window.Terminal || first.Active || !strings.HasSuffix(first.Program, "/foot") || first.W < 100 {
		t.Errorf("%+v is a %d", first, first.Kind())
	}
	h := New(Options{Getenv: s.Getenv})
	text := "Hello, World: a+b=c \"quoted\" é ü ж 漢 €\tx -k Tab\n"
	if err := h.Type(t.Context(), first, text, allowAll); err != nil {
		t.Fatal(err)
	}
	checkFile(t, file("first"), text)
	if w := findWindow(t, s.Getenv, "the first"); !w.Active {
		t.Errorf("the window is not active: %+v", w)
	}
	second := findWindow(t, s.Getenv, "the second")
	if err := h.Focus(t.Context(), second, allowAll); err != nil {
		t.Fatal(err)
	}
	if w := findWindow(t, s.Getenv, "the second"); !w.Active {
		t.Errorf("the window is not active: %+v", w)
	}
	if err := h.Type(t.Context(), second, "gone", allowAll); err != nil {
		t.Fatal(err)
	}
	if err := h.Press(t.Context(), second, []string{"ctrl+u", "x", "!", "enter"}, allowAll); err != nil {
		t.Fatal(err)
	}
	checkFile(t, file("second"), "x!\n")

	// Another window comes to the front while text is being typed.
	looks := 0
	err := h.Type(t.Context(), first, strings.Repeat("y", 40)+"\n", func(window.Window) error {
		if looks++; looks == 1 {
			return h.focusWindow(t, s.Getenv, second)
		}
		return nil
	})
	if !errors.Is(err, ErrMoved) || !errors.Is(err, ErrUnsure) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(file("first")); err != nil || string(b) != text {
		t.Errorf("typed %q %v", b, err)
	}
	if err := h.Click(t.Context(), second, second.X+5, second.Y+5, "left", false, allowAll); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("clicked: %v", err)
	}
	second.ID = 4711
	if err := h.Type(t.Context(), second, "x", allowAll); !errors.Is(err, ErrGone) {
		t.Errorf("Type = %v, want ErrGone", err)
	}
}

// focusWindow brings another window to the front, as the user would.
func (h *Controller) focusWindow(t *testing.T, getenv func(string) string, w window.Window) error {
	t.Helper()
	return New(Options{Getenv: getenv}).Focus(t.Context(), w, allowAll)
}

func TestWtypeChords(t *testing.T) {
	for chord, want := range map[string]string{
		"ctrl+shift+t": "-M ctrl -M shift -k t -m shift -m ctrl", "enter": "-k Return", "cmd+f12": "-M logo -k F12 -m logo", "alt+-": "-M alt -k U002D -m alt",
		"pgup": "-k Page_Up", "9": "-k 9",
	} {
		key, held, err := Chord(chord)
		if got := strings.Join(wtypeChord(key, held), " "); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", chord, got, err, want)
		}
	}
}
