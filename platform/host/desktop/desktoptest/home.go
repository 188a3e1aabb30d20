//go:build linux

package desktoptest

import (
	"path/filepath"
	"testing"

	"hob/platform/host/system"
)

// Home sets the bus as the session bus of this process, creates a home for the test, and
// returns the paths of a Hob with that home.
func (b *Bus) Home(t *testing.T) (home string, paths system.Paths) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", b.Address)
	paths, err := system.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	return home, paths
}
