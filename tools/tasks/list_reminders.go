package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type remindersIn struct {
	Query string `json:"query,omitempty"`
	In    string `json:"in,omitempty" jsonschema:"only these: hob, or an app or account"`
}

// remindersOut is the Data of list_reminders.
type remindersOut struct {
	Reminders []watchers.Spec `json:"reminders"`
	Lists     []ListItem      `json:"lists,omitempty"` // items of the owner's accounts and apps
	Error     string          `json:"error,omitempty"` // sources that could not be read
}

func (d Deps) listReminders() tools.Tool {
	return tools.New(tools.Def[remindersIn]{
		Spec: tools.Spec{
			Name: "list_reminders", Category: "tasks", Effects: tools.Read, Timeout: time.Minute,
			Description: "List upcoming reminders, and the open items on the lists in the user's apps and accounts.",
			Keywords:    "show reminders upcoming what did I ask to be reminded of to-do todo list shopping list errands",
		},
		Summary: func(remindersIn) string { return "List reminders" },
		Run:     d.runListReminders,
	})
}

func (d Deps) runListReminders(ctx context.Context, c tools.Call, in remindersIn) (tools.Result, error) {
	in.Query, in.In = strings.TrimSpace(in.Query), strings.TrimSpace(in.In)
	want := textnorm.FoldedWords(in.Query)
	r := tools.Result{Source: provenance.Tool}
	out := remindersOut{Reminders: []watchers.Spec{}}
	var parts []string
	if in.In == "" || strings.EqualFold(in.In, own) {
		list, err := d.pendingReminders(d.Store.Reader(ctx))
		if err != nil {
			return tools.Result{}, err
		}
		total := len(list)
		if in.Query != "" {
			list = slices.DeleteFunc(list, func(s watchers.Spec) bool { return !hasWords(d.Clock.Describe(s), want) })
		}
		out.Reminders, parts = list, append(parts, d.remindersText(in.Query, list, total, c.Now))
		if provenance.Worst(append(specSources(list), r.Source)...).Tainted() {
			r.Source = provenance.Outside
		}
	}
	lists, name := d.reminderLists(), ""
	switch {
	case strings.EqualFold(in.In, own):
		lists = nil
	case in.In != "":
		l, of, err := d.resolveList(in.In)
		if err != nil {
			return tools.Result{}, err
		}
		lists, name = []pim.Reminders{l}, of
	}
	if len(lists) > 0 {
		found, err := readListItems(ctx, lists, askWait)
		found = slices.DeleteFunc(found, func(e ListItem) bool {
			return in.Query != "" && !hasWords(e.Title+" "+e.Notes+" "+e.List, want) || name != "" && !strings.EqualFold(e.List, name)
		})
		if err != nil && len(found) == 0 && in.In != "" {
			return tools.Result{}, err
		}
		out.Lists = found
		parts = append(parts, listsText(in.Query, found, lists, err, c.Now))
		if err != nil {
			out.Error = err.Error()
		}
		if len(found) > 0 || err != nil {
			r.Source = provenance.Outside
		}
		for _, l := range lists {
			r.Origins = append(r.Origins, reminderOrigins(l.Name(), "list_reminders")...)
		}
		if len(out.Reminders) == 0 && len(found) > 0 && in.In == "" { // "no reminders" would be wrong because list items were found
			parts = parts[1:]
		}
	}
	r.Text, r.Data = strings.Join(parts, "\n\n"), out
	return r, nil
}

// listsText formats the items of the lists and names the unreadable ones.
func listsText(query string, found []ListItem, lists []pim.Reminders, err error, now time.Time) string {
	var names []string
	for _, l := range lists {
		names = append(names, l.Name())
	}
	of := strings.Join(names, ", ")
	text := "To do, on the lists of " + of + ":" + errandsText(found, now)
	switch {
	case len(found) == 0 && err != nil:
		text = ""
	case len(found) == 0 && query != "":
		text = fmt.Sprintf("Nothing that matches %q is on the lists of %s.", textnorm.Ellipsize(query, 80), of)
	case len(found) == 0:
		text = "Nothing is open on the lists of " + of + "."
	}
	if err != nil {
		text += "\n\nSome sources could not be read: " + err.Error()
	}
	return strings.TrimSpace(text)
}

// pendingReminders returns the pending reminders, the next one first.
func (d Deps) pendingReminders(q store.Querier) ([]watchers.Spec, error) {
	list, err := d.Clock.ListIn(q, watchers.Filter{
		Modes: []watchers.Mode{watchers.Remind}, States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken},
	})
	if err != nil {
		return nil, classifyError(err)
	}
	sorting.StableByFunc(list, func(a, b watchers.Spec) int {
		return cmp.Or(a.NextAt.Compare(b.NextAt), strings.Compare(a.ID, b.ID))
	})
	return append([]watchers.Spec{}, list...), nil
}

func specSources(list []watchers.Spec) []provenance.Source {
	out := make([]provenance.Source, len(list))
	for i, s := range list {
		out[i] = s.Provenance
	}
	return out
}

func hasWords(text string, want []string) bool {
	have := textnorm.FoldedWords(text)
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return h == w || (len(w) > 2 && strings.HasPrefix(h, w)) }) {
			return false
		}
	}
	return true
}

func (d Deps) remindersText(query string, list []watchers.Spec, total int, now time.Time) string {
	switch {
	case total == 0:
		return "There are no reminders."
	case len(list) == 0:
		return fmt.Sprintf("No reminder matches %q.", textnorm.Ellipsize(query, 80))
	}
	var b strings.Builder
	if len(list) == 1 {
		b.WriteString("1 reminder:")
	} else {
		fmt.Fprintf(&b, "%d reminders:", len(list))
	}
	for _, s := range list {
		fmt.Fprintf(&b, "\n- %s (%s)", textnorm.Ellipsize(s.Action, 200), d.whenWords(s, now))
	}
	return b.String()
}

// whenWords describes when a reminder is due.
func (d Deps) whenWords(s watchers.Spec, now time.Time) string {
	var words string
	if s.Kind != watchers.KindOneshot {
		at := s
		at.Action = ""
		words = d.Clock.Describe(at)
	} else {
		words = s.PriorityWords()
	}
	if !s.NextAt.IsZero() && s.State == watchers.Active {
		words = strings.TrimPrefix(words+", next "+d.Clock.NextWords(s, now), ", next ")
	}
	switch s.State {
	case watchers.Paused:
		words += ", paused"
	case watchers.Broken:
		words += ", not working: " + textnorm.Ellipsize(s.LastError, 100)
	}
	return strings.TrimPrefix(words, ", ")
}
