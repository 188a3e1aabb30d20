package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type updateWatcherIn struct {
	Watcher string `json:"watcher,omitempty" jsonschema:"id or words; empty: the newest"`
	Hours   string `json:"active_hours,omitempty" jsonschema:"mon-fri 08:00-18:00, or always"`
	Every   string `json:"every,omitempty" jsonschema:"30m; always: the default"`
	PerDay  int    `json:"per_day,omitempty" jsonschema:"-1: no limit"`
}

// paceUndo is the undo data of update_watcher.
type paceUndo struct {
	ID     string              `json:"id"`
	Before watchers.PollPolicy `json:"before"`
	After  watchers.PollPolicy `json:"after"`
}

func (f watcherFamily) updateWatcher() tools.Tool {
	return tools.New(tools.Def[updateWatcherIn]{
		Spec: tools.Spec{
			Name: "update_watcher", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Change when and how often a watcher checks and notifies.",
			Keywords:    "only weekdays hours limit at most times a day interval frequency edit restrict",
		},
		Summary: func(in updateWatcherIn) string {
			p := watchers.PollPolicy{Every: in.Every, Hours: in.Hours, PerDay: in.PerDay}
			raw, _ := json.Marshal(p)
			return fmt.Sprintf("Change the watcher %q: %s", textnorm.Ellipsize(in.Watcher, 100), textnorm.Ellipsize(string(raw), 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in updateWatcherIn) (tools.Result, error) {
			return f.changePace(tx, in)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoUpdate(tx, data)
		},
	})
}

func (f watcherFamily) changePace(tx *store.Tx, in updateWatcherIn) (tools.Result, error) {
	change := watchers.PollPolicy{Every: strings.TrimSpace(in.Every), Hours: strings.TrimSpace(in.Hours), PerDay: in.PerDay}
	if change == (watchers.PollPolicy{}) {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "give at least one change: active_hours, every or per_day")
	}
	s, err := f.findTarget(tx, in.Watcher)
	if err != nil {
		return tools.Result{}, err
	}
	before, after, err := f.m.SetPaceTx(tx, s.ID, change)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	words := f.m.Describe(after)
	return tools.Result{
		Text: "Changed the watcher: " + words + ".", Data: watcherRow{Spec: after, Description: words}, Source: sourceOf([]watchers.Spec{after}),
		Undo: tools.NewUndo("change the watcher back: "+f.m.Describe(before), paceUndo{ID: s.ID, Before: before.PollPolicy, After: after.PollPolicy}),
	}, nil
}

// findTarget returns the watcher that query names, or the newest one if query is empty.
func (f watcherFamily) findTarget(tx *store.Tx, query string) (watchers.Spec, error) {
	if query != "" {
		return f.findWatcher(tx, query)
	}
	list, err := f.livingMembers(tx)
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

func (f watcherFamily) undoUpdate(tx *store.Tx, data json.RawMessage) (string, error) {
	u, err := decodeUndo[paceUndo](data)
	if err != nil {
		return "", err
	}
	list, err := f.livingMembers(tx)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		switch {
		case s.ID != u.ID:
			continue
		case s.PollPolicy != u.After:
			return "", tools.Errorf(tools.Conflict, "the watcher has changed")
		}
		if s, err = f.m.RestorePaceTx(tx, u.ID, u.Before); err != nil {
			return "", classifyError(err)
		}
		return "Restored the watcher: " + f.m.Describe(s) + ".", nil
	}
	return "", tools.Errorf(tools.NotFound, "the watcher was canceled")
}
