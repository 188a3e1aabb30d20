package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/tools"
	"hob/watchers"
)

type remindersIn struct {
	Query string `json:"query,omitempty"`
}

// remindersOut is the Data of list_reminders.
type remindersOut struct {
	Reminders []watchers.Spec `json:"reminders"`
}

func (d Deps) listReminders() tools.Tool {
	return tools.New(tools.Def[remindersIn]{
		Spec: tools.Spec{
			Name: "list_reminders", Category: "tasks", Effects: tools.Read,
			Description: "List the reminders that are still to come.",
			Keywords:    "show reminders upcoming what did I ask to be reminded of",
		},
		Summary: func(remindersIn) string { return "List reminders" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in remindersIn) (tools.Result, error) {
			list, err := d.reminders(tx)
			if err != nil {
				return tools.Result{}, err
			}
			total := len(list)
			if in.Query = strings.TrimSpace(in.Query); in.Query != "" {
				want := phrase.Split(in.Query)
				list = slices.DeleteFunc(list, func(s watchers.Spec) bool { return !hasWords(d.Clock.Describe(s), want) })
			}
			r := tools.Result{Text: d.remindersText(in.Query, list, total, c.Now), Data: remindersOut{Reminders: list}, Source: provenance.Tool}
			if slices.ContainsFunc(list, func(s watchers.Spec) bool { return s.Provenance.Tainted() }) {
				r.Source = provenance.Outside
			}
			return r, nil
		},
	})
}

// reminders lists those that are still to come, the next one first.
func (d Deps) reminders(q store.Querier) ([]watchers.Spec, error) {
	list, err := d.Clock.ListIn(q, watchers.Filter{
		Modes: []watchers.Mode{watchers.Remind}, States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken},
	})
	if err != nil {
		return nil, classify(err)
	}
	slices.SortStableFunc(list, func(a, b watchers.Spec) int {
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
	have := phrase.Split(text)
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
		return fmt.Sprintf("No reminder is about %q.", phrase.Cut(query, 80))
	}
	var b strings.Builder
	if len(list) == 1 {
		b.WriteString("1 reminder:")
	} else {
		fmt.Fprintf(&b, "%d reminders:", len(list))
	}
	for _, s := range list {
		fmt.Fprintf(&b, "\n- %s (%s)", phrase.Cut(s.Action, 200), d.whenWords(s, now))
	}
	return b.String()
}

// whenWords words when a reminder is due.
func (d Deps) whenWords(s watchers.Spec, now time.Time) string {
	var words string
	if s.Kind != watchers.KindOneshot {
		at := s
		at.Action = ""
		words = d.Clock.Describe(at)
	}
	if !s.NextAt.IsZero() && s.State == watchers.Active {
		words = strings.TrimPrefix(words+", next "+d.Clock.NextWords(s, now), ", next ")
	}
	switch s.State {
	case watchers.Paused:
		words += ", paused"
	case watchers.Broken:
		words += ", not working: " + phrase.Cut(s.LastError, 100)
	}
	return strings.TrimPrefix(words, ", ")
}
