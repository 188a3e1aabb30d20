package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type cancelWatcherIn struct {
	Watcher string `json:"watcher" jsonschema:"id or words"`
}

func (f watcherFamily) cancelWatcher() tools.Tool {
	return tools.New(tools.Def[cancelWatcherIn]{
		Spec: tools.Spec{
			Name: "cancel_watcher", Category: "watch", Effects: tools.Write,
			Description: "Stop watching something for good.",
			Keywords:    "delete remove stop watching unwatch",
		},
		Summary: func(in cancelWatcherIn) string {
			return fmt.Sprintf("Cancel the watcher %q", textnorm.Ellipsize(in.Watcher, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in cancelWatcherIn) (tools.Result, error) {
			return f.cancelMatching(tx, in.Watcher)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCancel(tx, data)
		},
	})
}

func (f watcherFamily) cancelMatching(tx *store.Tx, query string) (tools.Result, error) {
	s, err := f.findWatcher(tx, query)
	if err != nil {
		return tools.Result{}, err
	}
	if s, err = f.m.CancelTx(tx, s.ID); err != nil {
		return tools.Result{}, classifyError(err)
	}
	words := f.m.Describe(s)
	return tools.Result{
		Text: fmt.Sprintf("Cancelled the %s: %s.", f.noun, words), Data: watcherRow{Spec: s, Description: words}, Source: sourceOf([]watchers.Spec{s}),
		Undo: tools.NewUndo(fmt.Sprintf("restore the %s: %s", f.noun, words), s),
	}, nil
}

func (f watcherFamily) undoCancel(tx *store.Tx, data json.RawMessage) (string, error) {
	s, err := decodeUndo[watchers.Spec](data)
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
