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

	"hob/platform/phrase"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/when"
	"hob/tools"
)

// own is the name of Hob's own reminders where a store is chosen; they fire automatically.
const own = "hob"

// Time limits for a list of the owner's apps: for a briefing, and for a call.
const (
	briefWait = 8 * time.Second
	askWait   = 40 * time.Second
)

// Errand is an item on a list of the owner's apps.
type Errand struct {
	pim.Reminder
	In string `json:"in"` // the account or app
}

// lists returns the lists of the owner's accounts and apps.
func (d Deps) lists() []pim.Reminders {
	if d.Lists == nil {
		return nil
	}
	return d.Lists()
}

// errands returns the open items of all lists, those due first coming first. It returns
// items even with an error, which names the unreadable lists.
func errands(ctx context.Context, lists []pim.Reminders, wait time.Duration) ([]Errand, error) {
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
	var out []Errand
	for i, list := range found {
		for _, r := range list {
			// An app and an account may contain the same list.
			if !slices.ContainsFunc(out, func(o Errand) bool {
				return o.In != lists[i].Name() && o.Title == r.Title && o.Due.Equal(r.Due)
			}) {
				out = append(out, Errand{r, lists[i].Name()})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Errand) int { return pim.CompareDue(a.Reminder, b.Reminder) })
	return out, tools.Unreached(failed)
}

// list resolves "home", or "home/Shopping" for one of its lists.
func (d Deps) list(in string) (l pim.Reminders, name string, err error) {
	where, name, _ := strings.Cut(strings.TrimSpace(in), "/")
	names := []string{own}
	for _, l := range d.lists() {
		if strings.EqualFold(l.Name(), strings.TrimSpace(where)) {
			return l, strings.TrimSpace(name), nil
		}
		names = append(names, l.Name())
	}
	return nil, "", tools.Errorf(tools.NotFound, "%q is not a source of reminders; available: %s", tools.Clean(phrase.Cut(where, 60)), tools.Clean(strings.Join(names, ", ")))
}

// where returns the store of a new reminder: the requested one, else the configured one. A
// repeating reminder goes to Hob's own store unless another one is requested.
func (d Deps) where(in remindIn) string {
	if strings.TrimSpace(in.In) == "" && strings.TrimSpace(in.Every) != "" {
		return own
	}
	return cmp.Or(strings.TrimSpace(in.In), d.NewIn)
}

// elsewhere reports whether arguments are for a list of the owner's apps.
func (d Deps) elsewhere(args json.RawMessage) bool {
	var in remindIn
	if json.Unmarshal(args, &in) != nil {
		return false // the schema check reports the error
	}
	where, _, _ := strings.Cut(d.where(in), "/")
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

// ofList reports whether undo data belongs to a list.
func ofList(data json.RawMessage) bool {
	var u listUndo
	return json.Unmarshal(data, &u) == nil && u.In != ""
}

func (d Deps) takeBack(ctx context.Context, data json.RawMessage) error {
	var u listUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	l, _, err := d.list(u.In)
	if err != nil {
		return err
	}
	return outside(l.TakeBack(ctx, u.Undo))
}

// outside classifies errors of the drivers. They may quote a server or an app and count as
// untrusted.
func outside(err error) error {
	if _, is := errors.AsType[*tools.Error](err); is || err == nil {
		return err
	}
	code := tools.Failed
	switch {
	case errors.Is(err, pim.ErrInvalid):
		code = tools.InvalidArguments
	case errors.Is(err, pim.ErrNotFound), errors.Is(err, pim.ErrNoFolder):
		code = tools.NotFound
	case errors.Is(err, pim.ErrChanged):
		code = tools.Conflict
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, pim.ErrNoServer):
		code = tools.Unsupported
	case errors.Is(err, context.DeadlineExceeded):
		code = tools.TimedOut
	}
	return tools.Quoting(tools.Errorf(code, "%w", err), provenance.Outside)
}

// written turns an uncertain outcome of a change into an error.
func written(r pim.Receipt, err error) error {
	if err == nil && r.Outcome == pim.Uncertain {
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "change of the list: outcome unknown (%s); Hob did not repeat it. Check the list before you retry", r.Why), provenance.Outside)
	}
	return outside(err)
}

// dueWords describes when an item is due, "" for no time.
func (e Errand) dueWords(now time.Time) string {
	words := ""
	switch {
	case e.Due.IsZero():
		return ""
	case e.AllDay:
		words = when.FormatDay(e.Due.In(now.Location()), now)
	default:
		words = when.Format(e.Due.In(now.Location()), now)
	}
	if e.Overdue(now) {
		words += ", overdue"
	}
	return words
}

// line formats an item for a list.
func (e Errand) line(now time.Time) string {
	from := e.In
	if e.List != "" && !strings.EqualFold(e.List, e.In) {
		from = phrase.Cut(e.List, 60) + " in " + e.In
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
	return phrase.Cut(e.Title, 200) + " (" + strings.Join(append(about, from), "; ") + ")"
}

// shownErrands bounds the items in an answer.
const shownErrands = 60

func errandsText(list []Errand, now time.Time) string {
	var b strings.Builder
	for _, e := range list[:min(len(list), shownErrands)] {
		b.WriteString("\n- " + e.line(now))
	}
	if n := len(list) - shownErrands; n > 0 {
		fmt.Fprintf(&b, "\n... and %d more", n)
	}
	return b.String()
}

func origins(in, via string) []provenance.Origin {
	return []provenance.Origin{{Kind: "reminders", Label: in, Via: via}}
}

// createErrand implements create_reminder for a list of the owner's apps.
func (d Deps) createErrand(spec tools.Spec) tools.Tool {
	spec.Timeout = time.Minute
	return tools.New(tools.Def[remindIn]{
		Spec: spec,
		Summary: func(in remindIn) string {
			s := fmt.Sprintf("Put %q on the list %s", phrase.Cut(in.Text, 100), phrase.Cut(d.where(in), 60))
			if in.At != "" {
				s += ", due " + phrase.Cut(in.At, 60)
			}
			return s
		},
		Run: func(ctx context.Context, c tools.Call, in remindIn) (tools.Result, error) {
			l, name, err := d.list(d.where(in))
			if err != nil {
				return tools.Result{}, err
			}
			sum := sha256.Sum256([]byte("reminder " + c.ID))
			r := pim.Reminder{UID: hex.EncodeToString(sum[:16]) + "@hob", Title: strings.TrimSpace(strings.ToValidUTF8(in.Text, "\uFFFD")), List: name}
			switch {
			case r.Title == "":
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "text is empty; describe the reminder")
			case strings.TrimSpace(in.Every) != "":
				return tools.Result{}, tools.Errorf(tools.Unsupported, "only Hob's own reminders can repeat; use in %q", tools.Clean(own))
			case strings.TrimSpace(in.At) != "":
				m, err := when.Parse(in.At, c.Now)
				if err != nil {
					return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
				}
				r.Due, r.AllDay = m.Time.In(c.Now.Location()), !m.HasClock && m.Grain >= when.Day
				if r.AllDay {
					r.Due = time.Date(r.Due.Year(), r.Due.Month(), r.Due.Day(), 0, 0, 0, 0, c.Now.Location())
				}
			}
			got, err := l.CreateReminder(ctx, r)
			if err := written(got, err); err != nil {
				return tools.Result{}, err
			}
			e := Errand{r, l.Name()}
			text := fmt.Sprintf("Put %q on the list %s", phrase.Cut(r.Title, 120), strings.Trim(l.Name()+"/"+name, "/"))
			if w := e.dueWords(c.Now); w != "" {
				text += ": " + w
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   text + ".", Data: struct {
					Outcome pim.Outcome `json:"outcome"`
					Errand
				}{got.Outcome, e},
				Undo: undoOf(fmt.Sprintf("remove %q from the list", phrase.Cut(r.Title, 80)), l.Name(), got),
			}, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			if err := d.takeBack(ctx, data); err != nil {
				return "", err
			}
			return "Removed it from the list.", nil
		},
	})
}
