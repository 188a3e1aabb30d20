package ics

import (
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
)

// product is the PRODID of generated data.
const product = "-//Hob//Hob//EN"

const (
	wallForm = "20060102T150405"
	utcForm  = "20060102T150405Z"
	dayForm  = "20060102"
)

func calendarOf(method string, kids ...*node) *node {
	n := &node{name: "VCALENDAR", lines: []string{"VERSION:2.0", "PRODID:" + product, "CALSCALE:GREGORIAN"}, kids: kids}
	if method != "" {
		n.lines = append(n.lines, "METHOD:"+method)
	}
	return n
}

// CheckEvent returns the reason why an event is invalid.
func CheckEvent(e pim.NewEvent) error {
	switch {
	case strings.TrimSpace(e.Title) == "":
		return fmt.Errorf("%w: an event needs a title", pim.ErrInvalid)
	case len([]rune(e.Title)) > maxTitle || len([]rune(e.Place)) > maxTitle || len([]rune(e.Notes)) > 20_000:
		return fmt.Errorf("%w: the text is too long", pim.ErrInvalid)
	case e.Start.IsZero() || !e.End.After(e.Start):
		return fmt.Errorf("%w: the end must be after the start", pim.ErrInvalid)
	case e.End.Sub(e.Start) > 400*24*time.Hour:
		return fmt.Errorf("%w: the event is longer than a year", pim.ErrInvalid)
	case len(e.Guests) > pim.MaxRecipients:
		return fmt.Errorf("%w: at most %d guests", pim.ErrInvalid, pim.MaxRecipients)
	}
	for _, g := range e.Guests {
		if err := pim.CheckPerson(g); err != nil {
			return err
		}
	}
	if e.Rule == "" {
		return nil
	}
	x := &expander{Span: Span{Zone: time.UTC}}
	if _, err := x.expandRule(e.Rule, moment{wall: e.Start}, e.Start, e.Start.AddDate(1, 0, 0)); err != nil || strings.ContainsAny(e.Rule, "\r\n") {
		return fmt.Errorf("%w: the recurrence rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(e.Rule, 100), err)
	}
	return nil
}

// New returns the data of a new event. organizer is set if there are guests.
func New(e pim.NewEvent, organizer pim.Person, now time.Time) ([]byte, error) {
	if err := CheckEvent(e); err != nil {
		return nil, err
	}
	return calendarOf("", newEventNode(e, organizer, now)...).encodeLines(), nil
}

// Invitation returns the event as a message to its guests (RFC 5546): REQUEST or
// CANCEL.
func Invitation(method string, e pim.NewEvent, organizer pim.Person, now time.Time) (string, error) {
	if err := CheckEvent(e); err != nil {
		return "", err
	}
	return string(calendarOf(method, newEventNode(e, organizer, now)...).encodeLines()), nil
}

func newEventNode(e pim.NewEvent, organizer pim.Person, now time.Time) []*node {
	n := &node{name: "VEVENT"}
	n.setProp("UID", escapeText(e.UID))
	stampComponent(n, now)
	n.setProp("SEQUENCE", "0")
	n.setText("SUMMARY", e.Title)
	n.setText("LOCATION", e.Place)
	n.setText("DESCRIPTION", e.Notes)
	var zone *node
	if e.AllDay {
		n.setProp("DTSTART;VALUE=DATE", e.Start.Format(dayForm))
		n.setProp("DTEND;VALUE=DATE", e.End.Format(dayForm))
	} else {
		zone = newTimezoneNode(e.Start)
		n.setProp("DTSTART"+tzidParam(zone), onClock(zone, e.Start))
		n.setProp("DTEND"+tzidParam(zone), onClock(zone, e.End.In(e.Start.Location())))
	}
	if e.Rule != "" {
		n.setProp("RRULE", strings.ToUpper(e.Rule))
	}
	if len(e.Guests) > 0 {
		n.setProp("ORGANIZER"+cnParam(organizer), "mailto:"+organizer.Address)
		n.lines = append(n.lines, "ATTENDEE;PARTSTAT=ACCEPTED"+cnParam(organizer)+":mailto:"+organizer.Address)
		for _, g := range e.Guests {
			n.lines = append(n.lines, "ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE"+cnParam(g)+":mailto:"+g.Address)
		}
	}
	if e.Alarm != nil {
		n.kids = append(n.kids, &node{name: "VALARM", lines: []string{"ACTION:DISPLAY", "DESCRIPTION:" + escapeText(e.Title), "TRIGGER:-PT" + fmt.Sprint(int(e.Alarm.Before.Minutes())) + "M"}})
	}
	if zone == nil {
		return []*node{n}
	}
	return []*node{zone, n}
}

// cnParam returns a person's name as a CN parameter. It removes quotation marks, which parameters
// cannot contain.
func cnParam(p pim.Person) string {
	if p.Name == "" {
		return ""
	}
	return `;CN="` + strings.NewReplacer(`"`, "", "\n", " ", "\r", "").Replace(pim.SanitizeLine(p.Name, 120)) + `"`
}

func stampComponent(n *node, now time.Time) {
	n.setProp("DTSTAMP", now.UTC().Format(utcForm))
	n.setProp("LAST-MODIFIED", now.UTC().Format(utcForm))
}

func tzidParam(zone *node) string {
	if zone == nil {
		return ""
	}
	_, id, _ := zone.findProp("TZID")
	return ";TZID=" + id
}

func onClock(zone *node, t time.Time) string {
	if zone == nil {
		return t.UTC().Format(utcForm)
	}
	return t.Format(wallForm)
}

// newTimezoneNode returns the VTIMEZONE for a time. It returns nil for UTC and for zones without a
// common name.
func newTimezoneNode(t time.Time) *node {
	id := t.Location().String()
	if !strings.Contains(id, "/") || strings.ContainsAny(id, ";:,\"\r\n ") {
		return nil
	}
	z := &node{name: "VTIMEZONE", lines: []string{"TZID:" + id}}
	year := t.Year()
	var changes []time.Time
	for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.Add(time.Hour) {
		_, before := at.Add(-time.Second).In(t.Location()).Zone()
		if _, after := at.In(t.Location()).Zone(); after != before {
			changes = append(changes, at)
		}
	}
	if len(changes) != 2 { // no daylight saving time, or an irregular one: use the current offset
		name, offset := t.Zone()
		z.kids = append(z.kids, newObservanceNode("STANDARD", "19700101T000000", "", offset, offset, name))
		return z
	}
	for _, at := range changes {
		_, before := at.Add(-time.Second).In(t.Location()).Zone()
		name, after := at.In(t.Location()).Zone()
		kind := "STANDARD"
		if after > before {
			kind = "DAYLIGHT"
		}
		wall := at.Add(time.Duration(before) * time.Second) // local time before the change
		nth := (wall.Day()-1)/7 + 1
		if wall.AddDate(0, 0, 7).Month() != wall.Month() {
			nth = -1
		}
		rule := fmt.Sprintf("FREQ=YEARLY;BYMONTH=%d;BYDAY=%d%s", int(wall.Month()), nth, strings.ToUpper(wall.Weekday().String()[:2]))
		z.kids = append(z.kids, newObservanceNode(kind, wall.Format(wallForm), rule, before, after, name))
	}
	return z
}

func newObservanceNode(kind, start, rule string, before, after int, name string) *node {
	n := &node{name: kind, lines: []string{"DTSTART:" + start, "TZOFFSETFROM:" + offsetText(before), "TZOFFSETTO:" + offsetText(after), "TZNAME:" + name}}
	if rule != "" {
		n.lines = append(n.lines, "RRULE:"+rule)
	}
	return n
}

func offsetText(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
}
