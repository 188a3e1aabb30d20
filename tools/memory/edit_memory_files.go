package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Statements undoes changes of the statements about the user.
type Statements interface {
	// RevertStatementTx reports false if the statement was changed or deleted since.
	RevertStatementTx(tx *store.Tx, change json.RawMessage) (bool, error)
}

// EditTools returns the tools that undo the user's edits of USER.md and MEMORY.md, and of statements
// with commands. They are not in the catalog, because no model may make such edits.
func EditTools(base *knowledge.Base, statements Statements) []tools.Tool {
	return []tools.Tool{
		editTool(knowledge.FileEditTool, "Adopt the user's edits of USER.md and MEMORY.md.", func(tx *store.Tx, data json.RawMessage) (string, error) {
			return undoFileEditTx(tx, base, statements, data)
		}),
		editTool(knowledge.StatementEditTool, "Change a statement of the user.", func(tx *store.Tx, data json.RawMessage) (string, error) {
			ok, err := statements.RevertStatementTx(tx, data)
			if err == nil && !ok {
				err = tools.Errorf(tools.NotFound, "the statement was changed or deleted since")
			}
			return "Restored what Hob knew about you.", err
		}),
	}
}

func editTool(name, about string, undo func(*store.Tx, json.RawMessage) (string, error)) tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{Name: name, Category: "memory", Effects: tools.Write, Description: about, Keywords: "memory facts files"},
		RunTx: func(context.Context, *store.Tx, tools.Call, struct{}) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "only the user edits USER.md and MEMORY.md; remember stores a fact")
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) { return undo(tx, data) },
	})
}

func undoFileEditTx(tx *store.Tx, base *knowledge.Base, statements Statements, data json.RawMessage) (string, error) {
	var e knowledge.FileEdit
	if err := json.Unmarshal(data, &e); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	n, left, err := base.UndoFileEditTx(tx, e)
	if err != nil {
		return "", err
	}
	for _, change := range slices.Backward(e.Statements) {
		ok, err := statements.RevertStatementTx(tx, change)
		switch {
		case err != nil:
			return "", err
		case ok:
			n++
		default:
			left++
		}
	}
	if n == 0 {
		return "", tools.Errorf(tools.NotFound, "all of these facts were corrected or forgotten since")
	}
	text := fmt.Sprintf("Reverted %s. Hob updates the file.", textnorm.CountNoun(n, "change", "changes"))
	if left > 0 {
		text += fmt.Sprintf(" %s stayed, because they were corrected or forgotten since.", textnorm.CountNoun(left, "other", "others"))
	}
	return text, nil
}
