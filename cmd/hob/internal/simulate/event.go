package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// event is a calendar event from a script.
type event struct {
	uid, title, place, notes string
	start, end               time.Time
	allDay, cancelled        bool
}

// parseEvent parses lines such as "title: ..." and "start: ...".
func parseEvent(body string, zone *time.Location) (e event, err error) {
	var end string
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || value == "" {
			return e, fmt.Errorf(`%q is not an event line; write a line such as "title: Standup"`, line)
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "uid":
			e.uid = value
		case "title":
			e.title = value
		case "place":
			e.place = value
		case "notes":
			e.notes = value
		case "start":
			if e.start, e.allDay, err = parseEventTime(value, zone); err != nil {
				return e, err
			}
		case "end":
			end = value
		case "cancelled":
			e.cancelled = value == "yes"
		default:
			return e, fmt.Errorf("unknown field %q; use title, start, end, place, notes, uid or cancelled", key)
		}
	}
	if e.title == "" || e.start.IsZero() {
		return e, errors.New(`an event needs a "title:" and a "start:"`)
	}
	e.uid = cmp.Or(e.uid, strings.ToLower(strings.Join(strings.Fields(e.title), "-")))
	switch {
	case end != "":
		if e.end, _, err = parseEventTime(end, zone); err != nil {
			return e, err
		}
	case e.allDay:
		e.end = e.start.AddDate(0, 0, 1)
	default:
		e.end = e.start.Add(time.Hour)
	}
	if !e.end.After(e.start) {
		return e, errors.New("the event must end after it starts")
	}
	return e, nil
}

// parseEventTime parses the time of an event. A date without a time is an all-day event.
func parseEventTime(s string, zone *time.Location) (t time.Time, allDay bool, err error) {
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(form, s, zone); err == nil {
			return t, false, nil
		}
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t, true, nil
	}
	return t, false, fmt.Errorf(`%q is not a time; write "{day 2 10:00}", "2026-11-24 10:00" or, for a whole day, "2026-11-24"`, s)
}

// formatICS formats the event as iCalendar (RFC 5545).
func (e event) formatICS() string {
	text := strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace
	at := func(t time.Time) string {
		if e.allDay {
			return ";VALUE=DATE:" + t.Format("20060102")
		}
		return ":" + t.UTC().Format("20060102T150405Z")
	}
	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//hob//simulate//EN", "BEGIN:VEVENT", "UID:" + text(e.uid),
		"DTSTAMP:20260101T000000Z", "DTSTART" + at(e.start), "DTEND" + at(e.end), "SUMMARY:" + text(e.title),
	}
	if e.place != "" {
		lines = append(lines, "LOCATION:"+text(e.place))
	}
	if e.notes != "" {
		lines = append(lines, "DESCRIPTION:"+text(e.notes))
	}
	if e.cancelled {
		lines = append(lines, "STATUS:CANCELLED")
	}
	return strings.Join(append(lines, "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}
