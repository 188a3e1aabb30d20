package memory

import (
	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
)

// RestoreTx inserts an exported note with its id and times. It reports whether the note was added.
// It does not change an existing note.
func (a API) RestoreTx(tx *store.Tx, note api.Note, from []provenance.Origin) (bool, error) {
	n := Note(note)
	var err error
	if n.Text, err = noteText(n.Text); err != nil {
		return false, err
	}
	if n.ID == "" {
		n.ID = shortid.New("n")
	}
	if n.Title == "" {
		n.Title = titleOf(n.Text)
	}
	n.Provenance = provenance.Worst(n.Provenance)
	if _, ok, err := noteByID(tx, n.ID); ok || err != nil {
		return false, err
	}
	d := Deps{Knowledge: a.Memory}
	if err := d.putNote(tx, n); err != nil || len(from) == 0 || !n.Provenance.Tainted() {
		return err == nil, err
	}
	return true, a.Memory.IndexTx(tx, knowledge.Doc{Kind: kindNote, Ref: n.ID, Title: n.Title, Text: n.Text, At: n.UpdatedAt, Provenance: n.Provenance, Origins: from})
}
