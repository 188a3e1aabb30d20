package ics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"

	"hob/platform/host/system"
	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// zone is a time zone as its data defines it.
type zone struct {
	loc      *time.Location // nil if the zone is defined by changes
	changes  []change
	floating bool   // follows the user's zone
	unknown  string // name of the zone in the data, if nothing defines it
	stated   *zone  // definition in the data of a zone that has a common name
}

// change is a wall-clock time from which another offset applies.
type change struct {
	wall   time.Time
	offset time.Duration // from UTC
}

// fromWall returns the instant at which the clock shows wall.
func (z zone) fromWall(wall time.Time) time.Time {
	if z.loc != nil {
		y, m, d := wall.Date()
		return time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, z.loc)
	}
	return wall.Add(-z.offsetAt(wall))
}

// toWall returns the clock reading at t.
func (z zone) toWall(t time.Time) time.Time {
	if z.loc != nil {
		t = t.In(z.loc)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	}
	t = t.UTC()
	return t.Add(z.offsetAt(t.Add(z.offsetAt(t))))
}

func (z zone) offsetAt(wall time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(z.changes, wall, func(c change, w time.Time) int {
		if c.wall.After(w) {
			return 1
		}
		return -1
	})
	return z.changes[max(i-1, 0)].offset
}

// zones resolves the time zones that data refers to.
type zones struct {
	home    *time.Location
	defined map[string]zone
}

func (z zones) homeZone() zone { return zone{loc: z.home, floating: true} }

// findZone finds a zone by its IANA name, possibly after a vendor prefix, by its Windows name, or
// by its definition in the data. For unknown names it returns the user's zone.
func (z zones) findZone(id string) zone {
	if id = strings.Trim(id, `"`); id == "" {
		return z.homeZone()
	}
	stated, ok := z.defined[id]
	if loc := commonZone(id); loc != nil {
		if ok {
			return zone{loc: loc, stated: &stated}
		}
		return zone{loc: loc}
	}
	if ok {
		return stated
	}
	home := z.homeZone()
	home.unknown = pim.SanitizeLine(id, 60)
	return home
}

// commonZone returns the zone with an IANA or Windows name, or nil.
func commonZone(id string) *time.Location {
	if len(id) >= 100 {
		return nil
	}
	for name := id; name != ""; _, name, _ = strings.Cut(strings.TrimPrefix(name, "/"), "/") {
		if loc, err := system.Zone(name); err == nil && name != "Local" {
			return loc
		}
	}
	if name, err := system.WindowsZone(id); err == nil {
		if loc, err := system.Zone(name); err == nil {
			return loc
		}
	}
	return nil
}

// smallestDoubt is the smallest difference between two definitions of a zone that is reported.
// Zones without a name for their daylight saving time often differ by seconds.
const smallestDoubt = 15 * time.Minute

// describeDoubt returns why the instant of a wall-clock time is uncertain, and its other reading.
func (z zone) describeDoubt(wall time.Time) (why string, other []time.Time) {
	switch {
	case z.unknown != "":
		return fmt.Sprintf("its time zone %q is unknown, so the time may be in another zone than yours", z.unknown), nil
	case z.stated == nil:
		return "", nil
	}
	a, b := z.fromWall(wall), z.stated.fromWall(wall)
	if a.Sub(b).Abs() < smallestDoubt {
		return "", nil
	}
	return fmt.Sprintf("its data defines the time zone %s differently: %s or %s UTC", z.loc, a.UTC().Format("15:04"), b.UTC().Format("15:04")), []time.Time{b.In(z.loc)}
}

func zonesOf(cal *ical.Calendar, home *time.Location) zones {
	z := zones{home: home, defined: map[string]zone{}}
	for i, c := range cal.Children {
		if c.Name != ical.CompTimezone || i > 50 {
			continue
		}
		if d := parseTimezone(c); len(d.changes) > 0 {
			z.defined[propValue(c, ical.PropTimezoneID)] = d
		}
	}
	return z
}

// The range for which the changes of a zone are computed.
const (
	firstYear = 1970
	lastYear  = 2060
)

// parseTimezone parses a VTIMEZONE (RFC 5545, 3.6.5).
func parseTimezone(c *ical.Component) (z zone) {
	for i, part := range c.Children {
		if part.Name != ical.CompTimezoneStandard && part.Name != ical.CompTimezoneDaylight || i > 20 {
			continue
		}
		offset, ok := utcOffset(propValue(part, ical.PropTimezoneOffsetTo))
		start, err := time.Parse("20060102T150405", propValue(part, ical.PropDateTimeStart))
		if !ok || err != nil {
			continue
		}
		z.changes = append(z.changes, change{start, offset})
		text := propValue(part, ical.PropRecurrenceRule)
		if text == "" || len(text) > maxRule {
			continue
		}
		o, err := rrule.StrToROption(text)
		if err != nil || o.Freq != rrule.YEARLY || checkRuleCost(o) != nil {
			continue
		}
		if o.Dtstart = start; start.Year() < firstYear { // use the oldest rule, starting at the first year that matters
			o.Dtstart = start.AddDate(firstYear-start.Year(), 0, 0)
		}
		r, err := rrule.NewRRule(*o)
		if err != nil {
			continue
		}
		next := r.Iterator()
		for range lastYear - firstYear {
			w, ok := next()
			if !ok || w.Year() > lastYear {
				break
			}
			z.changes = append(z.changes, change{w, offset})
		}
	}
	sorting.StableByFunc(z.changes, func(a, b change) int { return a.wall.Compare(b.wall) })
	return z
}

func utcOffset(s string) (time.Duration, bool) {
	if len(s) != 5 && len(s) != 7 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	n, err := strconv.Atoi(s[1:5])
	if err != nil || n/100 > 23 || n%100 > 59 {
		return 0, false
	}
	d := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, true
}
