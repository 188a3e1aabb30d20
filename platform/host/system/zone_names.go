package system

import (
	_ "embed"
	"fmt"
	"strings"
)

// windowsZones has a line "Windows name=IANA name" for each zone of Windows,
// after windowsZones.xml of the Unicode CLDR (territory 001).
//
//go:embed zone_windows.txt
var windowsZones string

// WindowsZone maps the Windows name of a zone, as used in Outlook calendars, to the IANA name.
func WindowsZone(name string) (string, error) { return windowsZone(name) }

// windowsZone maps the Windows name of a zone to the IANA name.
func windowsZone(name string) (string, error) {
	for line := range strings.Lines(windowsZones) {
		w, iana, _ := strings.Cut(strings.TrimSpace(line), "=")
		if w == name {
			return iana, nil
		}
	}
	return "", fmt.Errorf("unknown Windows time zone %q; set agent.timezone", name)
}
