package apple

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/teambition/rrule-go"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Calendar reads and writes all calendars of macOS: those of iCloud, of accounts in the system
// settings, and local ones.
type Calendar struct{ scriptapp.App }

// NewCalendar returns a Calendar that runs its scripts with r.
func NewCalendar(r osrun.Runner) *Calendar {
	return &Calendar{newApp(r, "com.apple.eventkit.calendar", "Calendar", eventScript)}
}

// ListCalendars implements pim.Calendars.
func (c *Calendar) ListCalendars(ctx context.Context) ([]pim.Calendar, error) {
	var got struct {
		Calendars []struct {
			ID, Name, Account string
			Fixed             bool
		}
	}
	if err := c.Read(ctx, "calendars.js", newDialogLimit(), &got); err != nil {
		return nil, err
	}
	out := make([]pim.Calendar, 0, len(got.Calendars))
	for _, x := range got.Calendars {
		out = append(out, pim.Calendar{Path: x.ID, Name: pim.SanitizeLine(x.Name, 120)})
	}
	return out, nil
}

// FindEvents implements pim.Calendars.
func (c *Calendar) FindEvents(ctx context.Context, s pim.TimeRange) ([]pim.Event, error) {
	var got scriptapp.EventList
	in := struct {
		dialogLimit
		scriptapp.EventRange
	}{newDialogLimit(), scriptapp.NewEventRange(s)}
	if err := c.Read(ctx, "find_events.js", in, &got); err != nil {
		return nil, err
	}
	return got.ToPIM("Calendar", s, func(scriptapp.Event, *pim.Event) {})
}

// writeResult is the output of a script that writes.
type writeResult struct {
	ID, Version string
	Start       int64
	Was         scriptapp.Event
}

func (r writeResult) occurrenceRef() string { return scriptapp.OccurrenceRef(r.ID, r.Start) }

// CreateEvent implements pim.Calendars. It rejects guests, because EventKit cannot invite them.
func (c *Calendar) CreateEvent(ctx context.Context, calendar string, e pim.NewEvent) (pim.Receipt, error) {
	if len(e.Guests) > 0 {
		return pim.Receipt{}, fmt.Errorf("Calendar: %w: macOS does not let programs invite guests; use a CalDAV account or send the invitation by email", errors.ErrUnsupported)
	}
	in := struct {
		dialogLimit
		Calendar string `json:"calendar,omitempty"`
		scriptapp.NewEvent
		Last  string      `json:"last,omitempty"`
		Alarm *int64      `json:"alarm,omitempty"` // seconds before the start
		Rule  *recurrence `json:"rule,omitempty"`
	}{dialogLimit: newDialogLimit(), Calendar: calendar, NewEvent: scriptapp.FromNewEvent(e)}
	if e.AllDay {
		in.Last = e.End.AddDate(0, 0, -1).Format(time.DateOnly)
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
	var got writeResult
	return c.Write(ctx, "create_event.js", in, &got, func() pim.Receipt {
		return pim.Receipt{Outcome: pim.Sent, ID: got.occurrenceRef(), Undo: scriptapp.MarshalUndo(undoRecord{Remove: got.occurrenceRef(), Version: got.Version, Whole: true})}
	})
}

// occurrenceKey identifies an occurrence for the scripts.
type occurrenceKey struct {
	dialogLimit
	ID      string `json:"id"`
	Start   int64  `json:"start"`
	Version string `json:"version,omitempty"`
	Whole   bool   `json:"whole,omitempty"`
}

func parseOccurrence(ref, version string, whole bool) (occurrenceKey, error) {
	id, start, ok := scriptapp.ParseOccurrenceRef(ref)
	if !ok {
		return occurrenceKey{}, fmt.Errorf("Calendar: %w: event %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	return occurrenceKey{newDialogLimit(), id, start, version, whole}, nil
}

// ChangeEvent implements pim.Calendars.
func (c *Calendar) ChangeEvent(ctx context.Context, e pim.Event, ch pim.EventChange, whole bool) (pim.Receipt, error) {
	w, err := parseOccurrence(e.Ref, e.Version, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	if e.AllDay && (ch.Start != nil || ch.End != nil) {
		return pim.Receipt{}, fmt.Errorf("Calendar: %w: an all-day event cannot be moved; delete it and create a new one", pim.ErrInvalid)
	}
	return c.changeEvent(ctx, w, scriptapp.FromEventChange(ch), e.Occurrence == "")
}

func (c *Calendar) changeEvent(ctx context.Context, w occurrenceKey, set scriptapp.EventChange, undoable bool) (pim.Receipt, error) {
	var got writeResult
	return c.Write(ctx, "change_event.js", struct {
		occurrenceKey
		Set scriptapp.EventChange `json:"set"`
	}{w, set}, &got, func() pim.Receipt {
		r := pim.Receipt{Outcome: pim.Sent, ID: got.occurrenceRef()}
		if undoable { // a change to one occurrence of a series cannot be undone
			r.Undo = scriptapp.MarshalUndo(undoRecord{Change: r.ID, Version: got.Version, Set: set.Invert(got.Was)})
		}
		return r
	})
}

// DeleteEvent implements pim.Calendars. It cannot be undone, because guests and their answers
// cannot be restored.
func (c *Calendar) DeleteEvent(ctx context.Context, e pim.Event, whole bool) (pim.Receipt, error) {
	w, err := parseOccurrence(e.Ref, e.Version, whole)
	if err != nil {
		return pim.Receipt{}, err
	}
	return c.Write(ctx, "delete_event.js", w, nil, func() pim.Receipt { return pim.Receipt{Outcome: pim.Sent, ID: e.Ref} })
}

// undoRecord is the undo record of a write.
type undoRecord struct {
	Remove   string                `json:"remove,omitempty"`
	Change   string                `json:"change,omitempty"`
	Set      scriptapp.EventChange `json:"set,omitzero"`
	Version  string                `json:"version,omitempty"`
	Whole    bool                  `json:"whole,omitempty"`
	Reopen   string                `json:"reopen,omitempty"`
	Reminder string                `json:"reminder,omitempty"`
	Note     string                `json:"note,omitempty"`
	Changed  int64                 `json:"changed,omitempty"`
}

// TakeBack implements pim.Undoer.
func (c *Calendar) TakeBack(ctx context.Context, b []byte) error {
	u, err := scriptapp.ReadUndo[undoRecord](b)
	if err != nil {
		return err
	}
	ref := u.Remove
	if ref == "" {
		ref = u.Change
	}
	w, err := parseOccurrence(ref, u.Version, u.Whole)
	if err != nil {
		return err
	}
	if u.Remove != "" {
		return c.Undo(ctx, "delete_event.js", w)
	}
	r, err := c.changeEvent(ctx, w, u.Set, false)
	return errors.Join(err, r.Known())
}

// recurrence is a recurrence rule in the form of EventKit (EKRecurrenceRule).
type recurrence struct {
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
func parseRule(s string) (*recurrence, error) {
	o, err := rrule.StrToROption(s)
	if err != nil {
		return nil, fmt.Errorf("Calendar: %w: the recurrence rule %q: %w", pim.ErrInvalid, pim.SanitizeLine(s, 100), err)
	}
	if o.Freq > rrule.DAILY || len(o.Byyearday)+len(o.Byweekno)+len(o.Byhour)+len(o.Byminute)+len(o.Bysecond)+len(o.Byeaster) > 0 {
		return nil, fmt.Errorf("Calendar: %w: macOS does not support the recurrence rule %q", pim.ErrInvalid, pim.SanitizeLine(s, 100))
	}
	r := &recurrence{Frequency: int(rrule.DAILY - o.Freq), Interval: max(o.Interval, 1), MonthDays: o.Bymonthday, Months: o.Bymonth, Positions: o.Bysetpos, Count: o.Count}
	for _, d := range o.Byweekday {
		r.Days = append(r.Days, weekday{Day: (d.Day()+1)%7 + 1, Week: d.N()}) // rrule's Monday is 0
	}
	if !o.Until.IsZero() {
		r.Until = o.Until.Round(time.Second).UnixMilli()
	}
	return r, nil
}
