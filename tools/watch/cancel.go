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
	return cancelTool(f, "Stop watching something: delete a watcher.", "delete remove stop watching unwatch", func(in cancelWatcherIn) string { return in.Watcher })
}

type cancelScheduleIn struct {
	Schedule string `json:"schedule" jsonschema:"id or words"`
}

func (f watcherFamily) cancelSchedule() tools.Tool {
	return cancelTool(f, "Cancel a schedule: delete it.", "delete remove stop recurring job", func(in cancelScheduleIn) string { return in.Schedule })
}

func cancelTool[In any](f watcherFamily, description, keywords string, query func(In) string) tools.Tool {
	return tools.New(tools.Def[In]{
		Spec: tools.Spec{
			Name: "cancel_" + f.noun, Category: "watch", Effects: tools.Write,
			Description: description, Keywords: keywords,
		},
		Summary: func(in In) string {
			return fmt.Sprintf("Cancel the %s %q", f.noun, textnorm.Ellipsize(query(in), 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in In) (tools.Result, error) {
			return f.cancelMatching(tx, query(in))
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
		Text: fmt.Sprintf("Canceled the %s: %s.", f.noun, words), Data: watcherRow{Spec: s, Description: words}, Source: sourceOf([]watchers.Spec{s}),
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
