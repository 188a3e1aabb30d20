package outlook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// itemKey identifies one version of an item to the scripts.
type itemKey struct {
	ID      string `json:"id,omitempty"`
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
}

func (t itemKey) formatRef(kind string) string { return name + "/" + kind + "/" + t.ID + "/" + t.Store }

// parseItemRef parses the reference of an item: outlook/KIND/entry/store, both hexadecimal.
func parseItemRef(kind, ref string) (itemKey, error) {
	rest, is := strings.CutPrefix(ref, name+"/"+kind+"/")
	id, store, ok := strings.Cut(rest, "/")
	odd := func(r rune) bool { return !strings.ContainsRune("0123456789ABCDEFabcdef", r) }
	if !is || !ok || id == "" || strings.ContainsFunc(id+store, odd) {
		return itemKey{}, fmt.Errorf("in Outlook: %w: no %s %q", pim.ErrNotFound, kind, pim.SanitizeLine(ref, 100))
	}
	return itemKey{ID: id, Store: store}, nil
}

// undoRecord is the undo record of a write; How names the operation.
type undoRecord struct {
	How string `json:"how"`
	itemKey
	Set *scriptapp.EventChange `json:"set,omitempty"`
}

func (u undoRecord) marshalUndo() []byte {
	if u.ID == "" {
		return nil
	}
	return scriptapp.MarshalUndo(u)
}

// undoItem undoes a write to a task or a note.
func undoItem(ctx context.Context, app scriptapp.App, file string, undo []byte) error {
	u, err := scriptapp.ReadUndo[undoRecord](undo)
	if err != nil {
		return err
	}
	return app.Undo(ctx, file, u)
}

// Reminders are the tasks of Outlook.
type Reminders struct {
	scriptapp.App
	zone *time.Location
}

// NewReminders returns Reminders that run their scripts with r. zone determines when days begin.
func NewReminders(r osrun.Runner, zone *time.Location) *Reminders {
	return &Reminders{newApp(r, itemScript), cmp.Or(zone, time.UTC)}
}

const (
	taskKind      = "task"
	mostReminders = 1000
)

// The importance of a task (OlImportance) for each iCalendar priority.
const (
	lowImportance = iota
	normalImportance
	highImportance
)

// FindReminders implements pim.Reminders. A task is due on a day. It has a time if its reminder is
// on that day.
func (r *Reminders) FindReminders(ctx context.Context, done bool) ([]pim.Reminder, error) {
	var got struct {
		Rows []struct {
			ID, Title, Day string
			Done, Repeats  bool
			Importance     int
			Rings          int64
		}
		Store string
		More  bool
	}
	err := r.Read(ctx, "find_tasks.ps1", struct {
		Done  bool `json:"done"`
		Limit int  `json:"limit"`
	}{done, mostReminders}, &got)
	if err != nil {
		return nil, err
	}
	var warnings []string
	if got.More {
		warnings = append(warnings, fmt.Sprintf("Outlook: only the first %d tasks were read", mostReminders))
	}
	out := make([]pim.Reminder, 0, len(got.Rows))
	for _, x := range got.Rows {
		p, err := scriptapp.SanitizeReminder(pim.Reminder{Ref: itemKey{ID: x.ID, Store: got.Store}.formatRef(taskKind), Title: x.Title, Done: x.Done, Repeat: x.Repeats}, x.Day, r.zone)
		if err != nil {
			warnings = append(warnings, "Outlook: the date of a task cannot be read")
		}
		switch x.Importance {
		case highImportance:
			p.Priority = 1
		case lowImportance:
			p.Priority = 9
		}
		if rings := time.UnixMilli(x.Rings).In(r.zone); x.Rings > 0 && rings.Format(time.DateOnly) == x.Day {
			p.Due, p.AllDay = rings, false
		}
		out = append(out, p)
	}
	pim.ByDue(out)
	return out, pim.Partial(warnings...)
}

// CreateReminder implements pim.Reminders.
func (r *Reminders) CreateReminder(ctx context.Context, x pim.Reminder) (pim.Receipt, error) {
	if x.List != "" {
		return pim.Receipt{}, fmt.Errorf("in Outlook: %w: new tasks can only be created in the default list", errors.ErrUnsupported)
	}
	in := struct {
		How        string `json:"how"`
		Title      string `json:"title"`
		Notes      string `json:"notes,omitempty"`
		Importance int    `json:"importance"`
		Day        string `json:"day,omitempty"`
		At         int64  `json:"at,omitempty"`
	}{How: "create", Title: pim.SanitizeLine(x.Title, 300), Notes: pim.SanitizeText(x.Notes), Importance: normalImportance}
	switch {
	case x.Priority > 0 && x.Priority < 5:
		in.Importance = highImportance
	case x.Priority > 5:
		in.Importance = lowImportance
	}
	if !x.Due.IsZero() {
		if in.Day = x.Due.In(r.zone).Format(time.DateOnly); !x.AllDay {
			in.At = x.Due.UnixMilli()
		}
	}
	var got itemKey
	return r.Write(ctx, "write_task.ps1", in, &got, func() pim.Receipt {
		return pim.Receipt{Outcome: pim.Sent, ID: got.formatRef(taskKind), Undo: undoRecord{How: "remove", itemKey: got}.marshalUndo()}
	})
}

// CompleteReminder implements pim.Reminders.
func (r *Reminders) CompleteReminder(ctx context.Context, ref string) (pim.Receipt, error) {
	t, err := parseItemRef(taskKind, ref)
	if err != nil {
		return pim.Receipt{}, err
	}
	var got struct {
		itemKey
		Repeats bool
	}
	return r.Write(ctx, "write_task.ps1", undoRecord{How: "done", itemKey: t}, &got, func() pim.Receipt {
		out := pim.Receipt{Outcome: pim.Sent, ID: ref}
		if !got.Repeats && got.ID == t.ID { // Outlook stores the completed occurrence of a recurring task as a copy, and the original already shows the next occurrence; such a completion cannot be undone
			out.Undo = undoRecord{How: "open", itemKey: got.itemKey}.marshalUndo()
		}
		return out
	})
}

// TakeBack implements pim.Undoer.
func (r *Reminders) TakeBack(ctx context.Context, undo []byte) error {
	return undoItem(ctx, r.App, "write_task.ps1", undo)
}
