package app

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
)

// shownWindow is a terminal on a separate screen.
type shownWindow struct{ display, title string }

// showWindow opens a terminal on a separate screen, or skips the test if that is not possible. Text
// typed in the window is written to a file, line by line.
func showWindow(t *testing.T, title, file string) *shownWindow {
	t.Helper()
	program, err := exec.LookPath("xterm")
	if err != nil {
		t.Skip("xterm is not installed")
	}
	w := &shownWindow{desktoptest.Display(t), title}
	cmd := exec.CommandContext(t.Context(), program, "-u8", "-T", title, "-e", "/bin/sh", "-c", "stty -echo; cat > "+file)
	cmd.Env = []string{"DISPLAY=" + w.display, "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	failOnError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list, err := window.New(window.Options{Getenv: w.lookupEnv}).List(t.Context())
		if _, here := os.Stat(file); err == nil && here == nil && len(list) > 0 && list[0].Title == title {
			return w
		}
		if time.Now().After(end) {
			t.Fatalf("no window: %+v %v", list, err)
		}
	}
}

func (w *shownWindow) lookupEnv(key string) string {
	if key == "DISPLAY" {
		return w.display
	}
	return ""
}

// changeTitle changes the title of the window, as a program does when it shows something else.
func (w *shownWindow) changeTitle(t *testing.T, title string) {
	t.Helper()
	x, err := window.Display(t.Context(), session.DetectSession(t.Context(), w.lookupEnv))
	failOnError(t, err)
	defer x.Close()
	list, err := window.ListX11(x)
	failOnError(t, err)
	for _, name := range []string{"_NET_WM_NAME", "WM_NAME"} {
		prop, err := x.Atom(name)
		failOnError(t, err)
		kind, err := x.Atom("UTF8_STRING")
		failOnError(t, err)
		failOnError(t, xproto.ChangePropertyChecked(x.X, xproto.PropModeReplace, xproto.Window(list[0].ID), prop, kind, 8, uint32(len(title)), []byte(title)).Check())
	}
}
