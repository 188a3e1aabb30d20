package apple

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Reminders reads and writes the lists of the Reminders app.
type Reminders struct {
	scriptapp.App
	zone *time.Location
}

// NewReminders returns Reminders that run their scripts with r. zone determines when days begin.
func NewReminders(r osrun.Runner, zone *time.Location) *Reminders {
	return &Reminders{newApp(r, "com.apple.eventkit.reminders", "Reminders", remindScript), cmp.Or(zone, time.UTC)}
}

type reminderRow struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Notes string `json:"notes"`
	Due   struct {
		Day string `json:"day"`
		At  int64  `json:"at"`
	} `json:"due"`
	Done    bool   `json:"done"`
	List    string `json:"list"`
	ListID  string `json:"listID"`
	Repeats bool   `json:"repeats"`
	// Priority uses the iCalendar values: 1 to 4 high, 5 medium, 6 to 9 low
	// (developer.apple.com/documentation/eventkit/ekreminderpriority).
	Priority int `json:"priority"`
}

const mostReminders = 1000

// FindReminders implements pim.Reminders.
func (r *Reminders) FindReminders(ctx context.Context, done bool) ([]pim.Reminder, error) {
	return r.findReminders(ctx, "", done)
}

// FindInList implements pim.Lists. EventKit does not report whether a list is
// shared.
func (r *Reminders) FindInList(ctx context.Context, list string, done bool) ([]pim.Reminder, error) {
	out, err := r.findReminders(ctx, list, done)
	return out, noFolder(err)
}

// noFolder adds pim.ErrNoFolder to a script's error about a missing list or folder.
func noFolder(err error) error {
	if errors.Is(err, pim.ErrNotFound) {
		return fmt.Errorf("%w: %w", pim.ErrNoFolder, err)
	}
	return err
}

func (r *Reminders) findReminders(ctx context.Context, list string, done bool) ([]pim.Reminder, error) {
	var got struct {
		Reminders []reminderRow
		More      bool
	}
	in := struct {
		dialogLimit
		List  string `json:"list,omitempty"`
		Done  bool   `json:"done"`
		Limit int    `json:"limit"`
	}{newDialogLimit(), list, done, mostReminders}
	if err := r.Read(ctx, "find_reminders.js", in, &got); err != nil {
		return nil, err
	}
	var warnings []string
	if got.More {
		warnings = append(warnings, fmt.Sprintf("Reminders: only the first %d were read", mostReminders))
	}
	out := make([]pim.Reminder, 0, len(got.Reminders))
	for _, t := range got.Reminders {
		x, err := scriptapp.SanitizeReminder(pim.Reminder{Ref: t.ID, Title: t.Title, Notes: t.Notes, Done: t.Done, List: t.List, ListID: t.ListID, Repeat: t.Repeats, Priority: t.Priority}, t.Due.Day, r.zone)
		if err != nil {
			warnings = append(warnings, "Reminders: the date of a reminder cannot be read")
		}
		if t.Due.Day == "" && t.Due.At != 0 {
			x.Due = time.UnixMilli(t.Due.At).In(r.zone)
		}
		out = append(out, x)
	}
	pim.ByDue(out)
	return out, pim.Partial(warnings...)
}

// CreateReminder implements pim.Reminders.
func (r *Reminders) CreateReminder(ctx context.Context, x pim.Reminder) (pim.Receipt, error) {
	in := struct {
		dialogLimit
		List  string `json:"list,omitempty"`
		Title string `json:"title"`
		Notes string `json:"notes,omitempty"`
		Day   string `json:"day,omitempty"`
		At    int64  `json:"at,omitempty"`
		// Priority uses the iCalendar values.
		Priority int `json:"priority,omitempty"`
	}{dialogLimit: newDialogLimit(), List: x.List, Title: x.Title, Notes: x.Notes, Priority: x.Priority}
	switch {
	case x.Due.IsZero():
	case x.AllDay:
		in.Day = x.Due.Format(time.DateOnly)
	default:
		in.At = x.Due.UnixMilli()
	}
	var got struct{ ID, List string }
	return r.Write(ctx, "create_reminder.js", in, &got, func() pim.Receipt {
		return pim.Receipt{Outcome: pim.Sent, ID: got.ID, Undo: scriptapp.MarshalUndo(undoRecord{Reminder: got.ID})}
	})
}

type markRequest struct {
	dialogLimit
	ID     string `json:"id"`
	Done   bool   `json:"done,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// CompleteReminder implements pim.Reminders.
func (r *Reminders) CompleteReminder(ctx context.Context, ref string) (pim.Receipt, error) {
	var got struct{ Was reminderRow }
	return r.Write(ctx, "mark_reminder.js", markRequest{newDialogLimit(), ref, true, false}, &got, func() pim.Receipt {
		out := pim.Receipt{Outcome: pim.Sent, ID: ref}
		if !got.Was.Repeats && !got.Was.Done { // a recurring reminder already shows its next occurrence
			out.Undo = scriptapp.MarshalUndo(undoRecord{Reopen: ref})
		}
		return out
	})
}

// TakeBack implements pim.Undoer.
func (r *Reminders) TakeBack(ctx context.Context, b []byte) error {
	u, err := scriptapp.ReadUndo[undoRecord](b)
	if err != nil {
		return err
	}
	in := markRequest{newDialogLimit(), u.Reopen, false, false}
	if u.Reminder != "" {
		in = markRequest{newDialogLimit(), u.Reminder, false, true}
	}
	return r.Undo(ctx, "mark_reminder.js", in)
}
