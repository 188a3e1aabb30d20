package outlook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Calendar is the default calendar of Outlook. Outlook itself notifies guests of changes.
type Calendar struct{ scriptapp.App }

// NewCalendar returns a Calendar that runs its scripts with r.
func NewCalendar(r osrun.Runner) *Calendar { return &Calendar{newApp(r, eventScript)} }

// ListCalendars implements pim.Calendars.
func (*Calendar) ListCalendars(context.Context) ([]pim.Calendar, error) {
	return []pim.Calendar{{Path: name, Name: "Outlook"}}, nil
}

const eventKind = "event"

func eventKey(e scriptapp.Event) itemKey { return itemKey{e.ID, e.Store, e.Version} }

// occurrenceRef returns the reference of an occurrence, which consists of the item and the start.
func occurrenceRef(e scriptapp.Event) string {
	return scriptapp.OccurrenceRef(eventKey(e).formatRef(eventKind), e.Start)
}

// FindEvents implements pim.Calendars.
func (c *Calendar) FindEvents(ctx context.Context, s pim.TimeRange) ([]pim.Event, error) {
	var got scriptapp.EventList
	if err := c.Read(ctx, "find_events.ps1", scriptapp.NewEventRange(s), &got); err != nil {
		return nil, err
	}
	return got.ToPIM("Outlook", s, func(e scriptapp.Event, x *pim.Event) {
		x.Ref, x.Calendar, x.Organizer = occurrenceRef(e), "Outlook", sanitizePerson(e.Organizer)
		for i, g := range e.Guests {
			x.Guests[i] = sanitizePerson(g)
		}
	})
}

// recurrence is a recurrence rule as Outlook's RecurrencePattern stores it.
type recurrence struct {
	Type     int    `json:"type"` // OlRecurrenceType: 0 daily, 1 weekly, 2 monthly, 5 yearly
	Interval int    `json:"interval"`
	Mask     int    `json:"mask,omitempty"` // OlDaysOfWeek: 1 is Sunday, 2 Monday, 4 Tuesday
	Count    int    `json:"count,omitempty"`
	Until    string `json:"until,omitempty"`
}

// parseRule parses the subset of RRULE that Outlook accepts from programs.
func parseRule(s string) (*recurrence, error) {
	o, err := rrule.StrToROption(s)
	if err != nil {
		return nil, fmt.Errorf("in Outlook: %w: cannot parse the rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(s, 100), err)
	}
	kinds := map[rrule.Frequency]int{rrule.DAILY: 0, rrule.WEEKLY: 1, rrule.MONTHLY: 2, rrule.YEARLY: 5}
	kind, ok := kinds[o.Freq]
	further := len(o.Bymonthday) + len(o.Bymonth) + len(o.Bysetpos) + len(o.Byyearday) + len(o.Byweekno) + len(o.Byhour) + len(o.Byminute) + len(o.Bysecond) + len(o.Byeaster)
	if !ok || further > 0 || len(o.Byweekday) > 0 && o.Freq != rrule.WEEKLY {
		return nil, fmt.Errorf("in Outlook: %w: the rule %q is not supported; use daily, weekly (on days), monthly or yearly", pim.ErrInvalid, pim.SanitizeLine(s, 100))
	}
	r := &recurrence{Type: kind, Interval: max(o.Interval, 1), Count: o.Count}
	if o.Freq == rrule.YEARLY {
		r.Interval *= 12 // Outlook counts the interval of yearly recurrences in months
	}
	for _, d := range o.Byweekday {
		r.Mask |= 1 << ((d.Day() + 1) % 7) // Monday is 0 in rrule and bit 1 in the mask
	}
	if !o.Until.IsZero() {
		r.Until = o.Until.Format(time.DateOnly)
	}
	return r, nil
}

// CreateEvent implements pim.Calendars.
func (c *Calendar) CreateEvent(ctx context.Context, calendar string, e pim.NewEvent) (pim.Receipt, error) {
	if calendar != "" && !strings.EqualFold(calendar, name) {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: no calendar %q; new events can only be created in the default calendar", pim.ErrNoFolder, pim.SanitizeLine(calendar, 60))
	}
	in := struct {
		How string `json:"how"`
		scriptapp.NewEvent
		Until  string      `json:"until,omitempty"`
		Alarm  *int        `json:"alarm,omitempty"` // minutes before the start
		Rule   *recurrence `json:"rule,omitempty"`
		Guests []string    `json:"guests,omitempty"`
	}{How: "create", NewEvent: scriptapp.FromNewEvent(e), Guests: scriptapp.Addresses(e.Guests)}
	if e.AllDay {
		in.Until = e.End.Format(time.DateOnly)
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
	var got struct{ Event scriptapp.Event }
	return c.Write(ctx, "write_event.ps1", in, &got, func() pim.Receipt {
		r := pim.Receipt{Outcome: pim.Sent, ID: occurrenceRef(got.Event)}
		if len(e.Guests) == 0 { // the event has no guests, so none was notified
			r.Undo = undoRecord{How: "delete", itemKey: eventKey(got.Event)}.marshalUndo()
		}
		return r
	})
}

// occurrenceKey identifies an occurrence for the scripts.
type occurrenceKey struct {
	How string `json:"how"`
	itemKey
	Start int64                  `json:"start"`
	Whole bool                   `json:"whole,omitempty"`
	Set   *scriptapp.EventChange `json:"set,omitempty"`
}

func newOccurrenceKey(how string, e pim.Event, whole bool) (occurrenceKey, error) {
	ref, start, ok := scriptapp.ParseOccurrenceRef(e.Ref)
	t, err := parseItemRef(eventKind, ref)
	if !ok || err != nil {
		return occurrenceKey{}, fmt.Errorf("in Outlook: %w: no event %q", pim.ErrNotFound, pim.SanitizeLine(e.Ref, 100))
	}
	if e.Occurrence == "" { // the version of an occurrence differs from that of its series
		t.Version = e.Version
	}
	return occurrenceKey{How: how, itemKey: t, Start: start, Whole: whole}, nil
}

// ChangeEvent implements pim.Calendars.
func (c *Calendar) ChangeEvent(ctx context.Context, e pim.Event, ch pim.EventChange, whole bool) (pim.Receipt, error) {
	if (e.AllDay || whole && e.Occurrence != "") && (ch.Start != nil || ch.End != nil) {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: all-day events and whole series cannot be moved; move one occurrence or create a new event", pim.ErrInvalid)
	}
	w, err := newOccurrenceKey("change", e, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	set := scriptapp.FromEventChange(ch)
	w.Set = &set
	var got struct{ Was, Event scriptapp.Event }
	return c.Write(ctx, "write_event.ps1", w, &got, func() pim.Receipt {
		r := pim.Receipt{Outcome: pim.Sent, ID: occurrenceRef(got.Event)}
		if e.Occurrence == "" && !got.Was.Meeting { // undoing a meeting would notify the guests again
			back := set.Invert(got.Was)
			r.Undo = undoRecord{How: "change", itemKey: eventKey(got.Event), Set: &back}.marshalUndo()
		}
		return r
	})
}

// DeleteEvent implements pim.Calendars. Outlook moves the event to its deleted items. Hob cannot
// undo the deletion.
func (c *Calendar) DeleteEvent(ctx context.Context, e pim.Event, whole bool) (pim.Receipt, error) {
	w, err := newOccurrenceKey("delete", e, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	return c.Write(ctx, "write_event.ps1", w, nil, func() pim.Receipt { return pim.Receipt{Outcome: pim.Sent, ID: e.Ref} })
}

// TakeBack implements pim.Undoer.
func (c *Calendar) TakeBack(ctx context.Context, undo []byte) error {
	u, err := scriptapp.ReadUndo[undoRecord](undo)
	if err != nil {
		return err
	}
	return c.Undo(ctx, "write_event.ps1", occurrenceKey{How: u.How, itemKey: u.itemKey, Whole: true, Set: u.Set})
}
