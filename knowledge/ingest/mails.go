package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/document"
)

// partOf returns the name under which an erased part of a source is recorded.
func partOf(source, part string) string { return source + "\x00" + part }

// isPartForgotten reports whether a part of a source was erased. An erased message stays erased,
// even if its mailbox changes or contains copies of the message.
func isPartForgotten(q store.Querier, in Input, part string) (bool, error) {
	if part == "" {
		return false, nil
	}
	part = basePartName(part)
	mail, _, _ := strings.Cut(part, "/")
	for _, name := range slices.Compact([]string{part, basePartName(mail)}) {
		if gone, err := isSourceForgotten(q, in.Realm, partOf(in.Source, name), 0, 0); err != nil || gone {
			return gone, err
		}
	}
	return false, nil
}

// basePartName returns the name that a part and its copies have in common; see document.Parse.
func basePartName(part string) string {
	if i := strings.LastIndexByte(part, '~'); i >= 0 && isNumber(part[i+1:]) {
		return part[:i]
	}
	return part
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// mailPart is a message or an attachment.
type mailPart struct{ id, part, realm, source string }

// findMailParts returns the messages of a source "mail:ID" and their attachments. ID is the
// Message-ID, or the id shown in lists of documents.
func findMailParts(q store.Querier, source string) (out []mailPart, err error) {
	id, ok := strings.CutPrefix(source, "mail:")
	if !ok {
		return nil, nil
	}
	rows, err := q.Query(`SELECT d.id, d.part, s.realm, s.source FROM documents d JOIN doc_sources s ON s.n = d.src
		WHERE substr(d.part, 1, length(?1)) = ?1 OR substr(d.part, 1, length(?2)) = ?2 ORDER BY d.n`, source, document.MailPart(id))
	if err != nil {
		return nil, fmt.Errorf("ingest: erase document: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p mailPart
		if err := rows.Scan(&p.id, &p.part, &p.realm, &p.source); err != nil {
			return nil, fmt.Errorf("ingest: erase document: %w", err)
		}
		if partOfMail(p.part, source) || partOfMail(p.part, document.MailPart(id)) {
			out = append(out, p)
		}
	}
	return out, rows.Err()
}

// partOfMail reports whether a part is the message, a copy of it, or one of its attachments.
func partOfMail(part, mail string) bool {
	rest, ok := strings.CutPrefix(part, mail)
	return ok && (basePartName(rest) == "" || rest[0] == '/')
}

// Parts returns the documents of a source that is a message (see knowledge.Options).
func (l *Library) Parts(q store.Querier, source string) (ids []string, err error) {
	list, err := findMailParts(q, source)
	for _, p := range list {
		ids = append(ids, p.id)
	}
	return ids, err
}

// mailsTx removes erased messages. They stay erased when their mailbox is ingested again.
func (l *Library) mailsTx(tx *store.Tx, e *erase.Erasure) (n erase.Erased, err error) {
	for _, source := range e.Sources {
		list, err := findMailParts(tx, source)
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
				return n, fmt.Errorf("ingest: erase document: %w", err)
			}
			if err := blockSourceTx(tx, p.realm, partOf(p.source, basePartName(p.part)), 0, 0); err != nil {
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

// forgetPeopleTx deletes the people on contact cards of a mailbox from which a message is erased.
// People on the other cards are stored again the next time the mailbox is read.
func (l *Library) forgetPeopleTx(tx *store.Tx, p mailPart) error {
	if l.opt.Entities == nil {
		return nil
	}
	if err := l.opt.Entities.KeepTx(tx, p.realm, p.source, nil); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE doc_sources SET digest = x'' WHERE realm = ? AND source = ?`, p.realm, p.source); err != nil {
		return fmt.Errorf("ingest: erase document: %w", err)
	}
	return nil
}
