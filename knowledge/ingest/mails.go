package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge/store"
	"hob/platform/document"
	"hob/platform/erase"
)

// partOf names a part of a source among what was forgotten.
func partOf(source, part string) string { return source + "\x00" + part }

// away reports whether a part of a source was forgotten: a mail stays away,
// whatever comes to its mailbox, and however often it stands there.
func away(q store.Querier, in Input, part string) (bool, error) {
	if part == "" {
		return false, nil
	}
	part = once(part)
	mail, _, _ := strings.Cut(part, "/")
	for _, name := range slices.Compact([]string{part, once(mail)}) {
		if gone, err := forgotten(q, in.Realm, partOf(in.Source, name), 0, 0); err != nil || gone {
			return gone, err
		}
	}
	return false, nil
}

// once is the name that a part has in common with its copies, see
// document.Parse.
func once(part string) string {
	if i := strings.LastIndexByte(part, '~'); i >= 0 && isNumber(part[i+1:]) {
		return part[:i]
	}
	return part
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
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
		WHERE substr(d.part, 1, length(?1)) = ?1 OR substr(d.part, 1, length(?2)) = ?2 ORDER BY d.n`, source, document.MailPart(id))
	if err != nil {
		return nil, fmt.Errorf("ingest: forget: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p mailPart
		if err := rows.Scan(&p.id, &p.part, &p.realm, &p.source); err != nil {
			return nil, fmt.Errorf("ingest: forget: %w", err)
		}
		if partOfMail(p.part, source) || partOfMail(p.part, document.MailPart(id)) {
			out = append(out, p)
		}
	}
	return out, rows.Err()
}

// partOfMail reports whether a part is a mail, a copy of it or attached to it.
func partOfMail(part, mail string) bool {
	rest, ok := strings.CutPrefix(part, mail)
	return ok && (once(rest) == "" || rest[0] == '/')
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
			if err := stayAwayTx(tx, p.realm, partOf(p.source, once(p.part)), 0, 0); err != nil {
				return n, err
			}
			if err := l.forgetPeopleTx(tx, p); err != nil {
				return n, err
			}
			n.Rows++
		}
	}
	return n, nil
}

// forgetPeopleTx takes back who stands on the cards of a mailbox, of which one
// mail goes: who stands on those of the others comes back when it is read again.
func (l *Library) forgetPeopleTx(tx *store.Tx, p mailPart) error {
	if l.opt.Entities == nil {
		return nil
	}
	if err := l.opt.Entities.KeepTx(tx, Origin{Source: p.source, Realm: p.realm}, nil); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE doc_sources SET digest = x'' WHERE realm = ? AND source = ?`, p.realm, p.source); err != nil {
		return fmt.Errorf("ingest: forget: %w", err)
	}
	return nil
}
