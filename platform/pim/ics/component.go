package ics

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/platform/pim"
)

// component is one VEVENT.
type component struct {
	pim.Event
	start    moment
	length   time.Duration // duration of a timed event
	days     int           // number of days of an all-day event
	rules    []string
	added    []moment
	removed  []moment
	replaces *moment
	sequence int
}

// moment is a date or time as written: the wall-clock time, stored as UTC, and its zone.
type moment struct {
	wall time.Time
	date bool
	zone zone
}

// toTime returns the instant.
func (m moment) toTime() time.Time { return m.zone.fromWall(m.wall) }

// recurrenceKey returns a key that distinguishes the occurrences of a series.
func (m moment) recurrenceKey() string {
	if m.date {
		return m.wall.Format("20060102")
	}
	return m.toTime().UTC().Format("20060102T150405Z")
}

func (x *expander) readComponent(c *ical.Component) (*component, error) {
	e := &component{}
	e.UID = pim.SanitizeLine(propValue(c, ical.PropUID), maxTitle)
	start := c.Props.Get(ical.PropDateTimeStart)
	if start == nil {
		return nil, fmt.Errorf("the event %q has no start", pim.SanitizeLine(propValue(c, ical.PropSummary), 60))
	}
	list, err := x.parseMoments(start)
	if err != nil || len(list) != 1 {
		return nil, fmt.Errorf("the start of %q: %w", pim.SanitizeLine(propValue(c, ical.PropSummary), 60), errors.Join(err))
	}
	e.start = list[0]
	if e.UID == "" {
		e.UID = "unnamed-" + e.start.recurrenceKey() + "-" + pim.SanitizeLine(propValue(c, ical.PropSummary), 60)
	}
	x.readDuration(c, e)
	e.AllDay, e.Floating = e.start.date, e.start.date || e.start.zone.floating
	e.Title, e.Place = pim.SanitizeLine(propText(c, ical.PropSummary), maxTitle), pim.SanitizeLine(propText(c, ical.PropLocation), maxTitle)
	if notes := []rune(strings.TrimSpace(pim.SanitizeText(propText(c, ical.PropDescription)))); len(notes) > 0 {
		e.Notes = string(notes[:min(len(notes), maxNotes)])
	}
	e.Cancelled = strings.EqualFold(propValue(c, ical.PropStatus), "CANCELLED")
	e.Open = strings.EqualFold(propValue(c, ical.PropTransparency), "TRANSPARENT")
	e.sequence, _ = strconv.Atoi(propValue(c, ical.PropSequence))
	if o := c.Props.Get(ical.PropOrganizer); o != nil {
		e.Organizer = parsePerson(o)
	}
	for _, g := range c.Props.Values(ical.PropAttendee)[:min(len(c.Props.Values(ical.PropAttendee)), MaxGuests)] {
		e.Guests = append(e.Guests, parsePerson(&g))
	}
	for _, p := range c.Props.Values(ical.PropRecurrenceRule) {
		e.rules = append(e.rules, p.Value)
	}
	e.added, e.removed = x.allMoments(c, ical.PropRecurrenceDates), x.allMoments(c, ical.PropExceptionDates)
	if p := c.Props.Get(ical.PropRecurrenceID); p != nil {
		if list, err := x.parseMoments(p); err == nil && len(list) == 1 {
			e.replaces = &list[0]
		}
	}
	return e, nil
}

// readDuration sets the duration of an event (RFC 5545, 3.6.1).
func (x *expander) readDuration(c *ical.Component, e *component) {
	if e.start.date {
		e.days = 1
	}
	if p := c.Props.Get(ical.PropDateTimeEnd); p != nil {
		list, err := x.parseMoments(p)
		if err != nil || len(list) != 1 {
			return
		}
		if e.start.date {
			e.days = max(1, int(list[0].wall.Sub(e.start.wall)/(24*time.Hour)))
		} else {
			e.length = list[0].toTime().Sub(e.start.toTime())
			if e.length < 0 {
				e.length, e.Doubt = 0, "it ends before it starts"
			}
		}
		return
	}
	if p := c.Props.Get(ical.PropDuration); p != nil {
		d, err := p.Duration()
		if err != nil || d < 0 {
			return
		}
		if e.length = d; e.start.date {
			e.days = max(1, int(d/(24*time.Hour)))
		}
	}
}

// occurrenceAt returns the occurrence at a moment.
func (e *component) occurrenceAt(m moment) pim.Event {
	out := e.Event
	out.Start, out.End = e.occurrenceRange(m)
	if m.date || out.Doubt != "" {
		return out
	}
	out.Doubt, out.Readings = m.zone.describeDoubt(m.wall)
	return out
}

// occurrenceRange returns the start and end of an occurrence.
func (e *component) occurrenceRange(at moment) (start, end time.Time) {
	start = at.toTime()
	if e.start.date {
		return start, at.zone.fromWall(at.wall.AddDate(0, 0, min(e.days, 3660)))
	}
	return start, start.Add(e.length)
}

func (x *expander) allMoments(c *ical.Component, name string) (out []moment) {
	for _, p := range c.Props.Values(name) {
		list, _ := x.parseMoments(&p) // an unreadable value excludes no occurrence
		out = append(out, list...)
	}
	return out[:min(len(out), maxEvents)]
}

// parseMoments parses dates and times. For a period it returns the start.
func (x *expander) parseMoments(p *ical.Prop) (out []moment, err error) {
	z := x.zones.findZone(p.Params.Get(ical.ParamTimezoneID))
	for v := range strings.SplitSeq(p.Value, ",") {
		v, _, _ = strings.Cut(strings.TrimSpace(v), "/")
		switch {
		case len(v) == len("20060102"):
			t, perr := time.Parse("20060102", v)
			if perr == nil {
				out = append(out, moment{t, true, x.zones.homeZone()})
			}
			err = errors.Join(err, perr)
		case strings.HasSuffix(v, "Z"):
			t, perr := time.Parse("20060102T150405Z", v)
			if perr == nil {
				out = append(out, moment{t, false, zone{loc: time.UTC}})
			}
			err = errors.Join(err, perr)
		default:
			t, perr := time.Parse("20060102T150405", v)
			if perr == nil {
				out = append(out, moment{t, false, z})
			}
			err = errors.Join(err, perr)
		}
	}
	return out, err
}

func parsePerson(p *ical.Prop) pim.Person {
	addr := p.Value
	if len(addr) > 7 && strings.EqualFold(addr[:7], "mailto:") {
		addr = addr[7:]
	} else {
		addr = ""
	}
	return pim.Person{Name: pim.SanitizeLine(p.Params.Get(ical.ParamCommonName), 120), Address: strings.ToLower(pim.SanitizeLine(addr, 254))}
}

func propValue(c *ical.Component, name string) string {
	if p := c.Props.Get(name); p != nil {
		return p.Value
	}
	return ""
}

// propText returns a value without its escapes; invalid escapes are kept.
func propText(c *ical.Component, name string) string {
	p := c.Props.Get(name)
	if p == nil {
		return ""
	}
	return newUnescaper().Replace(p.Value)
}

func newUnescaper() *strings.Replacer {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";")
}
