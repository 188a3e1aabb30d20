package calendar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of a query.
const (
	maxDays  = 92
	lookNext = 30 // number of days in which the next event is searched for
	shown    = 60 // events
)

type calendarIn struct {
	Date    string `json:"date,omitempty" jsonschema:"first day; default today"`
	Days    int    `json:"days_ahead,omitempty" jsonschema:"how many days (default 1)"`
	At      string `json:"at,omitempty" jsonschema:"a time to check whether it is free"`
	Next    bool   `json:"next,omitempty" jsonschema:"only the next event"`
	Query   string `json:"query,omitempty" jsonschema:"words in title, place, notes or guests"`
	Account string `json:"account,omitempty"`
}

// calendarOut is the Data of a read_calendar result.
type calendarOut struct {
	Events []pim.Event `json:"events"`
	Free   *bool       `json:"free,omitempty"`
	Error  string      `json:"error,omitempty"` // sources that could not be read
}

func (d Deps) readCalendar() tools.Tool {
	return tools.New(tools.Def[calendarIn]{
		Spec: tools.Spec{
			Name: "read_calendar", Category: "calendar", Effects: tools.Read, Timeout: time.Minute,
			Description: "Read the user's calendars: the events of one or more days, the next event, or whether a time is free.",
			Keywords:    "calendar appointments meetings events agenda schedule week next meeting free busy available am i free what is on",
		},
		Summary: func(calendarIn) string { return "Read the calendar" },
		Run: func(ctx context.Context, c tools.Call, in calendarIn) (tools.Result, error) {
			return d.answerQuery(ctx, c, in)
		},
	})
}

func (d Deps) answerQuery(ctx context.Context, c tools.Call, in calendarIn) (tools.Result, error) {
	accounts, err := d.accountsNamed(in.Account)
	if err != nil {
		return tools.Result{}, err
	}
	span, at, err := spanOf(in, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	events, err := d.readEvents(ctx, accounts, span)
	if err != nil && events == nil {
		return tools.Result{}, err
	}
	all := events // free time also depends on events that do not match
	if want := textnorm.FoldedWords(in.Query); len(want) > 0 {
		events = slices.DeleteFunc(slices.Clone(events), func(e pim.Event) bool { return !isQueryMatch(e, want) })
	}
	out := calendarOut{Events: events}
	var text string
	switch {
	case !at.IsZero():
		text, out.Free = freeText(all, at, c.Now, err)
	case in.Next:
		events = slices.DeleteFunc(slices.Clone(events), func(e pim.Event) bool { return e.AllDay || !e.Start.After(c.Now) })
		out.Events = events[:min(len(events), 1)]
		text = nextText(events, in, c.Now)
	default:
		text = listText(events, all, in.Query, span, c.Now)
	}
	if err != nil {
		out.Error = err.Error()
		text += "\n\nSome sources could not be read: " + out.Error
	}
	var origins []provenance.Origin
	for _, a := range accounts {
		origins = append(origins, provenance.Origin{Kind: "calendar", Label: a.Name, Via: "read_calendar"})
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: origins}, nil
}

// spanOf returns the time range to read. at is the requested time, if any.
func spanOf(in calendarIn, now time.Time) (s ics.Span, at time.Time, err error) {
	s.Zone = now.Location()
	read := func(words string) (time.Time, error) {
		m, err := dateparse.Parse(words, now)
		if err != nil {
			return now, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
		}
		return m.Time.In(now.Location()), nil
	}
	from := now
	if strings.TrimSpace(in.Date) != "" {
		if from, err = read(in.Date); err != nil {
			return s, at, err
		}
	}
	if strings.TrimSpace(in.At) != "" {
		if at, err = read(in.At); err != nil {
			return s, at, err
		}
		if strings.TrimSpace(in.Date) != "" { // use the requested time on that day
			at = time.Date(from.Year(), from.Month(), from.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
		}
		from = at
	}
	days := max(1, in.Days)
	if in.Next {
		days = in.nextDays()
	}
	if in.Days < 0 || days > maxDays {
		return s, at, tools.Errorf(tools.InvalidArguments, "days_ahead must be 1 to %d", maxDays)
	}
	s.From = time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, now.Location())
	s.To = s.From.AddDate(0, 0, days)
	return s, at, nil
}

func isQueryMatch(e pim.Event, want []string) bool {
	text := []string{e.Title, e.Place, e.Notes, e.Organizer.String()}
	for _, g := range e.Guests {
		text = append(text, g.String())
	}
	have := textnorm.FoldedWords(strings.Join(text, " "))
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// formatEventTime formats the time of an event within its day.
func formatEventTime(e pim.Event, loc *time.Location) string {
	if e.AllDay {
		return "all day"
	}
	start, end := e.Start.In(loc), e.End.In(loc)
	switch {
	case !end.After(start):
		return start.Format("15:04")
	case start.Format(time.DateOnly) != end.Format(time.DateOnly):
		return start.Format("15:04") + " to " + end.Format("Mon 2 Jan 15:04")
	}
	return start.Format("15:04") + "-" + end.Format("15:04")
}

// noEventsText states that there is no event, or no event that matches the query.
func noEventsText(query, stretch string) string {
	if query = strings.TrimSpace(query); query != "" {
		return fmt.Sprintf("No event in the calendar for %[2]s matches %[1]q.", textnorm.Ellipsize(query, 80), stretch)
	}
	return "There is no event in the calendar for " + stretch + "."
}

// listText formats the matching events. It mentions overlaps with all other events.
func listText(events, all []pim.Event, query string, s ics.Span, now time.Time) string {
	last := s.To.AddDate(0, 0, -1)
	stretch := dateparse.FormatDay(s.From, now)
	if !last.Equal(s.From) {
		stretch += " to " + dateparse.FormatDay(last, now)
	}
	if len(events) == 0 {
		return noEventsText(query, stretch)
	}
	var b strings.Builder
	day := ""
	told, _ := limitEvents(events, shown)
	for _, e := range told {
		at := e.Start.In(s.Zone)
		if at.Before(s.From) { // in progress
			at = s.From
		}
		if d := dateparse.FormatDay(at, now); d != day {
			day = d
			fmt.Fprintf(&b, "\n%s:", strings.ToUpper(d[:1])+d[1:])
		}
		fmt.Fprintf(&b, "\n- %s %s", formatEventTime(e, s.Zone), eventLabel(e))
		if with := clashingEvents(e, all); len(with) > 0 {
			fmt.Fprintf(&b, "; overlaps %s", strings.Join(with, ", "))
		}
	}
	if n := len(events) - len(told); n > 0 {
		fmt.Fprintf(&b, "\n... and %d more", n)
	}
	if free := freeTimes(all, s.From, s.To); len(free) > 0 && last.Equal(s.From) {
		fmt.Fprintf(&b, "\nFree in between: %s.", formatFreeTimes(free, s.Zone))
	}
	return strings.TrimSpace(b.String())
}

// nextDays returns the number of days that are searched for the next event.
func (in calendarIn) nextDays() int { return max(in.Days, lookNext) }

func nextText(events []pim.Event, in calendarIn, now time.Time) string {
	if len(events) == 0 {
		return noEventsText(in.Query, fmt.Sprintf("the next %d days", in.nextDays()))
	}
	e := events[0]
	text := fmt.Sprintf("Next: %s, %s", eventLabel(e), dateparse.Format(e.Start.In(now.Location()), now))
	if e.End.After(e.Start) {
		text += ", until " + e.End.In(now.Location()).Format("15:04")
	}
	return text + "."
}

// freeText says whether the time at is free. The answer is nil (unknown) if err is a *cutError and
// one of the omitted events could overlap the time.
func freeText(events []pim.Event, at, now time.Time, err error) (string, *bool) {
	var taken []string
	var next pim.Event
	for _, e := range events {
		switch {
		case !isBusy(e):
		case !e.Start.After(at) && e.End.After(at):
			taken = append(taken, fmt.Sprintf("%s, %s", eventLabel(e), formatEventTime(e, now.Location())))
		case e.Start.After(at) && next.Title == "" && next.Start.IsZero():
			next = e
		}
	}
	words, free := dateparse.Format(at, now), len(taken) == 0
	cut, _ := errors.AsType[*cutError](err)
	switch {
	case !free:
		return "No, " + words + " is taken: " + strings.Join(taken[:min(len(taken), 10)], "; ") + ".", &free
	case cut != nil && (!at.Before(cut.From) || next.Start.IsZero()):
		return "I cannot tell whether " + words + " is free.", nil
	case next.Start.IsZero():
		return "Yes, " + words + " is free, and so is the rest of that day.", &free
	}
	return "Yes, " + words + " is free until " + next.Start.In(now.Location()).Format("15:04") + " (" + eventLabel(next) + ").", &free
}
