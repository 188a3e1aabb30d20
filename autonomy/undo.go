package autonomy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/tools"
)

// Undo takes back the action of the given call, or (id "") the last ones,
// newest first. It stops at the first that cannot be taken back and says so. The
// text of an action that outside text had a part in is outside text again.
func (l *Loop) Undo(ctx context.Context, id string, last int) (tools.Result, error) {
	list, err := l.undoable(ctx, id, max(1, last))
	if err != nil {
		return tools.Result{}, err
	}
	if len(list) == 0 {
		return tools.Result{Text: "There is nothing to undo."}, nil
	}
	var done []string
	src := provenance.Tool
	for _, e := range list {
		text, err := l.undo(ctx, e)
		src = provenance.Worst(src, e.Source)
		if err != nil {
			text = fmt.Sprintf("I could not %s: %v", e.UndoLabel, err)
			if id == "" && tools.CodeOf(err) == tools.Conflict { // stepping over it would undo what nobody meant
				text += "; earlier actions are in `hob undo --list`, and /undo ID takes one of them back"
			}
			if len(done) == 0 {
				return tools.Result{}, tools.Quoting(tools.Errorf(tools.CodeOf(err), "%s", text), src, tools.SourceOf(err))
			}
			done = append(done, text)
			break
		}
		done = append(done, text)
	}
	return tools.Result{Text: strings.Join(done, "\n"), Source: src}, nil
}

func (l *Loop) undoable(ctx context.Context, id string, last int) ([]bus.Entry, error) {
	if id == "" {
		return l.o.Bus.Undoable(ctx, last)
	}
	e, err := l.o.Bus.Call(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case !e.UndoneAt.IsZero():
		return nil, fmt.Errorf("%s was already undone", id)
	case e.Undo == nil || e.State != bus.CallDone:
		return nil, fmt.Errorf("%s (%s) cannot be undone", id, e.Tool)
	}
	return []bus.Entry{e}, nil
}

func (l *Loop) undo(ctx context.Context, e bus.Entry) (text string, err error) {
	t, ok := l.o.Catalogue.Get(e.Tool)
	if !ok {
		return "", fmt.Errorf("the tool %s is not there any more", e.Tool)
	}
	u, ok := t.(tools.Undoer)
	if !ok || !u.CanUndo() {
		return "", fmt.Errorf("%s cannot be undone", e.Tool)
	}
	own := t.Spec().Own
	if !own {
		if text, err = u.Undo(ctx, e.Undo); err != nil {
			return "", err
		}
	}
	err = l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		first, err := l.o.Bus.UndoneTx(tx, e.Call)
		if err != nil {
			return err
		}
		if !first {
			return errors.New("it was undone at this very moment from elsewhere")
		}
		if own {
			if text, err = u.UndoTx(ctx, tx, e.Undo); err != nil {
				return err
			}
		}
		return l.o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "undo", Event: e.Event, Session: e.Session, Origin: "undo", Tool: e.Tool, Call: e.Call, Verdict: "allow", Outcome: "done"})
	})
	return text, err
}
