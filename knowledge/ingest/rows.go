package ingest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/knowledge/store"
)

// kept is a row of doc_sources.
type kept struct {
	n           int64
	folder      string
	size, mtime int64
	digest      []byte
	failed      string
	source      string
	asked       bool
	trust       Trust
}

// known looks up a source. It finds a file that moved within its folder by digest, and renames it.
// It returns ErrForgotten for an erased source.
func (l *Library) known(ctx context.Context, in *Input, sum []byte) (*kept, error) {
	q := l.opt.Store.Reader(ctx)
	if !in.Asked {
		gone, err := forgotten(q, in.Realm, in.Source, in.Size, stamp(in.Modified))
		if err != nil || gone {
			return nil, errors.Join(err, errIf(gone, ErrForgotten))
		}
	}
	k, err := source(q, in.Realm, in.Source)
	if err != nil || k != nil || in.Folder == "" || in.Dry {
		return k, err
	}
	return l.moved(ctx, in, sum)
}

func errIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

func source(q store.Querier, realm, name string) (*kept, error) {
	k := &kept{source: name}
	err := q.QueryRow(`SELECT n, folder, size, mtime, digest, error, asked, trust FROM doc_sources WHERE realm = ? AND source = ?`, realm, name).
		Scan(&k.n, &k.folder, &k.size, &k.mtime, &k.digest, &k.failed, &k.asked, &k.trust)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return k, nil
}

// movedQuery repeats the condition of its partial index, so that SQLite uses it.
const movedQuery = `SELECT source FROM doc_sources WHERE digest = ? AND digest <> x'' AND realm = ? AND folder = ? AND error = '' LIMIT 1`

// moved takes over the row of a file with the same content that no longer exists at its path.
func (l *Library) moved(ctx context.Context, in *Input, sum []byte) (*kept, error) {
	if l.opt.Files == nil {
		return nil, nil
	}
	var old string
	err := l.opt.Store.Reader(ctx).QueryRow(movedQuery, sum, in.Realm, in.Folder).Scan(&old)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	path, ok := strings.CutPrefix(old, "file:")
	if there, err := l.opt.Files.There(ctx, path); !ok || err != nil || there {
		return nil, err
	}
	err = l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET source = ?, digest = x'' WHERE realm = ? AND source = ?`, in.Source, in.Realm, old)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return source(l.opt.Store.Reader(ctx), in.Realm, in.Source) // without the digest, so that the rows get the new name
}

// part is a document of a source.
type part struct{ id, kind string }

// parts returns the documents of a source by part name.
func parts(q store.Querier, src int64) (out map[string]part, err error) {
	rows, err := q.Query(`SELECT part, id, kind FROM documents WHERE src = ?`, src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[string]part{}
	for rows.Next() {
		var name string
		var p part
		if err := rows.Scan(&name, &p.id, &p.kind); err != nil {
			return nil, err
		}
		out[name] = p
	}
	return out, rows.Err()
}

// had reports whether the documents may have stored people in the graph.
func had(list map[string]part) bool {
	for _, p := range list {
		if p.kind == "cards" {
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
	k, err := source(l.opt.Store.Reader(ctx), realm, name)
	if err != nil {
		return err
	}
	if k == nil {
		return ErrNotFound
	}
	list, err := parts(l.opt.Store.Reader(ctx), k.n)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	w := &writing{l: l, ctx: ctx, in: Input{Source: name, Realm: realm}, r: &reading{}, src: k.n, people: had(list)}
	for _, p := range list {
		if err := w.drop(p.id); err != nil {
			return err
		}
	}
	w.keepPeople()
	w.todo = append(w.todo, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM doc_sources WHERE n = ?`, k.n)
		return err
	})
	return w.flush()
}

// place returns a digest of the name of a source.
func place(realm, source string) []byte {
	sum := sha256.Sum256([]byte(realm + "\x00" + source))
	return sum[:]
}

// forgotten reports whether a source was erased and has not changed since.
func forgotten(q store.Querier, realm, source string, size, mtime int64) (bool, error) {
	var s, m int64
	err := q.QueryRow(`SELECT size, mtime FROM documents_forgotten WHERE place = ?`, place(realm, source)).Scan(&s, &m)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ingest: %w", err)
	}
	return s == size && m == mtime, nil
}
