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

type pauseWatcherIn struct {
	Watcher string `json:"watcher" jsonschema:"id or words"`
	Resume  bool   `json:"resume,omitempty" jsonschema:"resume instead"`
}

// pauseUndo is the undo data of pausing and resuming.
type pauseUndo struct {
	ID     string         `json:"id"`
	Before watchers.State `json:"before"`
	After  watchers.State `json:"after"`
}

func (f watcherFamily) pauseWatcher() tools.Tool {
	return tools.New(tools.Def[pauseWatcherIn]{
		Spec: tools.Spec{
			Name: "pause_watcher", Category: "watch", Effects: tools.Write,
			Description: "Pause or resume a watcher.",
			Keywords:    "resume suspend disable enable mute watching",
		},
		Summary: func(in pauseWatcherIn) string {
			return chooseVerb(in.Resume, "Resume", "Pause") + fmt.Sprintf(" the watcher %q", textnorm.Ellipsize(in.Watcher, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in pauseWatcherIn) (tools.Result, error) {
			return f.setPaused(tx, c, in.Watcher, in.Resume)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoPause(tx, data)
		},
	})
}

func chooseVerb(resume bool, yes, no string) string {
	if resume {
		return yes
	}
	return no
}

func (f watcherFamily) setPaused(tx *store.Tx, c tools.Call, query string, resume bool) (tools.Result, error) {
	s, err := f.findWatcher(tx, query)
	if err != nil {
		return tools.Result{}, err
	}
	want := watchers.Paused
	if resume {
		want = watchers.Active
	}
	words := f.m.Describe(s)
	if s.State == want {
		return tools.Result{Text: fmt.Sprintf("The %s is already %s: %s.", f.noun, want, words), Data: f.newRow(s), Source: sourceOf([]watchers.Spec{s})}, nil
	}
	u := pauseUndo{ID: s.ID, Before: s.State, After: want}
	if s, err = f.m.SetStateTx(tx, s.ID, want); err != nil {
		return tools.Result{}, classifyError(err)
	}
	text := fmt.Sprintf("%s the %s: %s.", chooseVerb(resume, "Resumed", "Paused"), f.noun, words)
	if resume && !s.NextAt.IsZero() {
		text += " Next: " + f.m.NextWords(s, c.Now) + "."
	}
	return tools.Result{
		Text: text, Data: f.newRow(s), Source: sourceOf([]watchers.Spec{s}),
		Undo: tools.NewUndo(fmt.Sprintf("%s the %s: %s", chooseVerb(resume, "pause", "resume"), f.noun, words), u),
	}, nil
}

func (f watcherFamily) undoPause(tx *store.Tx, data json.RawMessage) (string, error) {
	u, err := decodeUndo[pauseUndo](data)
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
		case s.State != u.After:
			return "", tools.Errorf(tools.Conflict, "the %s is %s now", tools.Clean(f.noun), tools.Clean(s.State))
		}
		back := u.Before
		if back != watchers.Paused {
			back = watchers.Active
		}
		if s, err = f.m.SetStateTx(tx, u.ID, back); err != nil {
			if errors.Is(err, watchers.ErrInvalid) {
				return "", tools.Errorf(tools.Conflict, "%w", tools.CleanErr(err))
			}
			return "", classifyError(err)
		}
		return fmt.Sprintf("The %s is %s again: %s.", f.noun, s.State, f.m.Describe(s)), nil
	}
	return "", tools.Errorf(tools.NotFound, "the %s was canceled", tools.Clean(f.noun))
}
