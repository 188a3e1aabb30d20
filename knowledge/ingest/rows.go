package ingest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/platform/store"
)

// storedSource is a row of doc_sources.
type storedSource struct {
	n           int64
	folder      string
	size, mtime int64
	digest      []byte
	failed      string
	source      string
	asked       bool
	trust       Trust
}

// findSource finds the row of a source. If a file was moved within its folder, findSource finds the
// row by digest and renames it. It returns ErrForgotten for an erased source.
func (l *Library) findSource(ctx context.Context, in *Input, sum []byte) (*storedSource, error) {
	q := l.opt.Store.Reader(ctx)
	if !in.Asked {
		gone, err := isSourceForgotten(q, in.Realm, in.Source, in.Size, unixNanos(in.Modified))
		if err != nil || gone {
			return nil, errors.Join(err, errIf(gone, ErrForgotten))
		}
	}
	k, err := readSource(q, in.Realm, in.Source)
	if err != nil || k != nil || in.Folder == "" || in.Dry {
		return k, err
	}
	return l.findMovedSource(ctx, in, sum)
}

func errIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

func readSource(q store.Querier, realm, name string) (*storedSource, error) {
	k := &storedSource{source: name}
	err := q.QueryRow(`SELECT n, folder, size, mtime, digest, error, asked, trust FROM doc_sources WHERE realm = ? AND source = ?`, realm, name).
		Scan(&k.n, &k.folder, &k.size, &k.mtime, &k.digest, &k.failed, &k.asked, &k.trust)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: read a source: %w", err)
	}
	return k, nil
}

// movedQuery repeats the condition of the partial index, so that SQLite uses that index.
const movedQuery = `SELECT source FROM doc_sources WHERE digest = ? AND digest <> x'' AND realm = ? AND folder = ? AND error = '' LIMIT 1`

// findMovedSource renames the row of a file with the same content that no longer exists at its old
// path.
func (l *Library) findMovedSource(ctx context.Context, in *Input, sum []byte) (*storedSource, error) {
	if l.opt.Files == nil {
		return nil, nil
	}
	var old string
	err := l.opt.Store.Reader(ctx).QueryRow(movedQuery, sum, in.Realm, in.Folder).Scan(&old)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: find a moved file: %w", err)
	}
	path, ok := strings.CutPrefix(old, "file:")
	if there, err := l.opt.Files.Exists(path); !ok || err != nil || there {
		return nil, err
	}
	err = l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET source = ?, digest = x'' WHERE realm = ? AND source = ?`, in.Source, in.Realm, old)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: rename a moved file: %w", err)
	}
	return readSource(l.opt.Store.Reader(ctx), in.Realm, in.Source) // the digest is removed, so that the file is read again and its rows get the new name
}

// storedPart is a document of a source.
type storedPart struct{ id, kind string }

// readParts returns the documents of a source by part name.
func readParts(q store.Querier, src int64) (out map[string]storedPart, err error) {
	rows, err := q.Query(`SELECT part, id, kind FROM documents WHERE src = ?`, src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[string]storedPart{}
	for rows.Next() {
		var name string
		var p storedPart
		if err := rows.Scan(&name, &p.id, &p.kind); err != nil {
			return nil, err
		}
		out[name] = p
	}
	return out, rows.Err()
}

// mayHavePeople reports whether the documents may have stored people in the graph.
func mayHavePeople(list map[string]storedPart) bool {
	for _, p := range list {
		if p.kind == "cards" || p.kind == "mail" || p.kind == "calendar" {
			return true
		}
	}
	return false
}

// Remove deletes a source and all data derived from it. It returns ErrNotFound if the source is
// unknown.
func (l *Library) Remove(ctx context.Context, realm, name string) error {
	l.work.Lock()
	defer l.work.Unlock()
	k, err := readSource(l.opt.Store.Reader(ctx), realm, name)
	if err != nil {
		return err
	}
	if k == nil {
		return ErrNotFound
	}
	list, err := readParts(l.opt.Store.Reader(ctx), k.n)
	if err != nil {
		return fmt.Errorf("ingest: read the documents of a source: %w", err)
	}
	w := &sourceWriter{l: l, ctx: ctx, in: Input{Source: name, Realm: realm}, r: &activeReading{}, src: k.n, people: mayHavePeople(list)}
	for _, p := range list {
		if err := w.dropDocument(p.id); err != nil {
			return err
		}
	}
	w.prunePeople()
	w.todo = append(w.todo, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM doc_sources WHERE n = ?`, k.n)
		return err
	})
	return w.flushSteps()
}

// hashSource returns a digest of the name of a source.
func hashSource(realm, source string) []byte {
	sum := sha256.Sum256([]byte(realm + "\x00" + source))
	return sum[:]
}

// isSourceForgotten reports whether a source was erased and has not changed since.
func isSourceForgotten(q store.Querier, realm, source string, size, mtime int64) (bool, error) {
	var s, m int64
	err := q.QueryRow(`SELECT size, mtime FROM documents_forgotten WHERE place = ?`, hashSource(realm, source)).Scan(&s, &m)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ingest: check for an erased source: %w", err)
	}
	return s == size && m == mtime, nil
}
