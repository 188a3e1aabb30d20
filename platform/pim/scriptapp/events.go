package scriptapp

import (
	"errors"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// Event is the scripts' JSON form of an event. Times are Unix milliseconds.
type Event struct {
	ID, Store, UID, Title, Place, Notes, Calendar, Version string
	Start, End                                             int64
	AllDay, Floating, Recurs, Open, Cancelled, Meeting     bool
	// for an all-day event: its first day, and its last day or the day after it
	First, Last, Until string
	Organizer          pim.Person
	Guests             []pim.Person
}

// EventRange is the input of a script that lists events.
type EventRange struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Limit int   `json:"limit"`
}

// maxEvents is the maximum number of events that are read.
const maxEvents = 2000

// NewEventRange converts s to a range in the scripts' format.
func NewEventRange(s pim.TimeRange) EventRange {
	return EventRange{s.From.UnixMilli(), s.To.UnixMilli(), maxEvents}
}

// EventList is the output of a script that lists events. Lost is the number of events that the
// script could not read. More is true if there are more events than the limit.
type EventList struct {
	Events []Event
	Lost   int
	More   bool
}

// ToPIM converts the events within the range s. app is the app's name in warnings. convert sets the
// fields that each app represents differently.
func (l EventList) ToPIM(app string, s pim.TimeRange, convert func(Event, *pim.Event)) ([]pim.Event, error) {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	var warnings []string
	if l.Lost > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: %d events could not be read", app, l.Lost))
	}
	if l.More {
		warnings = append(warnings, fmt.Sprintf("%s: only the first %d events were read", app, maxEvents))
	}
	out := make([]pim.Event, 0, len(l.Events))
	for _, e := range l.Events {
		x, err := e.toPIM(zone)
		if err != nil {
			warnings = append(warnings, app+": an event has no dates")
			continue
		}
		if x.End.After(s.From) || !x.Start.Before(s.From) {
			convert(e, &x)
			out = append(out, x)
		}
	}
	sorting.StableByFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	return out, pim.Partial(warnings...)
}

func (e Event) toPIM(zone *time.Location) (pim.Event, error) {
	x := pim.Event{
		Ref: OccurrenceRef(e.ID, e.Start), UID: pim.SanitizeLine(e.UID, 300), Title: pim.SanitizeLine(e.Title, 300), Place: pim.SanitizeLine(e.Place, 300), Notes: pim.SanitizeText(e.Notes),
		Start: time.UnixMilli(e.Start).In(zone), End: time.UnixMilli(e.End).In(zone), AllDay: e.AllDay, Floating: e.Floating || e.AllDay, Cancelled: e.Cancelled, Open: e.Open,
		Calendar: pim.SanitizeLine(e.Calendar, 120), Version: e.Version, Organizer: SanitizePerson(e.Organizer),
	}
	if e.Recurs {
		x.Occurrence = time.UnixMilli(e.Start).UTC().Format("20060102T150405Z")
	}
	for _, g := range e.Guests {
		x.Guests = append(x.Guests, SanitizePerson(g))
	}
	if !e.AllDay {
		return x, nil
	}
	first, err := time.ParseInLocation(time.DateOnly, e.First, zone)
	var until time.Time
	var err2 error
	if e.Until != "" {
		until, err2 = time.ParseInLocation(time.DateOnly, e.Until, zone)
	} else {
		until, err2 = time.ParseInLocation(time.DateOnly, e.Last, zone)
		until = until.AddDate(0, 0, 1)
	}
	x.Start, x.End = first, until
	return x, errors.Join(err, err2)
}

// NewEvent contains the fields of a new event that have the same format for all apps.
type NewEvent struct {
	Title  string `json:"title"`
	Place  string `json:"place,omitempty"`
	Notes  string `json:"notes,omitempty"`
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	AllDay bool   `json:"allDay,omitempty"`
	First  string `json:"first,omitempty"` // day of an all-day event
}

// FromNewEvent converts a new event.
func FromNewEvent(e pim.NewEvent) NewEvent {
	out := NewEvent{Title: e.Title, Place: e.Place, Notes: e.Notes, Start: e.Start.UnixMilli(), End: e.End.UnixMilli(), AllDay: e.AllDay}
	if e.AllDay {
		out.First = e.Start.Format(time.DateOnly)
	}
	return out
}

// EventChange lists the changed fields of an event, in the format of the scripts.
type EventChange struct {
	Title *string `json:"title,omitempty"`
	Place *string `json:"place,omitempty"`
	Notes *string `json:"notes,omitempty"`
	Start *int64  `json:"start,omitempty"`
	End   *int64  `json:"end,omitempty"`
}

// FromEventChange converts a change to the scripts' format.
func FromEventChange(c pim.EventChange) EventChange {
	return EventChange{Title: c.Title, Place: c.Place, Notes: c.Notes, Start: unixMilliPtr(c.Start), End: unixMilliPtr(c.End)}
}

func unixMilliPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	n := t.UnixMilli()
	return &n
}

// Invert returns the inverse of a change: the previous values of the changed fields only.
func (c EventChange) Invert(was Event) (out EventChange) {
	if c.Title != nil {
		out.Title = &was.Title
	}
	if c.Place != nil {
		out.Place = &was.Place
	}
	if c.Notes != nil {
		out.Notes = &was.Notes
	}
	if c.Start != nil || c.End != nil {
		out.Start, out.End = &was.Start, &was.End
	}
	return out
}
