//go:build linux

package desktoptest

import (
	"path/filepath"
	"testing"

	"hob/platform/system"
)

// Home makes the bus that of this process's session, which gets a home of the test's
// own, and says where a Hob with that home keeps its things.
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
