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

// EditMemoryFiles returns the tool that undoes the user's edits of USER.md and MEMORY.md. It is not
// in the catalog, because no model may edit these files.
func EditMemoryFiles(base *knowledge.Base) tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{
			Name: knowledge.FileEditTool, Category: "memory", Effects: tools.Write,
			Description: "Adopt the user's edits of USER.md and MEMORY.md.", Keywords: "memory facts files",
		},
		RunTx: func(context.Context, *store.Tx, tools.Call, struct{}) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "only the user edits USER.md and MEMORY.md; remember stores a fact")
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var e knowledge.FileEdit
			if err := json.Unmarshal(data, &e); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			n, left, err := base.UndoFileEditTx(tx, e)
			switch {
			case err != nil:
				return "", err
			case n == 0:
				return "", tools.Errorf(tools.NotFound, "all of these facts were corrected or forgotten since")
			}
			text := fmt.Sprintf("Reverted %s. Hob updates the file.", textnorm.CountNoun(n, "change of a fact", "changes of facts"))
			if left > 0 {
				text += fmt.Sprintf(" %s stayed, because they were corrected or forgotten since.", textnorm.CountNoun(left, "other", "others"))
			}
			return text, nil
		},
	})
}
