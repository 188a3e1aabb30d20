package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/tools"
	"hob/watchers"
)

type updateWatcherIn struct {
	Watcher string `json:"watcher,omitempty" jsonschema:"id or words; empty: the newest"`
	Hours   string `json:"active_hours,omitempty" jsonschema:"mon-fri 08:00-18:00; always"`
	Every   string `json:"every,omitempty" jsonschema:"30m; always: as usual"`
	PerDay  int    `json:"per_day,omitempty" jsonschema:"-1: any number"`
}

// repaced is the undo data of update_watcher.
type repaced struct {
	ID     string        `json:"id"`
	Before watchers.Pace `json:"before"`
	After  watchers.Pace `json:"after"`
}

func (f family) updateWatcher() tools.Tool {
	return tools.New(tools.Def[updateWatcherIn]{
		Spec: tools.Spec{
			Name: "update_watcher", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Change when and how often a watcher works.",
			Keywords:    "only weekdays hours limit at most times a day interval frequency edit restrict",
		},
		Summary: func(in updateWatcherIn) string {
			p := watchers.Pace{Every: in.Every, Hours: in.Hours, PerDay: in.PerDay}
			raw, _ := json.Marshal(p)
			return fmt.Sprintf("Change the watcher %q: %s", phrase.Cut(in.Watcher, 100), phrase.Cut(string(raw), 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in updateWatcherIn) (tools.Result, error) {
			return f.update(tx, in)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoUpdate(tx, data)
		},
	})
}

func (f family) update(tx *store.Tx, in updateWatcherIn) (tools.Result, error) {
	change := watchers.Pace{Every: strings.TrimSpace(in.Every), Hours: strings.TrimSpace(in.Hours), PerDay: in.PerDay}
	if change == (watchers.Pace{}) {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "give at least one change: active_hours, every or per_day")
	}
	s, err := f.meant(tx, in.Watcher)
	if err != nil {
		return tools.Result{}, err
	}
	before, after, err := f.m.SetPaceTx(tx, s.ID, change)
	if err != nil {
		return tools.Result{}, classify(err)
	}
	words := f.m.Describe(after)
	return tools.Result{
		Text: "Changed the watcher: " + words + ".", Data: row{Spec: after, Description: words}, Source: sourceOf([]watchers.Spec{after}),
		Undo: tools.NewUndo("change the watcher back: "+f.m.Describe(before), repaced{ID: s.ID, Before: before.Pace, After: after.Pace}),
	}, nil
}

// meant returns the named watcher, or the newest.
func (f family) meant(tx *store.Tx, query string) (watchers.Spec, error) {
	if query != "" {
		return f.pick(tx, query)
	}
	list, err := f.list(tx)
	if err != nil || len(list) == 0 {
		if err == nil {
			err = tools.Errorf(tools.NotFound, "no watcher exists")
		}
		return watchers.Spec{}, err
	}
	newest := list[0]
	for _, s := range list {
		if s.CreatedAt.Sub(newest.CreatedAt) > time.Duration(0) {
			newest = s
		}
	}
	return newest, nil
}

func (f family) undoUpdate(tx *store.Tx, data json.RawMessage) (string, error) {
	u, err := decode[repaced](data)
	if err != nil {
		return "", err
	}
	list, err := f.list(tx)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		switch {
		case s.ID != u.ID:
			continue
		case s.Pace != u.After:
			return "", tools.Errorf(tools.Conflict, "the watcher has changed")
		}
		if s, err = f.m.RestorePaceTx(tx, u.ID, u.Before); err != nil {
			return "", classify(err)
		}
		return "Restored the watcher: " + f.m.Describe(s) + ".", nil
	}
	return "", tools.Errorf(tools.Conflict, "the watcher was cancelled")
}
