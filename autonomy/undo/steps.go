package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Undoable lists the actions that a request would undo, in the order in which it would undo them. It
// lists none if the last action cannot be undone, and returns an error if none of the actions with the
// id of the request can be undone.
func (rv *Reverter) Undoable(ctx context.Context, r tools.UndoRequest) ([]bus.Entry, error) {
	list, err := rv.listSelected(ctx, r)
	switch {
	case err != nil || len(list) == 0:
		return nil, err
	case r.Redo:
		_, err := rv.findRedoer(list[0])
		return list, err
	case r.ID == "":
		return list, nil
	}
	errs, err := rv.checkUndo(ctx, list)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(errs, nil) {
		return nil, errs[0]
	}
	return list, nil
}

// listSelected lists the actions that Undo would try for a request.
func (rv *Reverter) listSelected(ctx context.Context, r tools.UndoRequest) ([]bus.Entry, error) {
	s, err := rv.selectActions(ctx, r)
	if s.ask {
		return nil, err
	}
	return s.list, err
}

// undoableID finds the actions that belong to id, which identifies a call, an event or a sent
// message, or consists of words from the description of the newest action that is meant.
func (rv *Reverter) undoableID(ctx context.Context, r tools.UndoRequest) ([]bus.Entry, error) {
	id := r.ID
	e, err := rv.o.Bus.Ledger.Call(ctx, id)
	if err == nil {
		return rv.undoableEntry(e)
	}
	if !errors.Is(err, bus.ErrNotFound) {
		return nil, err
	}
	event := id
	if _, eerr := rv.o.Bus.Inbox.Event(ctx, id); eerr != nil {
		if event, eerr = rv.o.Bus.Outbox.DeliveryEvent(ctx, id); eerr != nil {
			if e, ok, err := rv.findDescribed(ctx, r); ok || err != nil {
				return []bus.Entry{e}, err
			}
			return nil, fmt.Errorf("action %q not found: %w; see: hob undo --list", id, err)
		}
		if e, ok, err := rv.findSendingCall(ctx, event, id); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return rv.undoableEntry(e)
		}
	}
	list, err := rv.o.Bus.Ledger.UndoableOf(ctx, event)
	if err == nil && len(list) == 0 {
		err = tools.Errorf(tools.NotFound, "%s has no action left that can be undone; see: hob undo --list", tools.Clean(id))
	}
	return list, err
}

// findDescribed finds the newest action whose description contains all words of text, such as "the
// reminder". It ignores actions that have nothing left to undo. A model finds only actions of its
// conversation.
func (rv *Reverter) findDescribed(ctx context.Context, r tools.UndoRequest) (bus.Entry, bool, error) {
	words := slices.DeleteFunc(textnorm.FoldedWords(r.ID), func(w string) bool {
		return slices.Contains([]string{"the", "a", "an", "my", "last", "that", "this"}, w)
	})
	if !slices.ContainsFunc(words, func(w string) bool { return len(w) > 2 && !strings.ContainsAny(w, "0123456789_") }) { // an id
		return bus.Entry{}, false, nil
	}
	list, err := rv.listUndoable(ctx, map[bool]string{true: r.Session}[r.Origin == ""])
	if err != nil {
		return bus.Entry{}, false, err
	}
	list = slices.DeleteFunc(list, func(e bus.Entry) bool {
		said := textnorm.FoldedWords(e.UndoLabel + " " + strings.ReplaceAll(e.Tool, "_", " "))
		return slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(said, w) })
	})
	errs, err := rv.checkUndo(ctx, list)
	if at := slices.Index(errs, nil); at >= 0 && err == nil {
		return list[at], true, nil
	}
	return bus.Entry{}, false, err
}

// findSendingCall finds the call that sent a message.
func (rv *Reverter) findSendingCall(ctx context.Context, event, delivery string) (bus.Entry, bool, error) {
	said, err := rv.o.Bus.Outbox.EventDeliveries(ctx, event)
	if err != nil || !slices.ContainsFunc(said, func(d bus.Delivery) bool { return d.ID == delivery && d.Kind == channels.Send }) {
		return bus.Entry{}, false, err
	}
	calls, err := rv.o.Bus.Ledger.Calls(ctx, event)
	i := slices.IndexFunc(calls, func(e bus.Entry) bool { return strings.Contains(string(e.Undo), `"`+delivery+`"`) })
	if err != nil || i < 0 {
		return bus.Entry{}, false, err
	}
	return calls[i], true, nil
}

func (rv *Reverter) undoableEntry(e bus.Entry) ([]bus.Entry, error) {
	switch {
	case !e.UndoneAt.IsZero():
		return nil, tools.Errorf(tools.Conflict, "%s was already undone", tools.Clean(e.Call))
	case e.Undo == nil || e.State != bus.CallDone:
		return nil, tools.Errorf(tools.Unsupported, "%s (%s, %s) cannot be undone", tools.Clean(e.Call), tools.Clean(e.Tool), tools.Clean(e.State))
	}
	return []bus.Entry{e}, nil
}

// findRedoable finds the action to redo: the action called id, or the last undone one if id is
// empty. It never skips the last undone action, because another action may not be the one that the
// owner meant.
func (rv *Reverter) findRedoable(ctx context.Context, id string) ([]bus.Entry, error) {
	if id == "" {
		return rv.o.Bus.Ledger.Undone(ctx, 1)
	}
	e, err := rv.o.Bus.Ledger.Call(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("action %q not found: %w; see: hob undo --list", id, err)
	case e.UndoneAt.IsZero():
		return nil, tools.Errorf(tools.Conflict, "%s was not undone", tools.Clean(id))
	}
	return []bus.Entry{e}, nil
}

// applyUndoStep reverts or repeats one action and records the result in the audit log.
func (rv *Reverter) applyUndoStep(ctx context.Context, r tools.UndoRequest, e bus.Entry) (string, error) {
	text, err := rv.tryUndoStep(ctx, r, e)
	if err == nil {
		return text, nil
	}
	rec := rv.undoRecord(r, e, string(tools.CodeOf(err)))
	if aerr := rv.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return rv.o.Guard.AuditTx(tx, rec) }); aerr != nil {
		rv.o.Log.Error("cannot record an attempt to undo", "call", e.Call, "err", aerr)
	}
	return "", err
}

func (rv *Reverter) undoRecord(r tools.UndoRequest, e bus.Entry, outcome string) guard.Record {
	verb := "undo"
	if r.Redo {
		verb = "redo"
	}
	return guard.Record{
		Actor: "owner", Action: verb, Event: cmp.Or(r.By, e.Event), Session: e.Session, Origin: cmp.Or(r.Origin, "undo"), Tool: e.Tool, Call: e.Call,
		Effects: e.Effects, Verdict: "allow", Tainted: e.Source.Tainted(), Outcome: outcome,
	}
}

// findActingTool finds the tool that performed an action.
func (rv *Reverter) findActingTool(name string) (tools.Tool, bool) {
	if t, ok := rv.o.Catalog.Get(name); ok {
		return t, true
	}
	i := slices.IndexFunc(rv.o.Acts, func(t tools.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		return nil, false
	}
	return rv.o.Acts[i], true
}

func (rv *Reverter) tryUndoStep(ctx context.Context, r tools.UndoRequest, e bus.Entry) (string, error) {
	if !r.Redo && bus.IsScheduledUndo(e.Call, e.Undo) {
		return rv.cancelSend(ctx, r, e)
	}
	t, ok := rv.findActingTool(e.Tool)
	t = tools.Undoing(t, e.Undo)
	if !ok {
		return "", errNoTool(e)
	}
	if _, callable := rv.o.Catalog.Get(e.Tool); !callable && r.Origin == "" {
		return "", &tools.Error{Source: provenance.Tool, Code: tools.PolicyDenied, Message: "only the user may " + actionVerb(r) + " this", Remedy: "say /undo " + e.Call + ", or run: hob undo " + e.Call}
	}
	if r.Redo {
		return rv.redoAction(ctx, r, t, e)
	}
	return rv.undoAction(ctx, r, t, e)
}

func (rv *Reverter) undoAction(ctx context.Context, r tools.UndoRequest, t tools.Tool, e bus.Entry) (text string, err error) {
	u, ok := t.(tools.Undoer)
	if !ok || !u.CanUndo() {
		return "", tools.Errorf(tools.Unsupported, "%s cannot be undone", tools.Clean(e.Tool))
	}
	own := t.Spec().Own
	if !own {
		if text, err = u.Undo(ctx, e.Undo); err != nil {
			return "", err
		}
	}
	err = rv.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		first, err := rv.o.Bus.Ledger.UndoneTx(tx, e.Call, r.By)
		if err != nil {
			return err
		}
		if !first {
			return tools.Errorf(tools.Conflict, "another request has just undone this action")
		}
		if own {
			if text, err = u.UndoTx(ctx, tx, e.Undo); err != nil {
				return err
			}
		}
		return rv.o.Guard.AuditTx(tx, rv.undoRecord(r, e, "done"))
	})
	return text, err
}

// cancelSend cancels a delayed call that has not reached anyone.
func (rv *Reverter) cancelSend(ctx context.Context, r tools.UndoRequest, e bus.Entry) (text string, err error) {
	err = rv.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		s, err := rv.cancelSendTx(tx, e)
		if err != nil {
			return err
		}
		if first, err := rv.o.Bus.Ledger.UndoneTx(tx, e.Call, r.By); err != nil || !first {
			return cmp.Or(err, error(tools.Errorf(tools.Conflict, "another request has just undone this action")))
		}
		text = "Canceled: " + s.What + " was not sent."
		return rv.o.Guard.AuditTx(tx, rv.undoRecord(r, e, "done"))
	})
	return text, err
}

// cancelSendTx cancels the delayed call of an action, or returns why it is too late.
func (rv *Reverter) cancelSendTx(tx *store.Tx, e bus.Entry) (bus.ScheduledSend, error) {
	s, err := rv.o.Bus.Scheduled.CancelTx(tx, e.Call, "canceled by the user")
	switch {
	case errors.Is(err, bus.ErrTooLate) && s.State == bus.SendSent:
		return s, tools.Errorf(tools.Conflict, "too late: it was sent at %s", s.EndedAt.In(rv.o.Zone()).Format("15:04:05"))
	case errors.Is(err, bus.ErrTooLate) && s.State == bus.SendCommitted:
		return s, tools.Errorf(tools.Conflict, "too late: it is being sent now")
	case errors.Is(err, bus.ErrTooLate) && s.State == bus.SendAccepted:
		return s, tools.Errorf(tools.Conflict, "too late: it was sent")
	case errors.Is(err, bus.ErrTooLate) && s.State == bus.SendCancelled: // another request canceled it at the same time
		return s, tools.Errorf(tools.Conflict, "already undone: it was canceled before")
	case errors.Is(err, bus.ErrTooLate):
		return s, tools.Errorf(tools.Conflict, "too late: it is %s", tools.Clean(s.State))
	}
	return s, err
}

func (rv *Reverter) redoAction(ctx context.Context, r tools.UndoRequest, t tools.Tool, e bus.Entry) (string, error) {
	u, err := asRedoer(t, e)
	if err != nil {
		return "", err
	}
	text, data, err := u.Redo(ctx, e.Undo)
	if err != nil {
		return "", err
	}
	err = rv.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if _, err := rv.o.Bus.Ledger.RedoneTx(tx, e.Call, data); err != nil {
			return err
		}
		return rv.o.Guard.AuditTx(tx, rv.undoRecord(r, e, "done"))
	})
	return text, err
}

// findRedoer returns the tool that can repeat an undone action.
func (rv *Reverter) findRedoer(e bus.Entry) (tools.Redoer, error) {
	t, ok := rv.findActingTool(e.Tool)
	if !ok {
		return nil, errNoTool(e)
	}
	return asRedoer(tools.Undoing(t, e.Undo), e)
}

func asRedoer(t tools.Tool, e bus.Entry) (tools.Redoer, error) {
	u, ok := t.(tools.Redoer)
	if !ok || !u.CanRedo() {
		return nil, tools.Errorf(tools.Unsupported, "%s cannot be redone; send your request again", tools.Clean(e.Tool))
	}
	return u, nil
}
