package netaccount

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/compose"
	"hob/platform/pim/ics"
)

// Reminders contains the task lists of an account with CalDAV (VTODO).
type Reminders struct {
	calendars *Calendars
	zone      *time.Location
}

// NewReminders returns the tasks of an account with a CalDAV server. zone determines when days
// begin.
func NewReminders(a pim.Account, zone *time.Location) *Reminders {
	return &Reminders{NewCalendars(a), cmp.Or(zone, time.UTC)}
}

// Name implements pim.Driver.
func (r *Reminders) Name() string { return r.calendars.Name() }

// mostReminders is the maximum number of reminders that are returned.
const mostReminders = 1000

// FindReminders implements pim.Reminders.
func (r *Reminders) FindReminders(ctx context.Context, done bool) ([]pim.Reminder, error) {
	return r.findReminders(ctx, done, func(pim.Calendar) bool { return true })
}

// FindInList implements pim.Lists.
func (r *Reminders) FindInList(ctx context.Context, list string, done bool) ([]pim.Reminder, error) {
	some := false
	out, err := r.findReminders(ctx, done, func(l pim.Calendar) bool {
		is := strings.EqualFold(strings.TrimSpace(l.Name), strings.TrimSpace(list))
		some = some || is
		return is
	})
	if err == nil && !some {
		return nil, r.calendars.account.Errorf("%w: no list %q", pim.ErrNoFolder, pim.SanitizeLine(list, 60))
	}
	return out, err
}

func (r *Reminders) findReminders(ctx context.Context, done bool, wanted func(pim.Calendar) bool) (out []pim.Reminder, err error) {
	var warnings []string
	err = r.calendars.withClient(ctx, func(d *caldav.Client) error {
		lists, err := d.Lists(ctx)
		if err != nil {
			return err
		}
		for _, l := range lists {
			if !wanted(l) {
				continue
			}
			some, err := d.Todos(ctx, l, done, r.zone)
			if _, partial := errors.AsType[*caldav.PartialError](err); partial {
				warnings = append(warnings, r.calendars.account.Errorf("cannot read some tasks of the list %s", pim.SanitizeLine(l.Name, 60)).Error())
			} else if err != nil {
				return err
			}
			out = append(out, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	pim.ByDue(out)
	if len(out) > mostReminders {
		out = out[:mostReminders]
		warnings = append(warnings, r.calendars.account.Errorf("only the first %d tasks were read", mostReminders).Error())
	}
	return out, pim.Partial(warnings...)
}

// CreateReminder implements pim.Reminders.
func (r *Reminders) CreateReminder(ctx context.Context, x pim.Reminder) (pim.Receipt, error) {
	if x.UID == "" {
		x.UID = compose.NewID(r.calendars.account.Address)
	}
	if !x.Due.IsZero() {
		x.Due = x.Due.In(r.zone)
	}
	data, err := ics.NewTodo(x, time.Now())
	if err != nil {
		return pim.Receipt{}, err
	}
	return r.calendars.createObject(ctx, (*caldav.Client).Lists, x.List, x.UID, data)
}

// CompleteReminder implements pim.Reminders.
func (r *Reminders) CompleteReminder(ctx context.Context, ref string) (pim.Receipt, error) {
	last := false
	out, err := r.calendars.rewriteObject(ctx, ref, func(b []byte) ([]byte, error) {
		list, err := ics.Todos(b, r.zone)
		switch {
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(list, func(x pim.Reminder) bool { return !x.Done }):
			return nil, r.calendars.account.Errorf("%w: already completed", pim.ErrChanged)
		}
		after, again, err := ics.Done(b, list[0].UID, r.zone, time.Now())
		last = list[0].Repeat && !again
		return after, err
	})
	if last && err == nil && out.Outcome == pim.Sent {
		out.Why = pim.LastOne
	}
	return out, err
}

// TakeBack implements pim.Undoer.
func (r *Reminders) TakeBack(ctx context.Context, undo []byte) error {
	return r.calendars.TakeBack(ctx, undo)
}
