package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/tools"
	"hob/watchers"
)

type cancelWatcherIn struct {
	Watcher string `json:"watcher" jsonschema:"id or words"`
}

func (f family) cancelWatcher() tools.Tool {
	return tools.New(tools.Def[cancelWatcherIn]{
		Spec: tools.Spec{
			Name: "cancel_watcher", Category: "watch", Effects: tools.Write,
			Description: "Stop watching something for good.",
			Keywords:    "delete remove stop watching unwatch",
		},
		Summary: func(in cancelWatcherIn) string {
			return fmt.Sprintf("Cancel the watcher %q", phrase.Cut(in.Watcher, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in cancelWatcherIn) (tools.Result, error) {
			return f.cancel(tx, in.Watcher)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCancel(tx, data)
		},
	})
}

func (f family) cancel(tx *store.Tx, query string) (tools.Result, error) {
	s, err := f.pick(tx, query)
	if err != nil {
		return tools.Result{}, err
	}
	if s, err = f.m.CancelTx(tx, s.ID); err != nil {
		return tools.Result{}, classify(err)
	}
	words := f.m.Describe(s)
	return tools.Result{
		Text: fmt.Sprintf("Cancelled the %s: %s.", f.noun, words), Data: row{Spec: s, Description: words}, Source: sourceOf([]watchers.Spec{s}),
		Undo: tools.NewUndo(fmt.Sprintf("restore the %s: %s", f.noun, words), s),
	}, nil
}

func (f family) undoCancel(tx *store.Tx, data json.RawMessage) (string, error) {
	s, err := decode[watchers.Spec](data)
	if err != nil {
		return "", err
	}
	if err := f.m.RestoreTx(tx, s); err != nil {
		if errors.Is(err, watchers.ErrInvalid) {
			return "", tools.Errorf(tools.Conflict, "the %s cannot be restored: %w", tools.Clean(f.noun), err)
		}
		return "", err
	}
	return fmt.Sprintf("Restored the %s: %s.", f.noun, f.m.Describe(s)), nil
}
