package tools

import (
	"context"
	"encoding/json"

	"hob/platform/store"
)

// SplitTool is an own tool that contains a second tool for a store other than Hob's database, such
// as a list on the owner's phone. The second tool has the same name and arguments, but is not own.
// Guard, ledger and undo treat each call according to the tool that runs it.
type SplitTool interface {
	TxTool
	// For returns the tool that runs a call with the given arguments.
	For(args json.RawMessage) Tool
	// Undoing returns the tool that undoes a call with the given undo data.
	Undoing(data json.RawMessage) Tool
	// Each returns a copy of the tool with both parts replaced by the results of f.
	Each(f func(Tool) Tool) Tool
}

// Divide combines two tools into one. elsewhere reports whether arguments are for other, and theirs
// reports whether undo data belongs to other.
func Divide(own, other Tool, elsewhere, theirs func(json.RawMessage) bool) Tool {
	mine, is := own.(TxTool)
	if !is || other.Spec().Own || own.Spec().Name != other.Spec().Name || own.Spec().Effects != other.Spec().Effects {
		panic("tools: " + own.Spec().Name + ": the tools do not belong together") // a programming error
	}
	return &divided{mine, other, elsewhere, theirs}
}

// For returns the tool that runs a call. This is t itself, or one of the two parts of a split tool.
func For(t Tool, args json.RawMessage) Tool {
	if d, ok := t.(SplitTool); ok {
		return d.For(args)
	}
	return t
}

// Undoing returns the tool that undoes a call. This is t itself, or one of the two parts of a split
// tool.
func Undoing(t Tool, data json.RawMessage) Tool {
	if d, ok := t.(SplitTool); ok {
		return d.Undoing(data)
	}
	return t
}

type divided struct {
	TxTool
	other             Tool
	elsewhere, theirs func(json.RawMessage) bool
}

// For implements Divided.
func (d *divided) For(args json.RawMessage) Tool {
	if d.elsewhere(args) {
		return d.other
	}
	return d.TxTool
}

// Undoing implements Divided.
func (d *divided) Undoing(data json.RawMessage) Tool {
	if d.theirs(data) {
		return d.other
	}
	return d.TxTool
}

// CallTx implements TxTool. A call for the other store must not run in a transaction.
func (d *divided) CallTx(ctx context.Context, tx *store.Tx, c Call) (Result, error) {
	if d.elsewhere(c.Args) {
		return Result{}, Errorf(Failed, "%s: this call needs an external store", Clean(d.Spec().Name))
	}
	return d.TxTool.CallTx(ctx, tx, c)
}

// Each implements Divided.
func (d *divided) Each(f func(Tool) Tool) Tool {
	own, is := f(d.TxTool).(TxTool)
	if !is { // the database would have no record of the call
		return f(d.other)
	}
	return &divided{own, f(d.other), d.elsewhere, d.theirs}
}

// Check validates arguments against the schema of the tool that would run the call.
func (d *divided) Check(args json.RawMessage) error { return Check(d.For(args), args) }

// Judge implements Judge.
func (d *divided) Judge(ctx context.Context, args json.RawMessage) CallAssessment {
	return JudgmentOf(ctx, d.For(args), args)
}

// Summary implements Summarizer.
func (d *divided) Summary(args json.RawMessage) string {
	if s, ok := d.For(args).(Summarizer); ok {
		return s.Summary(args)
	}
	return d.Spec().Name
}

// CanUndo implements Undoer.
func (d *divided) CanUndo() bool {
	u, ok := d.TxTool.(Undoer)
	return ok && u.CanUndo()
}

// Undo implements Undoer.
func (d *divided) Undo(ctx context.Context, data json.RawMessage) (string, error) {
	if u, ok := d.other.(Undoer); ok && d.theirs(data) {
		return u.Undo(ctx, data)
	}
	return "", Errorf(Unsupported, "%s cannot be undone", Clean(d.Spec().Name))
}

// UndoTx implements Undoer.
func (d *divided) UndoTx(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	if u, ok := d.TxTool.(Undoer); ok && !d.theirs(data) {
		return u.UndoTx(ctx, tx, data)
	}
	return "", Errorf(Unsupported, "%s cannot be undone", Clean(d.Spec().Name))
}
