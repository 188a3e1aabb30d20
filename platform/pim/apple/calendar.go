package apple

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scripterr"
)

// Calendar reads and writes all calendars of macOS: iCloud, accounts in the
// system settings and local ones.
type Calendar struct{ run osrun.Runner }

// NewCalendar returns a Calendar that runs its scripts with r.
func NewCalendar(r osrun.Runner) *Calendar { return &Calendar{r} }

// Name implements pim.Driver.
func (*Calendar) Name() string { return name }

func (c *Calendar) runScript(ctx context.Context, file string, in, out any, write bool) error {
	return c.run.Run(ctx, osrun.Call{Script: eventScript(file), App: calendarApp(), In: in, Write: write, Wait: bulk}, out)
}

type asked struct {
	Patience int `json:"patience"`
}

// ListCalendars implements pim.Calendars.
func (c *Calendar) ListCalendars(ctx context.Context) ([]pim.Calendar, error) {
	var got struct {
		Calendars []struct {
			ID, Name, Account string
			Fixed             bool
		}
	}
	if err := c.runScript(ctx, "calendars.js", asked{patience}, &got, false); err != nil {
		return nil, scripterr.Read(err)
	}
	out := make([]pim.Calendar, 0, len(got.Calendars))
	for _, x := range got.Calendars {
		out = append(out, pim.Calendar{Path: x.ID, Name: pim.SanitizeLine(x.Name, 120)})
	}
	return out, nil
}

// event is the scripts' JSON form of an event.
type event struct {
	ID        string       `json:"id"`
	UID       string       `json:"uid"`
	Title     string       `json:"title"`
	Place     string       `json:"place"`
	Notes     string       `json:"notes"`
	Start     int64        `json:"start"`
	End       int64        `json:"end"`
	AllDay    bool         `json:"allDay"`
	Floating  bool         `json:"floating"`
	Cancelled bool         `json:"cancelled"`
	Open      bool         `json:"open"`
	Recurs    bool         `json:"recurs"`
	Calendar  string       `json:"calendar"`
	Version   string       `json:"version"`
	First     string       `json:"first"` // of an all-day event, in the Mac's calendar
	Last      string       `json:"last"`  // last day of the event
	Organizer pim.Person   `json:"organizer"`
	Guests    []pim.Person `json:"guests"`
}

// most is the maximum number of events that are read.
const most = 2000

// FindEvents implements pim.Calendars.
func (c *Calendar) FindEvents(ctx context.Context, s pim.TimeRange) ([]pim.Event, error) {
	var got struct {
		Events []event
		Lost   int
		More   bool
	}
	in := struct {
		asked
		From  int64 `json:"from"`
		To    int64 `json:"to"`
		Limit int   `json:"limit"`
	}{asked{patience}, s.From.UnixMilli(), s.To.UnixMilli(), most}
	if err := c.runScript(ctx, "find_events.js", in, &got, false); err != nil {
		return nil, scripterr.Read(err)
	}
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	var warnings []string
	if got.Lost > 0 {
		warnings = append(warnings, fmt.Sprintf("Calendar: %d events could not be read", got.Lost))
	}
	if got.More {
		warnings = append(warnings, fmt.Sprintf("Calendar: only the first %d events were read", most))
	}
	out := make([]pim.Event, 0, len(got.Events))
	for _, e := range got.Events {
		x, err := e.toPIMEvent(zone)
		if err != nil {
			warnings = append(warnings, "Calendar: an event has no dates")
			continue
		}
		if x.End.After(s.From) || x.Start.Equal(s.From) || x.Start.After(s.From) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	return out, pim.Partial(warnings...)
}

func (e event) toPIMEvent(zone *time.Location) (pim.Event, error) {
	x := pim.Event{
		Ref: e.ID + "@" + strconv.FormatInt(e.Start, 10), UID: pim.SanitizeLine(e.UID, 300), Title: pim.SanitizeLine(e.Title, 300), Place: pim.SanitizeLine(e.Place, 300), Notes: pim.SanitizeText(e.Notes),
		Start: time.UnixMilli(e.Start).In(zone), End: time.UnixMilli(e.End).In(zone), AllDay: e.AllDay, Floating: e.Floating || e.AllDay, Cancelled: e.Cancelled, Open: e.Open,
		Calendar: pim.SanitizeLine(e.Calendar, 120), Version: e.Version, Organizer: sanitizePerson(e.Organizer),
	}
	if e.Recurs {
		x.Occurrence = time.UnixMilli(e.Start).UTC().Format("20060102T150405Z")
	}
	for _, g := range e.Guests {
		x.Guests = append(x.Guests, sanitizePerson(g))
	}
	if !e.AllDay {
		return x, nil
	}
	first, err := time.ParseInLocation(time.DateOnly, e.First, zone)
	last, err2 := time.ParseInLocation(time.DateOnly, e.Last, zone)
	x.Start, x.End = first, last.AddDate(0, 0, 1)
	return x, errors.Join(err, err2)
}

func sanitizePerson(p pim.Person) pim.Person {
	return pim.Person{Name: pim.SanitizeLine(p.Name, 120), Address: strings.ToLower(pim.SanitizeLine(p.Address, 254))}
}

// made is the scripts' result of a write.
type made struct {
	ID       string `json:"id"`
	Start    int64  `json:"start"`
	Version  string `json:"version"`
	Calendar string `json:"calendar"`
	Was      event  `json:"was"`
}

func (m made) occurrenceRef() string { return m.ID + "@" + strconv.FormatInt(m.Start, 10) }

// CreateEvent implements pim.Calendars. EventKit cannot invite guests.
func (c *Calendar) CreateEvent(ctx context.Context, calendar string, e pim.NewEvent) (pim.Receipt, error) {
	if len(e.Guests) > 0 {
		return pim.Receipt{}, fmt.Errorf("Calendar: %w: macOS does not let programs invite guests; use a CalDAV account or send the invitation by mail", errors.ErrUnsupported)
	}
	in := struct {
		asked
		Calendar string `json:"calendar,omitempty"`
		Title    string `json:"title"`
		Place    string `json:"place,omitempty"`
		Notes    string `json:"notes,omitempty"`
		Start    int64  `json:"start"`
		End      int64  `json:"end"`
		AllDay   bool   `json:"allDay,omitempty"`
		First    string `json:"first,omitempty"`
		Last     string `json:"last,omitempty"`
		Alarm    *int64 `json:"alarm,omitempty"` // seconds before
		Rule     *rule  `json:"rule,omitempty"`
	}{asked: asked{patience}, Calendar: calendar, Title: e.Title, Place: e.Place, Notes: e.Notes, Start: e.Start.UnixMilli(), End: e.End.UnixMilli(), AllDay: e.AllDay}
	if e.AllDay {
		in.First, in.Last = e.Start.Format(time.DateOnly), e.End.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	if e.Alarm != nil {
		s := int64(e.Alarm.Before / time.Second)
		in.Alarm = &s
	}
	if e.Rule != "" {
		r, err := parseRule(e.Rule)
		if err != nil {
			return pim.Receipt{}, err
		}
		in.Rule = r
	}
	var got made
	err := c.runScript(ctx, "create_event.js", in, &got, true)
	r := pim.Receipt{Outcome: pim.Sent, ID: got.occurrenceRef()}
	if err == nil {
		r.Undo = marshalUndo(undo{Remove: got.occurrenceRef(), Version: got.Version, Whole: true})
	}
	return scripterr.Write(r, err)
}

// which identifies an occurrence to the scripts.
type which struct {
	asked
	ID      string `json:"id"`
	Start   int64  `json:"start"`
	Version string `json:"version,omitempty"`
	Whole   bool   `json:"whole,omitempty"`
}

func parseRef(ref, version string, whole bool) (which, error) {
	i := strings.LastIndexByte(ref, '@')
	if i > 0 {
		if start, err := strconv.ParseInt(ref[i+1:], 10, 64); err == nil {
			return which{asked{patience}, ref[:i], start, version, whole}, nil
		}
	}
	return which{}, fmt.Errorf("Calendar: %w: no event %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
}

// change lists the changed fields, in the format of the scripts.
type change struct {
	Title *string `json:"title,omitempty"`
	Place *string `json:"place,omitempty"`
	Notes *string `json:"notes,omitempty"`
	Start *int64  `json:"start,omitempty"`
	End   *int64  `json:"end,omitempty"`
}

// ChangeEvent implements pim.Calendars.
func (c *Calendar) ChangeEvent(ctx context.Context, e pim.Event, ch pim.EventChange, whole bool) (pim.Receipt, error) {
	w, err := parseRef(e.Ref, e.Version, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	if e.AllDay && (ch.Start != nil || ch.End != nil) {
		return pim.Receipt{}, fmt.Errorf("Calendar: %w: an all-day event cannot be moved; delete it and create a new one", pim.ErrInvalid)
	}
	set := change{Title: ch.Title, Place: ch.Place, Notes: ch.Notes}
	set.Start, set.End = unixMilliPtr(ch.Start), unixMilliPtr(ch.End)
	return c.changeEvent(ctx, w, set, e.Occurrence == "")
}

func (c *Calendar) changeEvent(ctx context.Context, w which, set change, back bool) (pim.Receipt, error) {
	var got made
	err := c.runScript(ctx, "change_event.js", struct {
		which
		Set change `json:"set"`
	}{w, set}, &got, true)
	r := pim.Receipt{Outcome: pim.Sent, ID: got.occurrenceRef()}
	if err == nil && back { // a change of one occurrence of a series cannot be undone
		r.Undo = marshalUndo(undo{Change: got.occurrenceRef(), Version: got.Version, Set: set.revertChange(got.Was)})
	}
	return scripterr.Write(r, err)
}

// revertChange returns the inverse of a change: the previous values of the changed
// fields only.
func (c change) revertChange(was event) (out change) {
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

func unixMilliPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	n := t.UnixMilli()
	return &n
}

// DeleteEvent implements pim.Calendars. It cannot be undone: guests and answers
// cannot be restored.
func (c *Calendar) DeleteEvent(ctx context.Context, e pim.Event, whole bool) (pim.Receipt, error) {
	w, err := parseRef(e.Ref, e.Version, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	return scripterr.Write(pim.Receipt{Outcome: pim.Sent, ID: e.Ref}, c.runScript(ctx, "delete_event.js", w, nil, true))
}

// undo is the undo data of a write.
type undo struct {
	Remove   string `json:"remove,omitempty"`
	Change   string `json:"change,omitempty"`
	Set      change `json:"set,omitzero"`
	Version  string `json:"version,omitempty"`
	Whole    bool   `json:"whole,omitempty"`
	Reopen   string `json:"reopen,omitempty"`
	Reminder string `json:"reminder,omitempty"`
	Note     string `json:"note,omitempty"`
	Changed  int64  `json:"changed,omitempty"`
}

func marshalUndo(u undo) []byte {
	b, err := json.Marshal(u)
	if err != nil {
		return nil
	}
	return b
}

func readUndo(b []byte) (undo, error) {
	var u undo
	if err := json.Unmarshal(b, &u); err != nil {
		return u, fmt.Errorf("%w: invalid undo record: %w", pim.ErrInvalid, err)
	}
	return u, nil
}

// TakeBack implements pim.Undoer.
func (c *Calendar) TakeBack(ctx context.Context, b []byte) error {
	u, err := readUndo(b)
	if err != nil {
		return err
	}
	ref := u.Remove
	if ref == "" {
		ref = u.Change
	}
	w, err := parseRef(ref, u.Version, u.Whole)
	if err != nil {
		return err
	}
	if u.Remove != "" {
		return scripterr.Read(c.runScript(ctx, "delete_event.js", w, nil, true))
	}
	r, err := c.changeEvent(ctx, w, u.Set, false)
	return errors.Join(err, r.Known())
}

// rule is a recurrence in the form of EventKit (EKRecurrenceRule).
type rule struct {
	Frequency int       `json:"frequency"` // EKRecurrenceFrequency: 0 daily to 3 yearly
	Interval  int       `json:"interval"`
	Days      []weekday `json:"days,omitempty"`
	MonthDays []int     `json:"monthDays,omitempty"`
	Months    []int     `json:"months,omitempty"`
	Positions []int     `json:"positions,omitempty"`
	Count     int       `json:"count,omitempty"`
	Until     int64     `json:"until,omitempty"`
}

type weekday struct {
	Day  int `json:"day"` // EKWeekday: 1 is Sunday
	Week int `json:"week"`
}

// parseRule parses the subset of RRULE (RFC 5545, 3.3.10) that EventKit supports.
func parseRule(s string) (*rule, error) {
	o, err := rrule.StrToROption(s)
	if err != nil {
		return nil, fmt.Errorf("Calendar: %w: the rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(s, 100), err)
	}
	if o.Freq > rrule.DAILY || len(o.Byyearday)+len(o.Byweekno)+len(o.Byhour)+len(o.Byminute)+len(o.Bysecond)+len(o.Byeaster) > 0 {
		return nil, fmt.Errorf("Calendar: %w: macOS does not support the rule %q", pim.ErrInvalid, pim.SanitizeLine(s, 100))
	}
	r := &rule{Frequency: int(rrule.DAILY - o.Freq), Interval: max(o.Interval, 1), MonthDays: o.Bymonthday, Months: o.Bymonth, Positions: o.Bysetpos, Count: o.Count}
	for _, d := range o.Byweekday {
		r.Days = append(r.Days, weekday{Day: (d.Day()+1)%7 + 1, Week: d.N()}) // rrule's Monday is 0
	}
	if !o.Until.IsZero() {
		r.Until = o.Until.Round(time.Second).UnixMilli()
	}
	return r, nil
}
