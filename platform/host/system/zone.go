package system

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // systems without a zone database: Windows, small containers
)

// zoneEvery is the time for which the detected zone is cached.
const zoneEvery = 10 * time.Second

// Zone loads an IANA time zone. "" and "Local" mean the zone of this machine (see LocalZone). The
// error lists the accepted values.
func Zone(name string) (*time.Location, error) {
	follow, err := FollowZone(name)
	if err != nil {
		return nil, err
	}
	return follow(), nil
}

// FollowZone returns a function that returns the zone of a name, for repeated calls. For this
// machine's zone, the function returns the new zone soon after the user or the system changed it,
// unlike time.Local. It returns the same pointer until the zone changes.
func FollowZone(name string) (func() *time.Location, error) {
	if name == "" || name == "Local" {
		f := &zoneFollower{name: LocalZone, copied: localCopy}
		f.currentZone()
		return f.currentZone, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a time zone; write an IANA name such as \"Europe/Vilnius\", \"UTC\" or \"Local\"", name)
	}
	return func() *time.Location { return loc }, nil
}

// zoneFollower reads the machine's zone on demand and caches it.
type zoneFollower struct {
	name   func() (string, error)
	copied func() ([]byte, error) // returns the rules of a zone without a name

	mu     sync.Mutex
	loc    *time.Location
	rules  []byte // rules of loc if it has no name
	looked time.Time
}

func (f *zoneFollower) currentZone() *time.Location {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.loc != nil && now.Sub(f.looked) < zoneEvery {
		return f.loc
	}
	f.looked = now
	f.detectZone()
	return f.loc
}

// detectZone keeps the previous zone if the machine's zone cannot be read, for example while it is
// being changed.
func (f *zoneFollower) detectZone() {
	name, err := f.name()
	if err == nil {
		if f.loc != nil && f.loc.String() == name {
			return
		}
		if loc, err := time.LoadLocation(name); err == nil {
			f.loc, f.rules = loc, nil
			return
		}
	}
	if rules, err := f.copied(); err == nil && !bytes.Equal(rules, f.rules) {
		if loc, err := time.LoadLocationFromTZData("Local", rules); err == nil {
			f.loc, f.rules = loc, rules
			return
		}
	}
	if f.loc == nil {
		f.loc = time.Local // has the correct offset but no name
	}
}

// LocalZone returns the IANA name of this machine's zone. If the name is unknown, the error states
// why. "Local" then still has the correct offset.
func LocalZone() (string, error) {
	name, err := localZone()
	if err != nil {
		return "", err
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "", fmt.Errorf("this machine's time zone %q is not an IANA zone; set agent.timezone", name)
	}
	return name, nil
}

// windowsZones has a line "Windows name=IANA name" for each Windows zone, from windowsZones.xml of
// the Unicode CLDR (territory 001).
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
