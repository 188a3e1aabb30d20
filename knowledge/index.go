package knowledge

import (
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// IndexTx indexes a document. It replaces the document with the same Kind and Ref.
func (b *Base) IndexTx(tx *store.Tx, d Doc) error {
	if d.Kind == "" || d.Ref == "" {
		return fmt.Errorf("knowledge: index: kind %q and ref %q must not be empty", d.Kind, d.Ref)
	}
	if d.Provenance == provenance.Unknown {
		d.Provenance = provenance.Outside
	}
	_, err := tx.Exec(`INSERT INTO docs (kind, ref, title, text, at, provenance, realm, grp, pos, speaker, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (kind, ref) DO UPDATE SET title = excluded.title, text = excluded.text, at = excluded.at, provenance = excluded.provenance,
			realm = excluded.realm, grp = excluded.grp, pos = excluded.pos, speaker = excluded.speaker, source = excluded.source`,
		d.Kind, d.Ref, strings.ToValidUTF8(d.Title, "\uFFFD"), strings.ToValidUTF8(d.Text, "\uFFFD"), store.Millis(d.At), string(d.Provenance), d.Realm,
		d.Group, d.Pos, d.Speaker, d.Source)
	if err != nil {
		return fmt.Errorf("knowledge: index %s: %w", d.Kind, err)
	}
	b.notifyChanged(tx, d.Kind)
	if d.Provenance.Tainted() { // a tainted document stays tainted and keeps its origins
		return origins.AddTx(tx, origins.Row, d.Ref, d.Origins)
	}
	return nil
}

// UnindexTx removes a document from the index. An unknown document is not an error.
func (b *Base) UnindexTx(tx *store.Tx, kind, ref string) error {
	if _, err := tx.Exec(`DELETE FROM docs WHERE kind = ? AND ref = ?`, kind, ref); err != nil {
		return fmt.Errorf("knowledge: remove %s from the index: %w", kind, err)
	}
	b.notifyChanged(tx, kind)
	return origins.DropTx(tx, origins.Row, ref)
}

func (b *Base) moveTx(tx *store.Tx, from, to, ref string) error {
	if _, err := tx.Exec(`UPDATE docs SET kind = ? WHERE kind = ? AND ref = ?`, to, from, ref); err != nil {
		return fmt.Errorf("knowledge: change indexed row: %w", err)
	}
	b.notifyChanged(tx, to)
	return nil
}

// notifyChanged notifies the derived data of a change of a kind of documents once the transaction is
// committed.
func (b *Base) notifyChanged(tx *store.Tx, kind string) {
	if b.opt.Changed != nil {
		tx.AfterCommit(b.opt.Changed)
	}
	if b.opt.FactsChanged != nil && (kind == KindFact || kind == KindRetired) {
		tx.AfterCommit(b.opt.FactsChanged)
	}
}
