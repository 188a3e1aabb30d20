package selftest_test

import (
	"os"
	"os/exec"
	"testing"

	"hob/cmd/hob/internal/selftest"
	"hob/platform/host/desktop/desktoptest"
)

// The abilities of Linux against a private bus with a notification server and a private display.
func TestRun_TriesTheDesktopOfThisMachine(t *testing.T) {
	if _, err := exec.LookPath("Xvfb"); err != nil {
		t.Skip("there is no Xvfb here")
	}
	b := desktoptest.NewBus(t)
	server := desktoptest.NewServer(t, b, "body", "actions")
	o := options(t, map[string]string{"DISPLAY": desktoptest.Display(t), "DBUS_SESSION_BUS_ADDRESS": b.Address, "PATH": os.Getenv("PATH"), "HOME": t.TempDir()})
	o.System = "linux"
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", b.Address) // the keychain's library reads it itself
	rows := byName(selftest.Run(t.Context(), o))
	for name, want := range map[string]selftest.Result{
		"notifications": selftest.Works, "clipboard": selftest.Works, "screenshot": selftest.Works, "keychain": selftest.Works,
		"tray": selftest.Missing, "mail": selftest.NotOffered, "iMessage": selftest.NotOffered,
	} {
		if got := rows[name]; got.Result != want || want == selftest.Missing && got.Remedy == "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if len(server.All()) == 0 {
		t.Error("no notification was shown")
	}
}
