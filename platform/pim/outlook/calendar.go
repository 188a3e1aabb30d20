package outlook

import (
	"context"
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

// Calendar is the default calendar of Outlook. Outlook notifies guests of changes
// itself.
type Calendar struct{ runner }

// NewCalendar returns a Calendar that runs its scripts with r.
func NewCalendar(r osrun.Runner) *Calendar { return &Calendar{runner{r}} }

// Name implements pim.Driver.
func (*Calendar) Name() string { return name }

// ListCalendars implements pim.Calendars.
func (*Calendar) ListCalendars(context.Context) ([]pim.Calendar, error) {
	return []pim.Calendar{{Path: name, Name: "Outlook"}}, nil
}

func eventScript(file string) osrun.Script { return loadScript(file, "events.ps1") }

// event is the scripts' JSON form of an event.
type event struct {
	ID, Store, UID, Title, Place, Notes      string
	Start, End                               int64
	AllDay, Recurs, Open, Cancelled, Meeting bool
	First, Until                             string // of an all-day event: its first day, and the day after its last
	Version                                  string
	Organizer                                pim.Person
	Guests                                   []pim.Person
}

const (
	appointment = "event"
	mostEvents  = 2000
)

func (e event) itemKey() thing { return thing{e.ID, e.Store, e.Version} }

// occurrenceRef returns the reference of an occurrence: the item and its start.
func (e event) occurrenceRef() string {
	return e.itemKey().formatRef(appointment) + "@" + strconv.FormatInt(e.Start, 10)
}

func (e event) toPIMEvent(zone *time.Location) (pim.Event, error) {
	x := pim.Event{
		Ref: e.occurrenceRef(), UID: pim.SanitizeLine(e.UID, 300), Title: pim.SanitizeLine(e.Title, 300), Place: pim.SanitizeLine(e.Place, 300), Notes: pim.SanitizeText(e.Notes), Calendar: "Outlook", Version: e.Version,
		Start: time.UnixMilli(e.Start).In(zone), End: time.UnixMilli(e.End).In(zone), AllDay: e.AllDay, Floating: e.AllDay, Cancelled: e.Cancelled, Open: e.Open, Organizer: sanitizePerson(e.Organizer),
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
	until, err2 := time.ParseInLocation(time.DateOnly, e.Until, zone)
	x.Start, x.End = first, until
	return x, errors.Join(err, err2)
}

func sanitizePerson(p pim.Person) pim.Person {
	out := pim.Person{Name: pim.SanitizeLine(p.Name, 120)}
	if strings.Contains(p.Address, "@") { // otherwise it is a name in Exchange
		out.Address = strings.ToLower(pim.SanitizeLine(p.Address, 254))
	}
	return out
}

// FindEvents implements pim.Calendars.
func (c *Calendar) FindEvents(ctx context.Context, s pim.TimeRange) ([]pim.Event, error) {
	var got struct {
		Events []event
		Lost   int
		More   bool
	}
	err := c.runScript(ctx, eventScript("find_events.ps1"), struct {
		From  int64 `json:"from"`
		To    int64 `json:"to"`
		Limit int   `json:"limit"`
	}{s.From.UnixMilli(), s.To.UnixMilli(), mostEvents}, &got, false)
	if err != nil {
		return nil, scripterr.Read(err)
	}
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	var warnings []string
	if got.Lost > 0 {
		warnings = append(warnings, fmt.Sprintf("Outlook: %d events could not be read", got.Lost))
	}
	if got.More {
		warnings = append(warnings, fmt.Sprintf("Outlook: only the first %d events were read", mostEvents))
	}
	out := make([]pim.Event, 0, len(got.Events))
	for _, e := range got.Events {
		x, err := e.toPIMEvent(zone)
		if err != nil {
			warnings = append(warnings, "Outlook: an event has no dates")
			continue
		}
		if x.End.After(s.From) || !x.Start.Before(s.From) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	return out, pim.Partial(warnings...)
}

// rule is a recurrence in the form of Outlook (RecurrencePattern).
type rule struct {
	Type     int    `json:"type"` // OlRecurrenceType: 0 daily, 1 weekly, 2 monthly, 5 yearly
	Interval int    `json:"interval"`
	Mask     int    `json:"mask,omitempty"` // OlDaysOfWeek: 1 is Sunday, 2 Monday, 4 Tuesday
	Count    int    `json:"count,omitempty"`
	Until    string `json:"until,omitempty"`
}

// parseRule parses the subset of RRULE that Outlook accepts from programs.
func parseRule(s string) (*rule, error) {
	o, err := rrule.StrToROption(s)
	if err != nil {
		return nil, fmt.Errorf("in Outlook: %w: the rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(s, 100), err)
	}
	kinds := map[rrule.Frequency]int{rrule.DAILY: 0, rrule.WEEKLY: 1, rrule.MONTHLY: 2, rrule.YEARLY: 5}
	kind, ok := kinds[o.Freq]
	further := len(o.Bymonthday) + len(o.Bymonth) + len(o.Bysetpos) + len(o.Byyearday) + len(o.Byweekno) + len(o.Byhour) + len(o.Byminute) + len(o.Bysecond) + len(o.Byeaster)
	if !ok || further > 0 || len(o.Byweekday) > 0 && o.Freq != rrule.WEEKLY {
		return nil, fmt.Errorf("in Outlook: %w: the rule %q is not supported; use daily, weekly (on days), monthly or yearly", pim.ErrInvalid, pim.SanitizeLine(s, 100))
	}
	r := &rule{Type: kind, Interval: max(o.Interval, 1), Count: o.Count}
	if o.Freq == rrule.YEARLY {
		r.Interval *= 12 // Outlook counts months there
	}
	for _, d := range o.Byweekday {
		r.Mask |= 1 << ((d.Day() + 1) % 7) // rrule's Monday is 0
	}
	if !o.Until.IsZero() {
		r.Until = o.Until.Format(time.DateOnly)
	}
	return r, nil
}

// CreateEvent implements pim.Calendars.
func (c *Calendar) CreateEvent(ctx context.Context, calendar string, e pim.NewEvent) (pim.Receipt, error) {
	if calendar != "" && !strings.EqualFold(calendar, name) {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: no calendar %q; new events go into the default calendar", pim.ErrNoFolder, pim.SanitizeLine(calendar, 60))
	}
	in := struct {
		How    string   `json:"how"`
		Title  string   `json:"title"`
		Place  string   `json:"place,omitempty"`
		Notes  string   `json:"notes,omitempty"`
		Start  int64    `json:"start"`
		End    int64    `json:"end"`
		AllDay bool     `json:"allDay,omitempty"`
		First  string   `json:"first,omitempty"`
		Until  string   `json:"until,omitempty"`
		Alarm  *int     `json:"alarm,omitempty"` // minutes before
		Rule   *rule    `json:"rule,omitempty"`
		Guests []string `json:"guests,omitempty"`
	}{How: "create", Title: e.Title, Place: e.Place, Notes: e.Notes, Start: e.Start.UnixMilli(), End: e.End.UnixMilli(), AllDay: e.AllDay, Guests: scripterr.Addresses(e.Guests)}
	if e.AllDay {
		in.First, in.Until = e.Start.Format(time.DateOnly), e.End.Format(time.DateOnly)
	}
	if e.Alarm != nil {
		n := int(e.Alarm.Before / time.Minute)
		in.Alarm = &n
	}
	if e.Rule != "" {
		r, err := parseRule(e.Rule)
		if err != nil {
			return pim.Receipt{}, err
		}
		in.Rule = r
	}
	var got struct{ Event event }
	err := c.runScript(ctx, eventScript("write_event.ps1"), in, &got, true)
	r := pim.Receipt{Outcome: pim.Sent, ID: got.Event.occurrenceRef()}
	if len(e.Guests) == 0 { // no guest was notified
		r.Undo = back{How: "delete", thing: got.Event.itemKey()}.marshalUndo()
	}
	return scripterr.Write(r, err)
}

// change lists the changed fields, in the format of the scripts.
type change struct {
	Title *string `json:"title,omitempty"`
	Place *string `json:"place,omitempty"`
	Notes *string `json:"notes,omitempty"`
	Start *int64  `json:"start,omitempty"`
	End   *int64  `json:"end,omitempty"`
}

// revertChange returns the inverse of a change: the previous values of the changed
// fields only.
func (c change) revertChange(was event) *change {
	out := &change{}
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

// which identifies an occurrence to the scripts.
type which struct {
	How string `json:"how"`
	thing
	Start int64   `json:"start"`
	Whole bool    `json:"whole,omitempty"`
	Set   *change `json:"set,omitempty"`
}

func whichOf(how string, e pim.Event, whole bool) (which, error) {
	at := strings.LastIndexByte(e.Ref, '@')
	if at < 0 {
		return which{}, fmt.Errorf("in Outlook: %w: no event %q", pim.ErrNotFound, pim.SanitizeLine(e.Ref, 100))
	}
	t, err := thingOf(appointment, e.Ref[:at])
	start, err2 := strconv.ParseInt(e.Ref[at+1:], 10, 64)
	if err != nil || err2 != nil {
		return which{}, fmt.Errorf("in Outlook: %w: no event %q", pim.ErrNotFound, pim.SanitizeLine(e.Ref, 100))
	}
	if e.Occurrence == "" { // an occurrence has a different version than its series
		t.Version = e.Version
	}
	return which{How: how, thing: t, Start: start, Whole: whole}, nil
}

// ChangeEvent implements pim.Calendars.
func (c *Calendar) ChangeEvent(ctx context.Context, e pim.Event, ch pim.EventChange, whole bool) (pim.Receipt, error) {
	if (e.AllDay || whole && e.Occurrence != "") && (ch.Start != nil || ch.End != nil) {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: all-day events and whole series cannot be moved; move one occurrence or create a new event", pim.ErrInvalid)
	}
	w, err := whichOf("change", e, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	w.Set = &change{Title: ch.Title, Place: ch.Place, Notes: ch.Notes, Start: unixMilliPtr(ch.Start), End: unixMilliPtr(ch.End)}
	var got struct{ Was, Event event }
	err = c.runScript(ctx, eventScript("write_event.ps1"), w, &got, true)
	r := pim.Receipt{Outcome: pim.Sent, ID: got.Event.occurrenceRef()}
	if err == nil && e.Occurrence == "" && !got.Was.Meeting { // an undo would notify the guests again
		r.Undo = back{How: "change", thing: got.Event.itemKey(), Set: w.Set.revertChange(got.Was)}.marshalUndo()
	}
	return scripterr.Write(r, err)
}

func unixMilliPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	n := t.UnixMilli()
	return &n
}

// DeleteEvent implements pim.Calendars. Outlook moves the event to its deleted
// items; Hob cannot undo it.
func (c *Calendar) DeleteEvent(ctx context.Context, e pim.Event, whole bool) (pim.Receipt, error) {
	w, err := whichOf("delete", e, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	return scripterr.Write(pim.Receipt{Outcome: pim.Sent, ID: e.Ref}, c.runScript(ctx, eventScript("write_event.ps1"), w, nil, true))
}

// TakeBack implements pim.Undoer.
func (c *Calendar) TakeBack(ctx context.Context, undo []byte) error {
	b, err := backOf(undo)
	if err != nil {
		return err
	}
	return scripterr.Read(c.runScript(ctx, eventScript("write_event.ps1"), which{How: b.How, thing: b.thing, Whole: true, Set: b.Set}, nil, true))
}
