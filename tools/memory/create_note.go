package memory

import (
	"context"
	"encoding/json"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type createNoteIn struct {
	Text  string `json:"text"`
	Title string `json:"title,omitempty"`
	In    string `json:"in,omitempty" jsonschema:"hob, or one of the user's apps: apple/Work"`
}

type noteUndo struct {
	ID    string `json:"id"`
	State string `json:"state"` // digest of the note after the call
}

// createNote creates a note in Hob's own store or in one of the owner's notes apps.
func (d Deps) createNote() tools.Tool {
	spec := tools.Spec{
		Name: "create_note", Category: "memory", Effects: tools.Write,
		Description: "Write a note.",
		Keywords:    "new note write down jot memo list notes app obsidian vault",
	}
	mine := d.createOwn(spec)
	if d.Shelves == nil {
		return mine
	}
	return tools.Divide(mine, d.createLeaf(spec), d.isForApp, ofShelf)
}

func (d Deps) createOwn(spec tools.Spec) tools.Tool {
	return tools.New(tools.Def[createNoteIn]{
		Spec: spec,
		Summary: func(in createNoteIn) string {
			return "Write a note " + quoteLine(textnorm.Ellipsize(in.Title+" "+in.Text, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in createNoteIn) (tools.Result, error) {
			text, err := noteText(in.Text)
			if err != nil {
				return tools.Result{}, err
			}
			n := Note{
				ID: shortid.New("n"), Title: textnorm.Ellipsize(in.Title, 200), Text: text, Provenance: callProvenance(c),
				CreatedAt: storedTime(c.Now), UpdatedAt: storedTime(c.Now),
			}
			if strings.TrimSpace(n.Title) == "" {
				n.Title = titleOf(text)
			}
			if err := d.putNote(tx, n); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   "Wrote the note " + quoteLine(n.Title) + ".", Data: n,
				Undo: tools.NewUndo("delete the note "+quoteLine(n.Title), noteUndo{ID: n.ID, State: noteDigest(n)}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return d.UndoNoteTx(tx, data)
		},
	})
}
