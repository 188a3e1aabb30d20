package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/api"
	"hob/platform/store"
)

// Documents lists at most Query.Limit ingested documents, newest first, followed by the files that
// could not be ingested. If Query.State is "failed", it lists only these files.
func (l *Library) Documents(ctx context.Context, q api.Query) ([]api.Document, error) {
	if q.State == "failed" {
		return l.listDocuments(ctx, `s.error <> ''`, q.Limit)
	}
	return l.listDocuments(ctx, `d.id IS NOT NULL OR s.error <> ''`, q.Limit)
}

func (l *Library) listDocuments(ctx context.Context, which string, limit int) (out []api.Document, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(`
		SELECT coalesce(d.id, ''), coalesce(d.title, ''), coalesce(d.kind, ''), s.source, coalesce(d.part, ''), coalesce(d.author, ''), coalesce(d.language, ''), coalesce(d.tags, ''),
			s.folder, s.realm, coalesce(d.provenance, ''), coalesce(d.chunks, 0), coalesce(d.at, 0), coalesce(d.added_at, 0), s.error
		FROM doc_sources s LEFT JOIN documents d ON d.src = s.n WHERE `+which+` ORDER BY d.n IS NULL, d.n DESC, s.n DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("ingest: list documents: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []api.Document{}
	for rows.Next() {
		var d api.Document
		var tags string
		var at, added int64
		if err := rows.Scan(&d.ID, &d.Title, &d.Kind, &d.Source, &d.Part, &d.Author, &d.Language, &tags, &d.Folder, &d.Realm, &d.Provenance, &d.Chunks, &at, &added, &d.Error); err != nil {
			return nil, fmt.Errorf("ingest: list documents: %w", err)
		}
		d.Tags = strings.Fields(tags)
		if tags != "" {
			d.Tags = strings.Split(tags, "\n")
		}
		if at != 0 {
			d.At = store.Time(at)
		}
		if added != 0 {
			d.AddedAt = store.Time(added)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// ErrTaken reports that another document has the id of an imported document.
var ErrTaken = errors.New("another document has the same id")

// RestoreTx imports a document without its chunks, which are separate rows. parts is false if the
// chunks must not be imported because they already exist. The source of the document is read again
// as soon as it is available.
func (l *Library) RestoreTx(tx *store.Tx, d api.Document) (added, parts bool, err error) {
	if d.ID == "" || d.Source == "" || len(d.ID) > 100 {
		return false, false, ErrNotFound
	}
	_, err = tx.Exec(`INSERT INTO doc_sources (realm, source, folder, size, mtime, digest, asked) VALUES (?, ?, '', 0, 0, x'', 1) ON CONFLICT DO NOTHING`, d.Realm, d.Source)
	if err != nil {
		return false, false, fmt.Errorf("ingest: import document: %w", err)
	}
	var src int64
	var whole bool
	var there, taken string
	err = tx.QueryRow(`SELECT n, digest <> x'' AND error = '', coalesce((SELECT id FROM documents WHERE src = doc_sources.n AND part = ?), ''), coalesce((SELECT id FROM documents WHERE id = ?), '')
		FROM doc_sources WHERE realm = ? AND source = ?`, d.Part, d.ID, d.Realm, d.Source).Scan(&src, &whole, &there, &taken)
	switch {
	case err != nil:
		return false, false, fmt.Errorf("ingest: import document: %w", err)
	case there != "":
		return false, there == d.ID && !whole, nil // the row of an interrupted import is incomplete
	case whole:
		return false, false, nil // the current source does not contain this part
	case taken != "":
		return false, false, ErrTaken
	}
	_, err = tx.Exec(`INSERT INTO documents (id, src, part, kind, title, author, language, tags, at, chunks, provenance, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.ID, src, d.Part, d.Kind, d.Title, d.Author, d.Language, strings.Join(d.Tags, "\n"), store.Millis(d.At), d.Chunks, string(d.Provenance), store.Millis(d.AddedAt))
	if err != nil {
		return false, false, fmt.Errorf("ingest: import document: %w", err)
	}
	return true, true, nil
}
