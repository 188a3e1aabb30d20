package outlook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scripterr"
)

// runner runs the scripts of one family of items.
type runner struct{ run osrun.Runner }

func (r runner) runScript(ctx context.Context, s osrun.Script, in, out any, write bool) error {
	return r.run.Run(ctx, osrun.Call{Script: s, App: outlookApp(), In: in, Write: write, Wait: bulk}, out)
}

// thing is the script argument that identifies one version of an item.
type thing struct {
	ID      string `json:"id,omitempty"`
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
}

func (t thing) formatRef(kind string) string { return name + "/" + kind + "/" + t.ID + "/" + t.Store }

// thingOf reads the name of an item: outlook/KIND/entry/store, both hexadecimal.
func thingOf(kind, ref string) (thing, error) {
	rest, is := strings.CutPrefix(ref, name+"/"+kind+"/")
	id, store, ok := strings.Cut(rest, "/")
	odd := func(r rune) bool { return !strings.ContainsRune("0123456789ABCDEFabcdef", r) }
	if !is || !ok || id == "" || strings.ContainsFunc(id+store, odd) {
		return thing{}, fmt.Errorf("in Outlook: %w: no %s %q", pim.ErrNotFound, kind, pim.SanitizeLine(ref, 100))
	}
	return thing{ID: id, Store: store}, nil
}

// back is the undo record of a write; How names the operation.
type back struct {
	How string `json:"how"`
	thing
	Set *change `json:"set,omitempty"`
}

func (b back) marshalUndo() []byte {
	out, err := json.Marshal(b)
	if err != nil || b.ID == "" {
		return nil
	}
	return out
}

func backOf(undo []byte) (back, error) {
	var b back
	if err := json.Unmarshal(undo, &b); err != nil {
		return b, fmt.Errorf("%w: invalid undo record: %w", pim.ErrInvalid, err)
	}
	return b, nil
}

// Reminders are the tasks of Outlook.
type Reminders struct {
	runner
	zone *time.Location
}

// NewReminders returns Reminders that run their scripts with r; zone defines
// where days begin.
func NewReminders(r osrun.Runner, zone *time.Location) *Reminders {
	if zone == nil {
		zone = time.UTC
	}
	return &Reminders{runner{r}, zone}
}

// Name implements pim.Driver.
func (*Reminders) Name() string { return name }

const (
	task          = "task"
	mostReminders = 1000
)

// The importance of a task (OlImportance) by its iCalendar priority.
const (
	low = iota
	usual
	high
)

// FindReminders implements pim.Reminders. A task is due on a day; it has a time when it
// rings on that day.
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
	err := r.runScript(ctx, loadScript("find_tasks.ps1"), struct {
		Done  bool `json:"done"`
		Limit int  `json:"limit"`
	}{done, mostReminders}, &got, false)
	if err != nil {
		return nil, scripterr.Read(err)
	}
	var warnings []string
	if got.More {
		warnings = append(warnings, fmt.Sprintf("Outlook: read only the first %d tasks", mostReminders))
	}
	out := make([]pim.Reminder, 0, len(got.Rows))
	for _, x := range got.Rows {
		p := pim.Reminder{Ref: thing{ID: x.ID, Store: got.Store}.formatRef(task), Title: pim.SanitizeLine(x.Title, 300), Done: x.Done, Repeat: x.Repeats}
		switch x.Importance {
		case high:
			p.Priority = 1
		case low:
			p.Priority = 9
		}
		if x.Day != "" {
			day, err := time.ParseInLocation(time.DateOnly, x.Day, r.zone)
			if err != nil {
				warnings = append(warnings, "Outlook: the date of a task cannot be read")
			} else {
				p.Due, p.AllDay = day, true
			}
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
	}{How: "create", Title: pim.SanitizeLine(x.Title, 300), Notes: pim.SanitizeText(x.Notes), Importance: usual}
	switch {
	case x.Priority > 0 && x.Priority < 5:
		in.Importance = high
	case x.Priority > 5:
		in.Importance = low
	}
	if !x.Due.IsZero() {
		if in.Day = x.Due.In(r.zone).Format(time.DateOnly); !x.AllDay {
			in.At = x.Due.UnixMilli()
		}
	}
	var got thing
	err := r.runScript(ctx, loadScript("write_task.ps1"), in, &got, true)
	return scripterr.Write(pim.Receipt{Outcome: pim.Sent, ID: got.formatRef(task), Undo: back{How: "remove", thing: got}.marshalUndo()}, err)
}

// CompleteReminder implements pim.Reminders.
func (r *Reminders) CompleteReminder(ctx context.Context, ref string) (pim.Receipt, error) {
	t, err := thingOf(task, ref)
	if err != nil {
		return pim.Receipt{}, err
	}
	var got struct {
		thing
		Repeats bool
	}
	err = r.runScript(ctx, loadScript("write_task.ps1"), back{How: "done", thing: t}, &got, true)
	out := pim.Receipt{Outcome: pim.Sent, ID: ref}
	if err == nil && !got.Repeats && got.ID == t.ID { // a recurring task already shows its next occurrence; the completed one is a copy
		out.Undo = back{How: "open", thing: got.thing}.marshalUndo()
	}
	return scripterr.Write(out, err)
}

// TakeBack implements pim.Undoer.
func (r *Reminders) TakeBack(ctx context.Context, undo []byte) error {
	b, err := backOf(undo)
	if err != nil {
		return err
	}
	return scripterr.Read(r.runScript(ctx, loadScript("write_task.ps1"), b, nil, true))
}
