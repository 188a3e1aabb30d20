package calendar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// lateFor is the time after the start of an event during which its reminder still fires if Hob
// could not fire it in time.
const lateFor = time.Hour

// startingSoon returns the signals of the events whose reminder time has passed, and the time of
// the next reminder.
func (w *watch) startingSoon(events []pim.Event, p watchers.Progress, now time.Time) (out []watchers.Signal, wake time.Time) {
	for _, e := range events {
		if e.Cancelled {
			continue
		}
		var due watchers.Signal
		for i, at := range w.reminderTimes(e) {
			if at.After(now) {
				if wake.IsZero() || at.Before(wake) {
					wake = at
				}
				continue
			}
			if isTooLate(e, now) {
				continue
			}
			// If several reminder times of an event have passed, only the latest one fires.
			due = w.eventSignal(starts, e, fmt.Sprintf("%s:%d", e.Start.UTC().Format(time.RFC3339), i), "", now)
			if due.At = at; p.First && now.After(p.Begun) {
				due.At = now // so that a reminder fires even at the first poll
			}
		}
		if due.Key != "" {
			out = append(out, due)
		}
	}
	return out, wake
}

// reminderTimes returns the times at which an event must fire, earliest first.
func (w *watch) reminderTimes(e pim.Event) (out []time.Time) {
	if e.AllDay { // The start in the cursor has an offset but no zone, so compute the time from the date.
		y, m, d := e.Start.Date()
		return []time.Time{time.Date(y, m, d, 0, int(w.morning/time.Minute), 0, 0, w.zone())}
	}
	for _, b := range w.before {
		out = append(out, e.Start.Add(-b))
	}
	return out
}

// isTooLate reports whether it is too late to announce the start of an event.
func isTooLate(e pim.Event, now time.Time) bool {
	if e.AllDay {
		return !now.Before(e.End) || now.Sub(e.Start) >= 24*time.Hour
	}
	return now.Sub(e.Start) >= lateFor || now.After(e.Start) && !now.Before(e.End)
}

// changedEvents compares the cursor with the current events. If several occurrences of a series
// have the same change, this change fires once.
func (w *watch) changedEvents(was, is cursor, now time.Time) (out []watchers.Signal) {
	told := map[string]bool{}
	add := func(what string, e pim.Event, key, before string) {
		fold := what + "\x00" + e.UID + "\x00" + e.Version
		if w.isEnabled(what) && !told[fold] {
			told[fold] = true
			out = append(out, w.eventSignal(what, e, key, before, now))
		}
	}
	for _, e := range is.Events {
		if e.End.Before(now) {
			continue
		}
		i := slices.IndexFunc(was.Events, func(b pim.Event) bool { return equalEvents(b, e) })
		if i < 0 {
			if !e.Cancelled && e.Start.After(now) && e.Start.Before(was.To) && was.hasCalendar(e.Calendar) && !w.isRenamed(e, was.Events) {
				add(added, e, e.Version, "")
			}
			continue
		}
		before := was.Events[i]
		switch {
		case e.Cancelled && !before.Cancelled:
			add(cancelled, e, e.Version, "")
		case e.Cancelled:
		case before.Cancelled:
			add(changed, e, "again:"+e.Version, "")
		case whenOf(before) != whenOf(e):
			add(moved, e, whenOf(before)+">"+whenOf(e)+":"+e.Version, formatTime(before.Start, e.AllDay, w.zone(), now))
		case before.Title != e.Title || before.Place != e.Place:
			add(changed, e, e.Version, "")
		}
	}
	for _, e := range was.Events {
		there := func(b pim.Event) bool { return equalEvents(b, e) }
		if e.Cancelled || !e.Start.After(now) || !e.Start.Before(is.To) || !is.hasCalendar(e.Calendar) ||
			slices.ContainsFunc(is.Events, there) || w.isRenamed(e, is.Events) {
			continue
		}
		add(cancelled, e, "gone:"+whenOf(e)+":"+e.Version, "")
	}
	return out
}

func (c cursor) hasCalendar(calendar string) bool {
	return slices.ContainsFunc(c.Calendars, func(s seen) bool { return s.Name == calendar })
}

// isRenamed reports whether an occurrence seems added or removed only because its event became
// recurring or stopped being recurring, which changes its id.
func (w *watch) isRenamed(e pim.Event, others []pim.Event) bool {
	return slices.ContainsFunc(others, func(o pim.Event) bool { return o.UID == e.UID && whenOf(o) == whenOf(e) })
}

// eventSignal formats one change.
func (w *watch) eventSignal(what string, e pim.Event, key, before string, now time.Time) watchers.Signal {
	title := textnorm.Ellipsize(e.Title, 120)
	if title == "" {
		title = "An event without a title"
	}
	at := formatTime(e.Start, e.AllDay, w.zone(), now)
	text := ""
	switch what {
	case starts:
		text = fmt.Sprintf("%s %s", title, describeStart(e, now, at))
		if e.Place != "" {
			text += ", " + textnorm.Ellipsize(e.Place, 100)
		}
	case added:
		text = fmt.Sprintf("New in your calendar: %s, %s", title, at)
	case moved:
		text = fmt.Sprintf("%s was moved to %s (it was %s)", title, strings.TrimPrefix(at, "on "), before)
	case cancelled:
		text = fmt.Sprintf("%s was canceled (%s)", title, at)
	default:
		text = fmt.Sprintf("%s was changed (%s)", title, at)
	}
	raw, err := json.Marshal(struct {
		News string `json:"news"`
		pim.Event
	}{what, e})
	if err != nil { // cannot happen: an event contains only strings and times
		raw = json.RawMessage("{}")
	}
	return watchers.Signal{
		Key: what + ":" + e.UID + ":" + e.Occurrence + ":" + key, Text: text, Payload: raw, Source: provenance.Outside, At: now,
	}
}

// describeStart describes when an event starts, relative to now.
func describeStart(e pim.Event, now time.Time, at string) string {
	left := e.Start.Sub(now)
	switch {
	case e.AllDay:
		return "is " + at
	case left > 30*time.Second:
		return "starts in " + formatDuration(max(left.Round(time.Minute), time.Minute)) + " (" + at + ")"
	case left > -90*time.Second:
		return "starts now"
	}
	return "started " + formatDuration(max((-left).Round(time.Minute), time.Minute)) + " ago (" + at + ")"
}

// formatTime formats a time for people.
func formatTime(t time.Time, allDay bool, zone *time.Location, now time.Time) string {
	day := func(t time.Time) string { return t.Format("2006-01-02") }
	if now = now.In(zone); !allDay { // a date is the same in all zones
		t = t.In(zone)
	}
	name := t.Format("on Mon 2 Jan")
	switch {
	case t.Year() != now.Year():
		name = t.Format("on Mon 2 Jan 2006")
	case day(t) == day(now):
		name = "today"
	case day(t) == day(now.AddDate(0, 0, 1)):
		name = "tomorrow"
	}
	if allDay {
		return name
	}
	return name + " at " + t.Format("15:04")
}
