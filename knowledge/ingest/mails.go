package ingest

import (
	"errors"
	"fmt"
	"strings"

	"hob/knowledge/store"
	"hob/platform/document"
	"hob/platform/erase"
)

// partOf names a part of a source among what was forgotten.
func partOf(source, part string) string { return source + "\x00" + part }

// away reports whether a part of a source was forgotten: a mail stays away,
// whatever comes to its mailbox.
func away(q store.Querier, in Input, part string) (bool, error) {
	if part == "" {
		return false, nil
	}
	return forgotten(q, in.Realm, partOf(in.Source, part), 0, 0)
}

// mailPart is a mail, or something attached to one.
type mailPart struct{ id, part, realm, source string }

// mails are those that a source "mail:ID" names, with what is attached to them.
// ID is the one in its header, or what lists of documents show.
func mails(q store.Querier, source string) (out []mailPart, err error) {
	id, ok := strings.CutPrefix(source, "mail:")
	if !ok {
		return nil, nil
	}
	rows, err := q.Query(`SELECT d.id, d.part, s.realm, s.source FROM documents d JOIN doc_sources s ON s.n = d.src
		WHERE d.part IN (?1, ?2) OR substr(d.part, 1, length(?1) + 1) = ?1 || '/' OR substr(d.part, 1, length(?2) + 1) = ?2 || '/' ORDER BY d.n`, source, document.MailPart(id))
	if err != nil {
		return nil, fmt.Errorf("ingest: forget: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p mailPart
		if err := rows.Scan(&p.id, &p.part, &p.realm, &p.source); err != nil {
			return nil, fmt.Errorf("ingest: forget: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// Parts lists the documents that a source names which is a mail (see
// knowledge.Options).
func (l *Library) Parts(q store.Querier, source string) (ids []string, err error) {
	list, err := mails(q, source)
	for _, p := range list {
		ids = append(ids, p.id)
	}
	return ids, err
}

// mailsTx removes mails that go. They are not taken in again with their mailbox.
func (l *Library) mailsTx(tx *store.Tx, e *erase.Erasure) (n erase.Erased, err error) {
	for _, source := range e.Sources {
		list, err := mails(tx, source)
		if err != nil {
			return n, err
		}
		for _, p := range list {
			if e.Realm != "" && e.Realm != p.realm {
				continue
			}
			if n, err = l.eraseDocumentTx(tx, p.id, n); err != nil {
				return n, err
			}
			if _, err := tx.Exec(`DELETE FROM documents WHERE id = ?`, p.id); err != nil {
				return n, fmt.Errorf("ingest: forget: %w", err)
			}
			if err := stayAwayTx(tx, p.realm, partOf(p.source, p.part), 0, 0); err != nil {
				return n, err
			}
			n.Rows++
		}
	}
	return n, nil
}
