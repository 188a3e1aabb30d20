package system

import (
	"context"
	"fmt"
	"strings"

	"hob/tools"
)

type undoIn struct {
	ID   string `json:"id,omitempty" jsonschema:"call id; empty: the last action"`
	Last int    `json:"last,omitempty" jsonschema:"how many of the last actions"`
	Turn bool   `json:"turn,omitempty" jsonschema:"all actions of the last answer"`
	Redo bool   `json:"redo,omitempty" jsonschema:"redo what was undone"`
}

// most is the maximum number of actions that one call reverts.
const most = 100

// revertsNothing is the binding of a call that reverts nothing, and needs no approval for that.
const revertsNothing = "nothing can be undone"

func (in undoIn) undoRequest(c tools.Call) tools.UndoRequest {
	r := tools.UndoRequest{ID: in.ID, Last: in.Last, Turn: in.Turn, Redo: in.Redo, Session: c.Session, By: c.Event, Progress: c.Progress}
	if strings.HasPrefix(c.Session, "tool:") { // a call that the owner made directly has no conversation
		r.Session, r.Origin = "", "tool"
	}
	return r
}

// undoTool returns the undo tool. It has the owner's authority. An undo cannot be undone; redo
// repeats the reverted action where possible.
func undoTool(e Engine) tools.Tool {
	return tools.New(tools.Def[undoIn]{
		Spec: tools.Spec{
			Name: "undo", Category: "system", Effects: tools.Write,
			Description: "Undo the last action, the last N, all actions of the last answer, or one by its id; or redo it.",
			Keywords:    "undo revert take back oops restore roll back mistake call back redo",
		},
		Summary: func(in undoIn) string {
			verb := "Undo"
			if in.Redo {
				verb = "Redo"
			}
			switch {
			case in.ID != "":
				return verb + " " + in.ID
			case in.Turn:
				return verb + " all actions of the last answer"
			case in.Last > 1:
				return fmt.Sprintf("%s the last %d actions", verb, in.Last)
			}
			return verb + " the last action"
		},
		Judge: func(ctx context.Context, in undoIn) tools.CallAssessment {
			if err := in.checkArguments(); err != nil {
				return tools.CallAssessment{Refused: err}
			}
			labels, at, err := e.Undoable(ctx, in.undoRequest(tools.Call{Event: tools.Asking(ctx)}))
			if err != nil || len(labels) == 0 { // the call says why, and the user is not asked to approve what cannot happen
				return tools.CallAssessment{Effects: tools.Read, Summary: "Say why nothing can be undone", Exact: revertsNothing}
			}
			verb, why := "Undo", "it reverts what Hob did at "+at
			switch {
			case in.Redo:
				verb, why = "Redo, which reverts", ""
			case len(labels) > 1:
				why = fmt.Sprintf("it reverts %d actions, the last one of %s", len(labels), at)
			}
			text := verb + ": " + strings.Join(labels, "; ")
			return tools.CallAssessment{Items: len(labels), Summary: text, Why: why, Exact: text} // the approval is for these actions, even if others follow
		},
		Run: func(ctx context.Context, c tools.Call, in undoIn) (tools.Result, error) {
			if err := in.checkArguments(); err != nil {
				return tools.Result{}, err
			}
			req := in.undoRequest(c)
			req.Report = c.Exact == revertsNothing
			r, err := e.Undo(ctx, req)
			if err != nil {
				return tools.Result{}, &tools.Error{Code: tools.CodeOf(err), Message: err.Error(), Err: err, Source: tools.SourceOf(err)}
			}
			return r, nil
		},
	})
}

func (in undoIn) checkArguments() error {
	n := 0
	for _, set := range []bool{in.ID != "", in.Last > 1, in.Turn} {
		if set {
			n++
		}
	}
	switch {
	case in.Last < 0 || in.Last > most:
		return tools.Errorf(tools.InvalidArguments, "last must be 1 to %d", most)
	case n > 1 || in.Redo && (in.Last > 1 || in.Turn):
		return tools.Errorf(tools.InvalidArguments, "give exactly one of id, last and turn")
	}
	return nil
}
