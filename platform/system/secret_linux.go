package system

import (
	"fmt"
	"os"
	"path/filepath"
)

// keychainThere looks for a session bus first: connecting without one would
// start a dbus-daemon that nobody ends.
func keychainThere(getenv func(string) string) error {
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: there is no secret service in this session (no D-Bus session bus)", ErrNoKeychain)
}
