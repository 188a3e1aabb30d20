package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type appendNoteIn struct {
	Note string `json:"note" jsonschema:"id or title"`
	Text string `json:"text"`
}

type appendUndo struct {
	noteUndo
	Length     int               `json:"length"` // length of the earlier text in bytes
	UpdatedAt  time.Time         `json:"updated_at"`
	Provenance provenance.Source `json:"provenance"`
}

func (d Deps) appendNote() tools.Tool {
	return tools.New(tools.Def[appendNoteIn]{
		Spec: tools.Spec{
			Name: "append_note", Category: "memory", Effects: tools.Write,
			Description: "Add a line to a note.",
			Keywords:    "add to note list extend continue",
		},
		Summary: func(in appendNoteIn) string {
			return "Add " + quoteLine(textnorm.Ellipsize(in.Text, 80)) + " to the note " + quoteLine(in.Note)
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in appendNoteIn) (tools.Result, error) {
			text, err := noteText(in.Text)
			if err != nil {
				return tools.Result{}, err
			}
			n, err := pickNote(tx, in.Note)
			if err != nil {
				return tools.Result{}, err
			}
			u := appendUndo{Length: len(n.Text), UpdatedAt: n.UpdatedAt, Provenance: n.Provenance}
			if n.Text, err = noteText(n.Text + "\n" + text); err != nil {
				return tools.Result{}, err
			}
			n.UpdatedAt = storedTime(c.Now)
			if callProvenance(c).Tainted() {
				n.Provenance = provenance.Outside
			}
			u.noteUndo = noteUndo{ID: n.ID, State: noteDigest(n)}
			if err := d.changeNote(tx, n); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Text: "Added the text to the note " + quoteLine(n.Title) + ".", Data: n, Source: sourceOf([]Note{n}, noteSource),
				Undo: tools.NewUndo("remove the last addition from the note "+quoteLine(n.Title), u),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			u, n, err := decodeUnchanged[appendUndo](tx, data)
			if err != nil {
				return "", err
			}
			n.Text, n.UpdatedAt, n.Provenance = n.Text[:u.Length], u.UpdatedAt, u.Provenance
			return "Removed the last addition from the note " + quoteLine(n.Title) + ".", d.changeNote(tx, n)
		},
	})
}

// noteDigest returns a digest of a complete note.
func noteDigest(n Note) string {
	b, err := json.Marshal(n)
	if err != nil { // a programming error: a Note is plain data
		panic(err)
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

// left returns the undo data with the state of the note after the call, which decodeUnchanged
// compares with the current note.
func (u noteUndo) left() noteUndo { return u }

// decodeUnchanged decodes undo data. It returns the data with the note if the note has not changed
// since the call.
func decodeUnchanged[U interface{ left() noteUndo }](tx *store.Tx, data json.RawMessage) (u U, n Note, err error) {
	if err := json.Unmarshal(data, &u); err != nil {
		return u, n, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	n, ok, err := noteByID(tx, u.left().ID)
	switch {
	case err != nil:
		return u, n, err
	case !ok:
		return u, n, tools.Errorf(tools.NotFound, "the note was deleted")
	case noteDigest(n) != u.left().State:
		return u, n, tools.Quoting(tools.Errorf(tools.Conflict, "the note %s has changed; undo would overwrite the change", tools.Clean(quoteLine(n.Title))), n.Provenance)
	}
	return u, n, nil
}

// storedTime rounds a time to the precision of the store.
func storedTime(t time.Time) time.Time { return store.Time(store.Millis(t)) }
