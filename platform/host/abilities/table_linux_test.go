package abilities_test

import (
	"os"
	"os/exec"
	"testing"

	"hob/platform/host/abilities"
	"hob/platform/host/desktop/desktoptest"
)

// Tests the abilities of Linux with a private bus, a notification server and a private display.
func TestRun_TriesTheDesktopOfThisMachine(t *testing.T) {
	if _, err := exec.LookPath("Xvfb"); err != nil {
		t.Skip("Xvfb is not installed")
	}
	b := desktoptest.NewBus(t)
	server := desktoptest.NewServer(t, b, "body", "actions")
	o := testOptions(t, map[string]string{"DISPLAY": desktoptest.Display(t), "DBUS_SESSION_BUS_ADDRESS": b.Address, "PATH": os.Getenv("PATH"), "HOME": t.TempDir()})
	o.System = "linux"
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", b.Address) // the keychain library reads the variable directly
	rows := byName(abilities.Run(t.Context(), o))
	for name, want := range map[string]abilities.Result{
		"notifications": abilities.Works, "clipboard": abilities.Works, "screenshot": abilities.Works, "keychain": abilities.Works,
		"tray": abilities.Missing, "mail": abilities.NotUsed, "iMessage": abilities.NotOffered,
	} {
		if got := rows[name]; got.Result != want || want == abilities.Missing && got.Remedy == "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if len(server.All()) == 0 {
		t.Error("no notification was shown")
	}
}
