package simulate

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// wouldDo is the prefix of the result of a tool that was not executed.
const wouldDo = "Would have been done: "

// wrapTool replaces tools that have effects outside Hob. Read-only tools and Hob's own tools work
// as usual, on the copy and the simulated web. In a replay, all tools except Hob's own return the
// recorded results.
func (p *play) wrapTool(t tools.Tool) tools.Tool {
	if d, is := t.(tools.SplitTool); is {
		return d.Each(p.wrapTool)
	}
	s := t.Spec()
	if p.past != nil && !s.Own {
		return recordedTool{dryRunTool{t}, p.past}
	}
	if s.Own || s.Effects&^(tools.Read|tools.Egress) == 0 {
		return t
	}
	return dryRunTool{t}
}

// dryRunTool has the name and schema of the real tool but has no effects.
type dryRunTool struct{ tools.Tool }

// Call implements tools.Tool.
func (d dryRunTool) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	source := provenance.Tool
	if c.Provenance.Tainted() {
		source = provenance.Outside
	}
	return tools.Result{Text: wouldDo + d.Summary(c.Args), Source: source, Origins: c.Origins}, nil
}

// Check compares arguments with the schema; see tools.Check.
func (d dryRunTool) Check(args json.RawMessage) error { return tools.Check(d.Tool, args) }

// Judge implements tools.CallAssessor.
func (d dryRunTool) Judge(ctx context.Context, args json.RawMessage) tools.CallAssessment {
	return tools.JudgmentOf(ctx, d.Tool, args)
}

// Paths implements tools.Pather.
func (d dryRunTool) Paths(args json.RawMessage) []string {
	if p, ok := d.Tool.(tools.Pather); ok {
		return p.Paths(args)
	}
	return nil
}

// Summary implements tools.Summarizer.
func (d dryRunTool) Summary(args json.RawMessage) string {
	if s, ok := d.Tool.(tools.Summarizer); ok {
		return s.Summary(args)
	}
	return fmt.Sprintf("%s %s", d.Spec().Name, args)
}

// CanUndo implements tools.Undoer. It returns the real tool's answer, because the guard's decision
// depends on it.
func (d dryRunTool) CanUndo() bool {
	u, ok := d.Tool.(tools.Undoer)
	return ok && u.CanUndo()
}

// Undo implements tools.Undoer. It does nothing, because the tool had no effect.
func (d dryRunTool) Undo(context.Context, json.RawMessage) (string, error) { return "nothing", nil }

// UndoTx implements tools.Undoer.
func (d dryRunTool) UndoTx(context.Context, *store.Tx, json.RawMessage) (string, error) {
	return "nothing", nil
}
