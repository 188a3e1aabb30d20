package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// own is the name that selects Hob's store of reminders. Reminders in it fire automatically.
const own = "hob"

// Time limits for reading a list of the owner's apps, in a briefing and in a call.
const (
	briefWait = 8 * time.Second
	askWait   = 40 * time.Second
)

// ListItem is an item on a list of the owner's apps.
type ListItem struct {
	pim.Reminder
	In string `json:"in"` // name of the account or app
}

// reminderLists returns the lists of the owner's accounts and apps.
func (d Deps) reminderLists() []pim.Reminders {
	if d.Lists == nil {
		return nil
	}
	return d.Lists()
}

// readListItems returns the open items of all lists in order of their due time. It returns items
// even with an error; the error names the unreadable lists.
func readListItems(ctx context.Context, lists []pim.Reminders, wait time.Duration) ([]ListItem, error) {
	found, failed := make([][]pim.Reminder, len(lists)), make([]error, len(lists))
	var wg sync.WaitGroup
	for i, l := range lists {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			found[i], failed[i] = l.FindReminders(ctx, false)
			if failed[i] != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				failed[i] = fmt.Errorf("%s: no response within %s", l.Name(), wait)
			}
		})
	}
	wg.Wait()
	var out []ListItem
	for i, list := range found {
		for _, r := range list {
			// an account and an app may contain the same list
			if !slices.ContainsFunc(out, func(o ListItem) bool {
				return o.In != lists[i].Name() && o.Title == r.Title && o.Due.Equal(r.Due)
			}) {
				out = append(out, ListItem{r, lists[i].Name()})
			}
		}
	}
	sorting.StableByFunc(out, func(a, b ListItem) int { return pim.CompareDue(a.Reminder, b.Reminder) })
	return out, tools.JoinSourceErrors(failed)
}

// resolveList finds a list by the name of its source ("home"), or by the names of its source and
// the list ("home/Shopping").
func (d Deps) resolveList(in string) (l pim.Reminders, name string, err error) {
	where, name, _ := strings.Cut(strings.TrimSpace(in), "/")
	names := []string{own}
	for _, l := range d.reminderLists() {
		if strings.EqualFold(l.Name(), strings.TrimSpace(where)) {
			return l, strings.TrimSpace(name), nil
		}
		names = append(names, l.Name())
	}
	return nil, "", tools.Errorf(tools.NotFound, "%q is not a source of reminders; available: %s", tools.Clean(textnorm.Ellipsize(where, 60)), tools.Clean(strings.Join(names, ", ")))
}

// reminderTarget returns the store for a new reminder: the requested one, or the configured one. A
// repeating reminder goes to Hob's own store unless the request names another store.
func (d Deps) reminderTarget(in remindIn) string {
	if strings.TrimSpace(in.In) == "" && strings.TrimSpace(in.Every) != "" {
		return own
	}
	return cmp.Or(strings.TrimSpace(in.In), d.NewIn)
}

// isForApp reports whether args select a list of the owner's apps.
func (d Deps) isForApp(args json.RawMessage) bool {
	var in remindIn
	if json.Unmarshal(args, &in) != nil {
		return false // the schema check reports the error
	}
	where, _, _ := strings.Cut(d.reminderTarget(in), "/")
	return where != "" && !strings.EqualFold(strings.TrimSpace(where), own)
}

// listUndo is the undo data of a list change.
type listUndo struct {
	In   string `json:"in"`
	Undo []byte `json:"undo"`
}

func undoOf(label, in string, r pim.Receipt) *tools.Undo {
	if len(r.Undo) == 0 {
		return nil
	}
	return tools.NewUndo(label, listUndo{in, r.Undo})
}

// ofList reports whether undo data describes a change of a list.
func ofList(data json.RawMessage) bool {
	var u listUndo
	return json.Unmarshal(data, &u) == nil && u.In != ""
}

func (d Deps) takeBack(ctx context.Context, data json.RawMessage) error {
	var u listUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	l, _, err := d.resolveList(u.In)
	if err != nil {
		return err
	}
	return tools.ClassifyPIM(l.TakeBack(ctx, u.Undo))
}

// checkReceipt turns an uncertain outcome of a change into an error.
func checkReceipt(r pim.Receipt, err error) error {
	if err == nil && r.Outcome == pim.Uncertain {
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "change to the list: outcome unknown (%s); Hob did not repeat it. Check the list before you retry", r.Why), provenance.Outside)
	}
	return tools.ClassifyPIM(err)
}

// dueWords describes when an item is due. It returns "" if the item has no due time.
func (e ListItem) dueWords(now time.Time) string {
	words := ""
	switch {
	case e.Due.IsZero():
		return ""
	case e.AllDay:
		words = dateparse.FormatDay(e.Due.In(now.Location()), now)
	default:
		words = dateparse.Format(e.Due.In(now.Location()), now)
	}
	if e.Overdue(now) {
		words += ", overdue"
	}
	return words
}

// itemLine formats an item for a list.
func (e ListItem) itemLine(now time.Time) string {
	from := e.In
	if e.List != "" && !strings.EqualFold(e.List, e.In) {
		from = textnorm.Ellipsize(e.List, 60) + " in " + e.In
	}
	var about []string
	if w := e.dueWords(now); w != "" {
		about = append(about, w)
	}
	if e.Priority > 0 && e.Priority < 5 {
		about = append(about, "high priority")
	}
	if e.Repeat {
		about = append(about, "repeats")
	}
	return textnorm.Ellipsize(e.Title, 200) + " (" + strings.Join(append(about, from), "; ") + ")"
}

// shownErrands limits the items in one answer.
const shownErrands = 60

func errandsText(list []ListItem, now time.Time) string {
	var b strings.Builder
	for _, e := range list[:min(len(list), shownErrands)] {
		b.WriteString("\n- " + e.itemLine(now))
	}
	if n := len(list) - shownErrands; n > 0 {
		fmt.Fprintf(&b, "\n... and %d more", n)
	}
	return b.String()
}

func reminderOrigins(in, via string) []provenance.Origin {
	return []provenance.Origin{{Kind: "reminders", Label: in, Via: via}}
}

// createErrand implements create_reminder for a list of the owner's apps.
func (d Deps) createErrand(spec tools.Spec) tools.Tool {
	spec.Timeout = time.Minute
	return tools.New(tools.Def[remindIn]{
		Spec: spec,
		Summary: func(in remindIn) string {
			s := fmt.Sprintf("Add %q to the list %s", textnorm.Ellipsize(in.Text, 100), textnorm.Ellipsize(d.reminderTarget(in), 60))
			if in.At != "" {
				s += ", due " + textnorm.Ellipsize(in.At, 60)
			}
			return s
		},
		Run: func(ctx context.Context, c tools.Call, in remindIn) (tools.Result, error) {
			l, name, err := d.resolveList(d.reminderTarget(in))
			if err != nil {
				return tools.Result{}, err
			}
			sum := sha256.Sum256([]byte("reminder " + c.ID))
			r := pim.Reminder{UID: hex.EncodeToString(sum[:16]) + "@hob", Title: strings.TrimSpace(strings.ToValidUTF8(in.Text, "\uFFFD")), List: name}
			priority, err := priorityField(in.Priority)
			r.Priority = map[string]int{"critical": 1, "high": 3, "medium": 5, "low": 9}[priority] // RFC 5545, 3.8.1.9
			switch {
			case err != nil:
				return tools.Result{}, err
			case r.Title == "":
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "text is empty; describe the reminder")
			case strings.TrimSpace(in.Every) != "":
				return tools.Result{}, tools.Errorf(tools.Unsupported, "only Hob's own reminders can repeat; set in to %q", tools.Clean(own))
			case strings.TrimSpace(in.At) != "":
				m, err := dateparse.Parse(in.At, c.Now)
				if err != nil {
					return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
				}
				r.Due, r.AllDay = m.Time.In(c.Now.Location()), !m.HasClock && m.Grain >= dateparse.Day
				if r.AllDay {
					r.Due = time.Date(r.Due.Year(), r.Due.Month(), r.Due.Day(), 0, 0, 0, 0, c.Now.Location())
				}
			}
			got, err := l.CreateReminder(ctx, r)
			if err := checkReceipt(got, err); err != nil {
				return tools.Result{}, err
			}
			e := ListItem{r, l.Name()}
			text := fmt.Sprintf("Added %q to the list %s", textnorm.Ellipsize(r.Title, 120), strings.Trim(l.Name()+"/"+name, "/"))
			if w := e.dueWords(c.Now); w != "" {
				text += ": " + w
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   text + ".", Data: struct {
					Outcome pim.Outcome `json:"outcome"`
					ListItem
				}{got.Outcome, e},
				Undo: undoOf(fmt.Sprintf("remove %q from the list", textnorm.Ellipsize(r.Title, 80)), l.Name(), got),
			}, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			if err := d.takeBack(ctx, data); err != nil {
				return "", err
			}
			return "Removed the item from the list.", nil
		},
	})
}
