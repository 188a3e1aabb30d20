package input

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
)

func allowAll(window.Window) error { return nil }

// openTerminal shows a window that writes each typed line into a file.
func openTerminal(t *testing.T, inherited bool) (getenv func(string) string, out string) {
	t.Helper()
	program, err := exec.LookPath("xterm")
	if err != nil {
		t.Skip("xterm is not installed")
	}
	display := desktoptest.Display(t)
	if inherited {
		t.Setenv("DISPLAY", display)
		t.Setenv("WAYLAND_DISPLAY", "")
	} else {
		t.Setenv("DISPLAY", "")
	}
	out = filepath.Join(t.TempDir(), "typed")
	cmd := exec.CommandContext(t.Context(), program, "-u8", "-T", "the editor", "-e", "/bin/sh", "-c", "stty -echo; cat > "+out)
	cmd.Env = []string{"DISPLAY=" + display, "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return func(k string) string {
		if k == "DISPLAY" {
			return display
		}
		return ""
	}, out
}

func awaitWindow(t *testing.T, getenv func(string) string) window.Window {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list, err := window.New(window.Options{Getenv: getenv}).List(t.Context())
		if err == nil && len(list) > 0 && list[0].Title == "the editor" {
			return list[0]
		}
		if time.Now().After(end) {
			t.Fatalf("no window: %+v %v", list, err)
		}
	}
}

func checkFile(t *testing.T, file, want string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(file)
		if string(b) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("typed %q, want %q", b, want)
		}
	}
}

func TestType_IntoARealWindow(t *testing.T) {
	for name, inherited := range map[string]bool{"by robotgo": true, "by XTEST alone": false} {
		t.Run(name, func(t *testing.T) {
			getenv, out := openTerminal(t, inherited)
			w := awaitWindow(t, getenv)
			if w.Kind() != window.Terminal {
				t.Errorf("%+v is a %d", w, w.Kind())
			}
			checkFile(t, out, "") // the shell is ready
			h := New(Options{Getenv: getenv})
			text := `Hello, World: a+b=c "quoted" é ü ж 漢 €` + "\n"
			if err := h.Type(t.Context(), w, text, allowAll); err != nil {
				t.Fatal(err)
			}
			checkFile(t, out, text)
			if err := h.Click(t.Context(), w, w.X+5, w.Y+5, "left", false, allowAll); err != nil {
				t.Error(err)
			}
			if err := h.Type(t.Context(), w, "gone", allowAll); err != nil {
				t.Fatal(err)
			}
			if err := h.Press(t.Context(), w, []string{"ctrl+u", "x", "enter", "ctrl+d"}, allowAll); err != nil {
				t.Fatal(err)
			}
			checkFile(t, out, text+"x\n")
		})
	}
}

func TestType_StopsInAnotherWindow(t *testing.T) {
	getenv, out := openTerminal(t, false)
	w := awaitWindow(t, getenv)
	checkFile(t, out, "")
	h := New(Options{Getenv: getenv})
	no := errors.New("not there")
	if err := h.Type(t.Context(), w, "x\n", func(window.Window) error { return no }); !errors.Is(err, no) {
		t.Errorf("Type = %v", err)
	}
	n := 0
	if err := h.Type(t.Context(), w, "0123456789abcdef0123456789\n", func(window.Window) error {
		if n++; n > 1 {
			return no
		}
		return nil
	}); !errors.Is(err, no) || !errors.Is(err, ErrUnsure) {
		t.Errorf("%v", err)
	}
	n = 0
	if err := h.Press(t.Context(), w, []string{"x", "enter"}, func(window.Window) error {
		if n++; n > 2 {
			return no
		}
		return nil
	}); !errors.Is(err, no) || !errors.Is(err, ErrUnsure) {
		t.Errorf("a refused second key after a pressed one = %v", err)
	}
	gone := w
	gone.ID = 12345
	if err := h.Type(t.Context(), gone, "x", allowAll); !errors.Is(err, ErrGone) {
		t.Errorf("Type = %v, want ErrGone", err)
	}
	if err := h.Click(t.Context(), gone, w.X+5, w.Y+5, "left", false, allowAll); !errors.Is(err, ErrGone) {
		t.Errorf("Click = %v, want ErrGone", err)
	}
	for _, c := range []string{"", "ctrl+", "hyper+x", "ab", "ctrl+é"} {
		if err := h.Press(t.Context(), w, []string{c}, allowAll); err == nil {
			t.Errorf("%q is a chord", c)
		}
	}
}

// A screen lock or a password prompt grabs the keyboard and receives all input, whatever window is
// in front. Typing therefore stops.
func TestType_StopsWhenTheKeyboardIsGrabbed(t *testing.T) {
	getenv, out := openTerminal(t, false)
	w := awaitWindow(t, getenv)
	checkFile(t, out, "")
	lock, err := window.Display(t.Context(), session.DetectSession(t.Context(), getenv))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	r, err := xproto.GrabKeyboard(lock.X, true, lock.Root, xproto.TimeCurrentTime, xproto.GrabModeAsync, xproto.GrabModeAsync).Reply()
	if err != nil || r.Status != xproto.GrabStatusSuccess {
		t.Fatal(r, err)
	}
	h := New(Options{Getenv: getenv})
	if err := h.Type(t.Context(), w, "secret\n", allowAll); !errors.Is(err, ErrMoved) || errors.Is(err, ErrUnsure) {
		t.Errorf("typed: %v", err)
	}
	if err := h.Press(t.Context(), w, []string{"enter"}, allowAll); !errors.Is(err, ErrMoved) {
		t.Errorf("pressed: %v", err)
	}
	if err := h.Click(t.Context(), w, w.X+5, w.Y+5, "left", false, allowAll); !errors.Is(err, ErrMoved) {
		t.Errorf("clicked: %v", err)
	}
	if err := xproto.UngrabKeyboardChecked(lock.X, xproto.TimeCurrentTime).Check(); err != nil {
		t.Fatal(err)
	}
	if err := h.Type(t.Context(), w, "x\n", allowAll); err != nil {
		t.Fatal(err)
	}
	checkFile(t, out, "x\n")
}

func TestNew_WithoutADesktop(t *testing.T) {
	t.Setenv("DISPLAY", "")
	for name, env := range map[string]map[string]string{"none": {}, "Wayland": {"WAYLAND_DISPLAY": "wayland-0"}, "gone": {"DISPLAY": ":64999"}} {
		h := New(Options{Getenv: func(k string) string { return env[k] }})
		err := h.Type(context.Background(), window.Window{ID: 1}, "x", allowAll)
		if !errors.Is(err, session.ErrNone) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: Type = %v", name, err)
		}
	}
}
