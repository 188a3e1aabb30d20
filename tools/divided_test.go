package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

type splitArgs struct {
	In string `json:"in,omitempty"`
}

func splitParts() (own, other tools.Tool) {
	spec := tools.Spec{Name: "put", Category: "x", Effects: tools.Write, Description: "Put."}
	own = tools.New(tools.Def[splitArgs]{
		Spec: spec,
		RunTx: func(context.Context, *store.Tx, tools.Call, splitArgs) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: "own"}, nil
		},
		UndoTx: func(context.Context, *store.Tx, json.RawMessage) (string, error) { return "own", nil },
	})
	other = tools.New(tools.Def[splitArgs]{
		Spec:    spec,
		Summary: func(splitArgs) string { return "elsewhere" },
		Run: func(context.Context, tools.Call, splitArgs) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: "other"}, nil
		},
		Undo: func(context.Context, json.RawMessage) (string, error) { return "other", nil },
	})
	return own, other
}

// TestSplitTool checks that a call and its undo belong to one part and cannot reach the
// other.
func TestSplitTool(t *testing.T) {
	own, other := splitParts()
	away := func(b json.RawMessage) bool { return strings.Contains(string(b), "away") }
	d := tools.Divide(own, other, away, away)
	there, here := json.RawMessage(`{"in":"away"}`), json.RawMessage(`{}`)
	if x := tools.For(d, there); x.Spec().Own || x != other {
		t.Error("a call for the external store would run in the transaction")
	}
	if x := tools.For(d, here); !x.Spec().Own {
		t.Error("a call for Hob's store would run outside of the transaction")
	}
	if _, err := d.(tools.TxTool).CallTx(t.Context(), nil, tools.Call{Args: there}); err == nil {
		t.Error("CallTx accepted a call for the external store")
	}
	if s, err := d.(tools.Undoer).Undo(t.Context(), there); s != "other" || err != nil {
		t.Errorf("Undo = %q, %v", s, err)
	}
	if _, err := d.(tools.Undoer).Undo(t.Context(), here); err == nil {
		t.Error("Undo accepted an action in Hob's store")
	}
	if _, err := d.(tools.Undoer).UndoTx(t.Context(), nil, there); err == nil {
		t.Error("UndoTx accepted an action in the external store")
	}
	if tools.Undoing(d, there).Spec().Own || !tools.Undoing(d, here).Spec().Own || tools.For(own, there) != own {
		t.Error("Undoing or For returned the wrong part")
	}
	if s := d.(tools.Summarizer).Summary(there); s != "elsewhere" {
		t.Error(s)
	}
	both := 0
	d.(tools.SplitTool).Each(func(x tools.Tool) tools.Tool { both++; return x })
	if both != 2 {
		t.Errorf("Each visited %d parts, want 2", both)
	}
}
