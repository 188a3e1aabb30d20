package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/places"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits and defaults of a search for free time.
const (
	maxSearch    = 31 // days
	usualSearch  = 5
	usualMeeting = 30 // minutes
	maxMeeting   = 12 * 60
	maxZones     = 5
	shownGaps    = 40
)

type freeIn struct {
	Minutes   int      `json:"min_duration_minutes,omitempty" jsonschema:"length of the meeting in minutes (default 30)"`
	Date      string   `json:"date,omitempty" jsonschema:"first day; default today"`
	Days      int      `json:"days_ahead,omitempty" jsonschema:"how many days to search (default 5, at most 31)"`
	Start     string   `json:"working_hours_start,omitempty" jsonschema:"earliest time of day (default 09:00)"`
	End       string   `json:"working_hours_end,omitempty" jsonschema:"latest time of day (default 17:00)"`
	Weekends  bool     `json:"weekends,omitempty" jsonschema:"also search Saturdays and Sundays"`
	Buffer    int      `json:"buffer_minutes,omitempty" jsonschema:"minutes to keep free before and after other events"`
	Attendees []string `json:"attendees,omitempty" jsonschema:"people who must be free too: addresses, or names in the address book"`
	Zones     []string `json:"zones,omitempty" jsonschema:"cities or time zones of the other people, whose working hours must fit too"`
	Calendars []string `json:"calendars,omitempty" jsonschema:"names of the calendars to check; default all"`
	Account   string   `json:"account,omitempty" jsonschema:"name of the account; default all"`
}

// freePeriod is a free period in the Data.
type freePeriod struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Minutes int       `json:"minutes"`
}

// freeOut is the Data of a find_free_time result.
type freeOut struct {
	Free      []freePeriod `json:"free"`
	Proposals []proposal   `json:"proposals"`
	Attendees []attendance `json:"attendees,omitempty"`
	Warnings  []string     `json:"warnings,omitempty"`                 // events whose time is doubtful
	Missing   []string     `json:"calendars_without_events,omitempty"` // of the requested ones
	Error     string       `json:"error,omitempty"`                    // sources that could not be read
}

// attendance states whether the busy times of a person are known.
type attendance struct {
	Name  string `json:"name"`
	Known bool   `json:"known"`
	Note  string `json:"note"`
}

func (d Deps) findFreeTime() tools.Tool {
	return tools.New(tools.Def[freeIn]{
		Spec: tools.Spec{
			Name: "find_free_time", Category: "calendar", Effects: tools.Read, Timeout: 2 * time.Minute,
			Description: "Find times for a meeting in which the user, and the attendees whose calendars are known, are free: ranked proposals with reasons.",
			Keywords:    "free time slot availability when can we meet find a time gap open schedule busy free/busy time zones",
		},
		Summary: func(freeIn) string { return "Find free time in the calendars" },
		Run: func(ctx context.Context, c tools.Call, in freeIn) (tools.Result, error) {
			f, err := d.searchFreeTime(ctx, in, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			var origins []provenance.Origin
			for _, name := range f.accounts {
				origins = append(origins, provenance.Origin{Kind: "calendar", Label: name, Via: "find_free_time"})
			}
			return tools.Result{Text: f.formatText(c.Now), Data: f.out, Source: provenance.Outside, Origins: origins}, nil
		},
	})
}

// freeSearch is a completed search.
type freeSearch struct {
	slotSearch
	out      freeOut
	people   []pim.Person
	accounts []string
}

// searchFreeTime reads the calendars and searches them. It fails if no calendar can be read, because
// then every time would seem free.
func (d Deps) searchFreeTime(ctx context.Context, in freeIn, now time.Time) (f freeSearch, err error) {
	if f.slotSearch, err = in.parseSearch(now); err != nil {
		return f, err
	}
	accounts, err := d.accountsNamed(in.Account)
	if err != nil {
		return f, err
	}
	if f.people, err = d.guestsOf(ctx, in.Attendees); err != nil {
		return f, err
	}
	span := ics.Span{From: f.from.AddDate(0, 0, -1), To: f.to.AddDate(0, 0, 1), Zone: f.loc}
	accounts = d.withAttendees(accounts, f.people)
	for _, a := range accounts {
		f.accounts = append(f.accounts, a.Name)
	}
	events, err := d.readEvents(ctx, accounts, span)
	if err != nil && events == nil {
		return f, err
	}
	if err != nil {
		f.out.Error = err.Error()
	}
	if len(in.Calendars) > 0 {
		if events, err = f.onlyCalendars(events, in.Calendars); err != nil {
			return f, err
		}
		their, err := d.readAttending(ctx, f.people, span)
		if err != nil {
			f.out.Error = cmp.Or(f.out.Error, err.Error())
		}
		events = append(events, their...)
	}
	f.out.Warnings = f.addEvents(events)
	d.addAttendees(ctx, &f, accounts, span)
	gaps := f.freeGaps()
	f.out.Free, f.out.Proposals = []freePeriod{}, f.rankProposals(gaps)
	if f.out.Proposals == nil {
		f.out.Proposals = []proposal{}
	}
	for _, g := range gaps[:min(len(gaps), shownGaps)] {
		f.out.Free = append(f.out.Free, freePeriod{g.from.In(f.loc), g.to.In(f.loc), int(g.slotLength().Minutes())})
	}
	return f, nil
}

// readAttending returns the events of the user's other accounts that belong to attendees. A choice of
// calendars applies only to the user: attendees are busy at the events of all their calendars.
func (d Deps) readAttending(ctx context.Context, people []pim.Person, s ics.Span) ([]pim.Event, error) {
	if accounts := d.withAttendees(nil, people); len(accounts) > 0 {
		return d.readEvents(ctx, accounts, s)
	}
	return nil, nil
}

// onlyCalendars keeps the events of the named calendars. A name without events is not an error,
// because the calendar may be empty, unless no name matches any event. The result states it, because the
// name may also be misspelled.
func (f *freeSearch) onlyCalendars(events []pim.Event, names []string) ([]pim.Event, error) {
	var out []pim.Event
	var known []string
	for _, e := range events {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), e.Calendar) }) {
			out = append(out, e)
		}
		if !slices.Contains(known, e.Calendar) {
			known = append(known, e.Calendar)
		}
	}
	if len(out) == 0 && len(known) > 0 {
		return nil, tools.Quoting(tools.Errorf(tools.NotFound, "the calendars %s have no events in that time; calendars with events: %s", strings.Join(names, ", "), strings.Join(known, ", ")), provenance.Outside)
	}
	for _, n := range names {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(strings.TrimSpace(n), k) }) {
			f.out.Missing = append(f.out.Missing, textnorm.Ellipsize(strings.TrimSpace(n), 60))
		}
	}
	return out, nil
}

func (in freeIn) parseSearch(now time.Time) (s slotSearch, err error) {
	s = slotSearch{loc: now.Location(), weekends: in.Weekends, allDay: map[string]string{}}
	minutes, days := cmp.Or(in.Minutes, usualMeeting), cmp.Or(in.Days, usualSearch)
	switch {
	case minutes < 5 || minutes > maxMeeting:
		return s, tools.Errorf(tools.InvalidArguments, "min_duration_minutes must be 5 to %d", maxMeeting)
	case days < 1 || days > maxSearch:
		return s, tools.Errorf(tools.InvalidArguments, "days_ahead must be 1 to %d", maxSearch)
	case in.Buffer < 0 || in.Buffer > 240:
		return s, tools.Errorf(tools.InvalidArguments, "buffer_minutes must be 0 to 240")
	case len(in.Zones) > maxZones:
		return s, tools.Errorf(tools.InvalidArguments, "at most %d zones", maxZones)
	}
	s.length, s.buffer = time.Duration(minutes)*time.Minute, time.Duration(in.Buffer)*time.Minute
	if s.begins, err = parseClock(cmp.Or(in.Start, "09:00"), "working_hours_start"); err != nil {
		return s, err
	}
	if s.ends, err = parseClock(cmp.Or(in.End, "17:00"), "working_hours_end"); err != nil {
		return s, err
	}
	if s.ends < s.begins+s.length {
		return s, tools.Errorf(tools.InvalidArguments, "the working hours are shorter than the meeting; give a later working_hours_end")
	}
	for _, name := range in.Zones {
		loc, err := places.Zone(name)
		if err != nil {
			return s, tools.Errorf(tools.InvalidArguments, "zones: %w", tools.CleanErr(err))
		}
		s.zones = append(s.zones, namedZone{textnorm.Ellipsize(strings.TrimSpace(name), 40), loc})
	}
	day := now
	if strings.TrimSpace(in.Date) != "" {
		m, err := dateparse.Parse(in.Date, now)
		if err != nil {
			return s, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
		}
		day = m.Time.In(s.loc)
	}
	first := clockOn(day, 0)
	s.from, s.to = laterOf(first, now.Truncate(time.Minute)), first.AddDate(0, 0, days)
	if !s.to.After(now) {
		return s, tools.Errorf(tools.InvalidArguments, "these days are over; give a later date")
	}
	return s, nil
}

// parseClock parses "9", "09:00", "9:30" or "24:00" as a time since midnight.
func parseClock(s, key string) (time.Duration, error) {
	h, m, found := strings.Cut(strings.TrimSpace(s), ":")
	hour, err := strconv.Atoi(h)
	minute := 0
	if err == nil && found {
		minute, err = strconv.Atoi(m)
	}
	if err != nil || hour < 0 || minute < 0 || minute > 59 || hour*60+minute > 24*60 {
		return 0, tools.Errorf(tools.InvalidArguments, "%s must be a time of day such as 09:00, not %q", key, tools.Clean(textnorm.Ellipsize(s, 20)))
	}
	return time.Duration(hour*60+minute) * time.Minute, nil
}

// withAttendees adds the user's other accounts that belong to attendees.
func (d Deps) withAttendees(accounts []pim.Account, people []pim.Person) []pim.Account {
	out := slices.Clone(accounts)
	for _, a := range d.Accounts() {
		isAttendee := slices.ContainsFunc(people, func(p pim.Person) bool { return strings.EqualFold(p.Address, a.Address) })
		if isAttendee && !slices.ContainsFunc(out, func(o pim.Account) bool { return o.Name == a.Name }) {
			out = append(out, a)
		}
	}
	return out
}

// addAttendees adds the busy times of the attendees that a calendar server knows.
func (d Deps) addAttendees(ctx context.Context, f *freeSearch, accounts []pim.Account, span ics.Span) {
	var ask []pim.Person
	for _, p := range f.people {
		i := slices.IndexFunc(accounts, func(a pim.Account) bool { return strings.EqualFold(p.Address, a.Address) })
		if i < 0 {
			ask = append(ask, p)
			continue
		}
		f.out.Attendees = append(f.out.Attendees, attendance{p.String(), true, "the calendars of the account " + accounts[i].Name})
	}
	if len(ask) == 0 {
		return
	}
	known, why := d.readFreeBusy(ctx, accounts, ask, span)
	for _, p := range ask {
		periods, ok := known[p.Address]
		a := attendance{Name: p.String(), Known: ok, Note: "free/busy from the calendar server"}
		if !ok {
			a.Note = cmp.Or(why[p.Address], "no calendar server reports when this person is busy")
		}
		f.out.Attendees = append(f.out.Attendees, a)
		for _, b := range periods {
			f.busy = append(f.busy, busyTime{b.From, b.To, p.String()})
		}
	}
}

// formatText formats the result.
func (f freeSearch) formatText(now time.Time) string {
	var b strings.Builder
	day := func(t time.Time) string { return dateparse.FormatDay(t.In(f.loc), now) }
	length := spellMinutes(f.length)
	switch {
	case len(f.out.Proposals) == 0 && len(f.zones) > 0 && len(f.openWindows()) == 0:
		fmt.Fprintf(&b, "No time of day is within the working hours of all time zones. Give longer working hours.")
	case len(f.out.Proposals) == 0:
		fmt.Fprintf(&b, "No free time of %s was found from %s to %s.", length, day(f.from), day(f.to.Add(-time.Minute)))
	default:
		fmt.Fprintf(&b, "Best times for %s:", length)
		for i, p := range f.out.Proposals {
			fmt.Fprintf(&b, "\n%d. %s, %s-%s", i+1, day(p.Start), p.Start.Format("15:04"), p.End.Format("15:04"))
			if len(p.Reasons) > 0 {
				b.WriteString(" (" + strings.Join(p.Reasons, "; ") + ")")
			}
		}
		b.WriteString("\nFree periods:")
		last := ""
		for _, g := range f.out.Free {
			if d := day(g.Start); d != last {
				fmt.Fprintf(&b, "\n- %s: ", d)
				last = d
			} else {
				b.WriteString(", ")
			}
			b.WriteString(g.Start.Format("15:04") + "-" + g.End.Format("15:04"))
		}
	}
	for _, a := range f.out.Attendees {
		if !a.Known {
			fmt.Fprintf(&b, "\nIt is unknown when %s is busy: %s.", a.Name, a.Note)
		}
	}
	if len(f.out.Missing) > 0 {
		b.WriteString("\nThere are no events at all in: " + strings.Join(f.out.Missing, ", ") + ". Check the names of these calendars.")
	}
	if len(f.out.Warnings) > 0 {
		b.WriteString("\nDoubtful times, which are treated as busy in each reading:")
		for _, w := range f.out.Warnings[:min(len(f.out.Warnings), 5)] {
			b.WriteString("\n- " + w)
		}
	}
	if f.out.Error != "" {
		b.WriteString("\n\nSome sources could not be read, so you may be busy at these times: " + f.out.Error)
	}
	return b.String()
}
