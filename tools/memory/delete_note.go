package memory

import (
	"context"
	"encoding/json"

	"hob/platform/store"
	"hob/tools"
)

type deleteNoteIn struct {
	Note string `json:"note" jsonschema:"id or title"`
}

func (d Deps) deleteNote() tools.Tool {
	return tools.New(tools.Def[deleteNoteIn]{
		Spec: tools.Spec{
			Name: "delete_note", Category: "memory", Effects: tools.Write,
			Description: "Delete a note.",
			Keywords:    "remove note",
		},
		Summary: func(in deleteNoteIn) string { return "Delete the note " + quoteLine(in.Note) },
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in deleteNoteIn) (tools.Result, error) {
			n, err := pickNote(tx, in.Note)
			if err != nil {
				return tools.Result{}, err
			}
			if err := d.dropNote(tx, n.ID); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Text: "Deleted the note " + quoteLine(n.Title) + ".", Data: n, Source: sourceOf([]Note{n}, noteSource),
				Undo: tools.NewUndo("restore the note "+quoteLine(n.Title), n),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var n Note
			if err := json.Unmarshal(data, &n); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			if _, ok, err := noteByID(tx, n.ID); err != nil || ok {
				if err == nil {
					err = tools.Errorf(tools.Conflict, "the note already exists")
				}
				return "", err
			}
			return "Restored the note " + quoteLine(n.Title) + ".", d.putNote(tx, n)
		},
	})
}
