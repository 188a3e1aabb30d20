package memory

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// ConsolidateMemory returns the tool that undoes consolidations of the memory. It is not in the
// catalog.
func ConsolidateMemory(base *knowledge.Base) tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{
			Name: knowledge.ConsolidateTool, Category: "memory", Effects: tools.Write,
			Description: "Merge duplicate facts, close superseded ones and retire past events.", Keywords: "memory facts duplicates",
		},
		RunTx: func(context.Context, *store.Tx, tools.Call, struct{}) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "Hob tidies the memory each night; to do it now, the user runs: hob memory consolidate")
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var list []knowledge.FactChange
			if err := json.Unmarshal(data, &list); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			n, left, err := base.UndoConsolidationTx(tx, list)
			switch {
			case err != nil:
				return "", err
			case n == 0:
				return "", tools.Errorf(tools.NotFound, "all of these facts were corrected or forgotten since")
			}
			text := fmt.Sprintf("Restored %s. Hob leaves them as they are from now on.", textnorm.CountNoun(n, "fact", "facts"))
			if left > 0 {
				text += fmt.Sprintf(" %s stayed retired, because they were corrected or forgotten since.", textnorm.CountNoun(left, "fact", "facts"))
			}
			return text, nil
		},
	})
}
