package autonomy

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
	"hob/tools"
)

// UndoRequest selects the actions to undo; the zero value selects the last one.
type UndoRequest struct {
	// ID of a call, of an event (all its actions) or of a sent message.
	ID string
	// Last is the number of latest actions (0 counts as 1).
	Last int
	// Turn selects all actions of the last answer as one.
	Turn bool
	// Redo: do again what was undone last, or ID.
	Redo bool
	// Session is the requesting conversation. Its actions and notices take precedence over
	// those elsewhere. "" means no precedence.
	Session string
	// By is the requesting event, Origin the way it arrived. "" means a model, which may undo
	// only what it could have done.
	By, Origin string
	// Progress reports the progress; optional.
	Progress func(fraction float64, note string)
}

// UndoOutcome lists what was undone and what was not, newest first.
type UndoOutcome struct {
	Undone []UndoStep `json:"undone"`
	// Left lists what was not undone: the first with its error, the others were not tried.
	Left []UndoStep `json:"not_undone"`
}

// UndoStep is one action in an UndoOutcome.
type UndoStep struct {
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	Label string `json:"label"` // what undoing it means
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// Undo undoes actions, newest first. It stops at the first action that cannot be undone; the
// result's Data is an UndoOutcome. If the first action already fails, Undo returns an error.
// The text of an action that untrusted text influenced is untrusted text again.
func (l *Loop) Undo(ctx context.Context, r UndoRequest) (tools.Result, error) {
	l.undoing.Lock()
	defer l.undoing.Unlock()
	list, err := l.Undoable(ctx, r)
	if err != nil {
		return tools.Result{}, err
	}
	if len(list) == 0 {
		return tools.Result{Source: provenance.Tool, Text: "There is nothing to " + r.actionVerb() + ".", Data: UndoOutcome{}.withEmptyLists()}, nil
	}
	return l.undoAll(ctx, r, list)
}

// stopCause returns why a batch stops: the owner stopped it, or Hob shuts down.
func stopCause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return tools.Errorf(tools.Cancelled, "it was stopped before that")
}

func (r UndoRequest) actionVerb() string {
	if r.Redo {
		return "do again"
	}
	return "undo"
}

// undoAll works through the list. The lock is held.
func (l *Loop) undoAll(ctx context.Context, r UndoRequest, list []bus.Entry) (tools.Result, error) {
	var out UndoOutcome
	src := provenance.Tool
	for i, e := range list {
		if r.Progress != nil && len(list) > 1 {
			r.Progress(float64(i)/float64(len(list)), fmt.Sprintf("%d of %d", i+1, len(list)))
		}
		text, err := "", stopCause(ctx)
		if err == nil {
			text, err = l.applyUndoStep(ctx, r, e)
		}
		src = provenance.Worst(src, e.Source)
		s := UndoStep{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel, Text: text}
		if err == nil {
			out.Undone = append(out.Undone, s)
			continue
		}
		src = provenance.Worst(src, tools.SourceOf(err))
		if len(out.Undone) == 0 {
			return tools.Result{}, l.notUndone(r, e, list, err, src)
		}
		s.Error = err.Error()
		out.Left = append(out.Left, s)
		for _, e := range list[i+1:] {
			src = provenance.Worst(src, e.Source)
			out.Left = append(out.Left, UndoStep{Call: e.Call, Tool: e.Tool, Label: e.UndoLabel})
		}
		break
	}
	return tools.Result{Text: out.formatText(r), Data: out.withEmptyLists(), Source: src}, nil
}

// notUndone returns the error for a request that undid nothing.
func (l *Loop) notUndone(r UndoRequest, e bus.Entry, list []bus.Entry, err error, src provenance.Source) error {
	text := fmt.Sprintf("I could not %s: %v", e.UndoLabel, err)
	if r.Redo {
		text = fmt.Sprintf("I could not do it again: %v", err)
	}
	if len(list) > 1 {
		text += fmt.Sprintf("; none of the %d actions was undone", len(list))
	}
	if r.ID == "" && tools.CodeOf(err) == tools.Conflict { // skipping it would undo an action that the owner did not mean
		text += "; earlier actions are in `hob undo --list`, and /undo ID takes one of them back"
	}
	return tools.Quoting(tools.Errorf(tools.CodeOf(err), "%s", tools.Clean(text)), src)
}

// withEmptyLists replaces nil lists by empty ones, for JSON clients.
func (o UndoOutcome) withEmptyLists() UndoOutcome {
	if o.Undone == nil {
		o.Undone = []UndoStep{}
	}
	if o.Left == nil {
		o.Left = []UndoStep{}
	}
	return o
}

// formatText formats the outcome. If the batch stopped, it lists what was undone and what was not.
func (o UndoOutcome) formatText(r UndoRequest) string {
	var b strings.Builder
	if len(o.Left) > 0 {
		word := "Took back"
		if r.Redo {
			word = "Did again"
		}
		fmt.Fprintf(&b, "%s %d of %d:\n", word, len(o.Undone), len(o.Undone)+len(o.Left))
	}
	for _, s := range o.Undone {
		b.WriteString(s.Text + "\n")
	}
	for i, s := range o.Left {
		if i == 0 {
			fmt.Fprintf(&b, "I could not %s: %s\n", s.Label, s.Error)
			continue
		}
		if i == 1 {
			b.WriteString("So these stand as they were:\n")
		}
		fmt.Fprintf(&b, "- %s (%s)\n", s.Label, s.Call)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Undoable lists the actions that a request would undo, in that order.
func (l *Loop) Undoable(ctx context.Context, r UndoRequest) ([]bus.Entry, error) {
	switch {
	case r.Redo:
		return l.findRedoable(ctx, r.ID)
	case r.ID != "":
		return l.undoableID(ctx, r.ID)
	}
	n := max(1, r.Last)
	var list []bus.Entry
	var err error
	if r.Session != "" {
		list, err = l.o.Bus.UndoableIn(ctx, r.Session, n)
	}
	if err == nil && len(list) == 0 {
		list, err = l.o.Bus.Undoable(ctx, n)
	}
	if err != nil || !r.Turn || len(list) == 0 {
		return list, err
	}
	return l.o.Bus.UndoableOf(ctx, list[0].Event)
}

// undoableID finds the actions that an id stands for.
func (l *Loop) undoableID(ctx context.Context, id string) ([]bus.Entry, error) {
	e, err := l.o.Bus.Call(ctx, id)
	if err == nil {
		return l.undoableEntry(e)
	}
	if !errors.Is(err, bus.ErrNotFound) {
		return nil, err
	}
	event := id
	if _, eerr := l.o.Bus.Event(ctx, id); eerr != nil {
		if event, eerr = l.o.Bus.DeliveryEvent(ctx, id); eerr != nil {
			return nil, fmt.Errorf("action %q not found: %w; see: hob undo --list", id, err)
		}
		if e, ok, err := l.findSendingCall(ctx, event, id); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return l.undoableEntry(e)
		}
	}
	list, err := l.o.Bus.UndoableOf(ctx, event)
	if err == nil && len(list) == 0 {
		err = tools.Errorf(tools.NotFound, "%s has no action left that can be undone; see: hob undo --list", tools.Clean(id))
	}
	return list, err
}

// findSendingCall finds the call that sent a message.
func (l *Loop) findSendingCall(ctx context.Context, event, delivery string) (bus.Entry, bool, error) {
	said, err := l.o.Bus.EventDeliveries(ctx, event)
	if err != nil || !slices.ContainsFunc(said, func(d bus.Delivery) bool { return d.ID == delivery && d.Kind == channels.Send }) {
		return bus.Entry{}, false, err
	}
	calls, err := l.o.Bus.Calls(ctx, event)
	i := slices.IndexFunc(calls, func(e bus.Entry) bool { return strings.Contains(string(e.Undo), `"`+delivery+`"`) })
	if err != nil || i < 0 {
		return bus.Entry{}, false, err
	}
	return calls[i], true, nil
}

func (l *Loop) undoableEntry(e bus.Entry) ([]bus.Entry, error) {
	switch {
	case !e.UndoneAt.IsZero():
		return nil, tools.Errorf(tools.Conflict, "%s was already undone", tools.Clean(e.Call))
	case e.Undo == nil || e.State != bus.CallDone:
		return nil, tools.Errorf(tools.Unsupported, "%s (%s, %s) cannot be undone", tools.Clean(e.Call), tools.Clean(e.Tool), tools.Clean(e.State))
	}
	return []bus.Entry{e}, nil
}

// findRedoable finds the action to redo: the one with the id, or the last one undone. Skipping that
// one would redo an action that the owner did not mean.
func (l *Loop) findRedoable(ctx context.Context, id string) ([]bus.Entry, error) {
	if id == "" {
		return l.o.Bus.Undone(ctx, 1)
	}
	e, err := l.o.Bus.Call(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("action %q not found: %w; see: hob undo --list", id, err)
	case e.UndoneAt.IsZero():
		return nil, tools.Errorf(tools.Conflict, "%s was not undone", tools.Clean(id))
	}
	return []bus.Entry{e}, nil
}

// applyUndoStep takes one action back, or does it again, and records that it did or why
// it could not.
func (l *Loop) applyUndoStep(ctx context.Context, r UndoRequest, e bus.Entry) (string, error) {
	text, err := l.tryUndoStep(ctx, r, e)
	if err == nil {
		return text, nil
	}
	rec := l.undoRecord(r, e, string(tools.CodeOf(err)))
	if aerr := l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return l.o.Guard.AuditTx(tx, rec) }); aerr != nil {
		l.o.Log.Error("an attempt to undo cannot be recorded", "call", e.Call, "err", aerr)
	}
	return "", err
}

func (l *Loop) undoRecord(r UndoRequest, e bus.Entry, outcome string) guard.Record {
	verb := "undo"
	if r.Redo {
		verb = "redo"
	}
	return guard.Record{
		Actor: "owner", Action: verb, Event: cmp.Or(r.By, e.Event), Session: e.Session, Origin: cmp.Or(r.Origin, "undo"), Tool: e.Tool, Call: e.Call,
		Effects: e.Effects, Verdict: "allow", Tainted: e.Source.Tainted(), Outcome: outcome,
	}
}

// findActingTool finds the tool behind an action.
func (l *Loop) findActingTool(name string) (tools.Tool, bool) {
	if t, ok := l.o.Catalogue.Get(name); ok {
		return t, true
	}
	i := slices.IndexFunc(l.o.Acts, func(t tools.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		return nil, false
	}
	return l.o.Acts[i], true
}

func (l *Loop) tryUndoStep(ctx context.Context, r UndoRequest, e bus.Entry) (string, error) {
	t, ok := l.findActingTool(e.Tool)
	t = tools.Undoing(t, e.Undo)
	if !ok {
		return "", tools.Errorf(tools.Unsupported, "the tool %s no longer exists", tools.Clean(e.Tool))
	}
	if _, callable := l.o.Catalogue.Get(e.Tool); !callable && r.Origin == "" {
		return "", &tools.Error{Source: provenance.Tool, Code: tools.PolicyDenied, Message: "this is for the owner alone to " + r.actionVerb(), Remedy: "say /undo " + e.Call + ", or run: hob undo " + e.Call}
	}
	if r.Redo {
		return l.redoAction(ctx, r, t, e)
	}
	return l.undoAction(ctx, r, t, e)
}

func (l *Loop) undoAction(ctx context.Context, r UndoRequest, t tools.Tool, e bus.Entry) (text string, err error) {
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
	err = l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		first, err := l.o.Bus.UndoneTx(tx, e.Call, r.By)
		if err != nil {
			return err
		}
		if !first {
			return tools.Errorf(tools.Conflict, "another request has just undone it")
		}
		if own {
			if text, err = u.UndoTx(ctx, tx, e.Undo); err != nil {
				return err
			}
		}
		return l.o.Guard.AuditTx(tx, l.undoRecord(r, e, "done"))
	})
	return text, err
}

func (l *Loop) redoAction(ctx context.Context, r UndoRequest, t tools.Tool, e bus.Entry) (string, error) {
	u, ok := t.(tools.Redoer)
	if !ok || !u.CanRedo() {
		return "", tools.Errorf(tools.Unsupported, "%s cannot be redone; send your request again", tools.Clean(e.Tool))
	}
	text, data, err := u.Redo(ctx, e.Undo)
	if err != nil {
		return "", err
	}
	err = l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if _, err := l.o.Bus.RedoneTx(tx, e.Call, data); err != nil {
			return err
		}
		return l.o.Guard.AuditTx(tx, l.undoRecord(r, e, "done"))
	})
	return text, err
}
