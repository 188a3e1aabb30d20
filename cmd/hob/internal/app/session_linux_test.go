package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hob/platform/host/desktop/desktoptest"
)

// wpctl is a script that simulates the PipeWire program of this name.
const wpctl = `#!/bin/sh
at=%s
case $1 in
get-volume) echo "Volume: $(cat $at)";;
set-volume) printf '0.%%02d' "${3%%%%%%}" >$at;;
set-mute) v=$(cat $at); echo "${v%%%% *}$([ "$3" = 1 ] && echo ' [MUTED]')" >$at;;
esac
`

// sessionOf builds the desktop session that a scenario's "session" section describes:
// "player NAME IDENTITY STATE TITLE" is a media player, "battery PERCENT" a discharging
// battery, "volume 0.40" a sound server at that volume.
func sessionOf(t *testing.T, a *txtar.Archive) func(string) string {
	t.Helper()
	text := readSection(a, "session")
	if text == "" {
		return nil
	}
	bus := desktoptest.NewBus(t)
	dir := t.TempDir()
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) > 4 && f[0] == "player":
			desktoptest.NewPlayer(t, bus, f[1], f[2], f[3], map[string]any{"xesam:title": strings.Join(f[4:], " ")})
		case len(f) == 2 && f[0] == "battery":
			var percent float64
			if _, err := fmt.Sscan(f[1], &percent); err != nil {
				t.Fatal(err)
			}
			desktoptest.NewLogin(t, bus, percent, 2)
		case len(f) == 2 && f[0] == "volume":
			at := filepath.Join(dir, "volume")
			failOnError(t, os.WriteFile(at, []byte(f[1]), 0o600))
			failOnError(t, os.WriteFile(filepath.Join(dir, "wpctl"), fmt.Appendf(nil, wpctl, at), 0o700)) //nolint:gosec // an executable script
		default:
			t.Fatalf("session: %s", line)
		}
	}
	return bus.Environ(map[string]string{"PATH": dir + ":/usr/bin:/bin", "HOME": dir})
}
