package desktop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/host/desktop"
	"hob/platform/host/desktop/desktoptest"
)

// TestDunst shows a notification with dunst on a private display. The bus starts dunst when it is
// first needed.
func TestDunst(t *testing.T) {
	for _, p := range []string{"Xvfb", "dunst", "dunstctl", "dbus-send"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
	b := desktoptest.NewBus(t)
	display := desktoptest.Display(t)
	home := t.TempDir()
	script := filepath.Join(home, "start")
	writeFile(t, script, "#!/bin/sh\nexport DISPLAY="+display+" HOME="+home+"\nexec dunst\n", 0o700)
	writeFile(t, filepath.Join(b.Services, desktoptest.Name+".service"), "[D-BUS Service]\nName="+desktoptest.Name+"\nExec="+script+"\n", 0o600)
	n, events := openClient(t, b, desktop.Options{Wait: 20 * time.Second})
	srv, err := n.Server(t.Context())
	if err != nil || srv.Name != "dunst" || !srv.Actions {
		t.Fatalf("server %+v, %v", srv, err)
	}
	q := newQuestion("q1")
	q.Body, q.Actions = "rm <i>-rf</i> & more", q.Actions[:1] // with several actions dunst opens a menu
	if err := n.Notify(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := runDunstctl(t, b, "count", "displayed"); got != "1" {
		t.Fatalf("%s notes are displayed, want 1", got)
	}
	runDunstctl(t, b, "action", "0")
	if e := awaitEvent(t, events); e.Note != "q1" || e.Pressed != "yes" {
		t.Errorf("event %+v", e)
	}
	if err := n.Notify(t.Context(), desktop.Notification{ID: "n2", Title: "Hob", Body: "x", Actions: []desktop.Action{{Key: desktop.Default, Label: "Open"}}}); err != nil {
		t.Fatal(err)
	}
	if err := n.Withdraw(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	for e := awaitEvent(t, events); e != (desktop.Event{Note: "n2", Closed: desktop.Withdrawn}); e = awaitEvent(t, events) {
		if e.Note != "q1" {
			t.Fatalf("event %+v", e)
		}
	}
}

func runDunstctl(t *testing.T, b *desktoptest.Bus, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "dunstctl", args...)
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+b.Address)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dunstctl %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
