package ingest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// kept is a row of doc_sources.
type kept struct {
	n           int64
	folder      string
	size, mtime int64
	digest      []byte
	failed      string
	source      string
}

// known looks a source up. A file that moved within its folder is found by its
// digest and has its new name from here on. ErrForgotten when it must stay away.
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
	err := q.QueryRow(`SELECT n, folder, size, mtime, digest, error FROM doc_sources WHERE realm = ? AND source = ?`, realm, name).
		Scan(&k.n, &k.folder, &k.size, &k.mtime, &k.digest, &k.failed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return k, nil
}

// moved takes over the row of a file with this content that is not where it was.
func (l *Library) moved(ctx context.Context, in *Input, sum []byte) (*kept, error) {
	if l.opt.Files == nil {
		return nil, nil
	}
	var old string
	err := l.opt.Store.Reader(ctx).QueryRow(`SELECT source FROM doc_sources WHERE digest = ? AND realm = ? AND folder = ? AND error = '' LIMIT 1`, sum, in.Realm, in.Folder).Scan(&old)
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
	return source(l.opt.Store.Reader(ctx), in.Realm, in.Source) // without its digest: its rows get their new name
}

// sourceTx makes the row of a source, or marks it as being written.
func sourceTx(tx *store.Tx, in Input) (n int64, err error) {
	_, err = tx.Exec(`INSERT INTO doc_sources (realm, source, folder, size, mtime, digest) VALUES (?, ?, ?, 0, 0, x'')
		ON CONFLICT (realm, source) DO UPDATE SET digest = x'', error = '', folder = CASE WHEN excluded.folder = '' THEN folder ELSE excluded.folder END`, in.Realm, in.Source, in.Folder)
	if err == nil {
		err = tx.QueryRow(`SELECT n FROM doc_sources WHERE realm = ? AND source = ?`, in.Realm, in.Source).Scan(&n)
	}
	return n, err
}

func partsTx(q store.Querier, src int64) (out map[string]string, err error) {
	rows, err := q.Query(`SELECT part, id FROM documents WHERE src = ?`, src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[string]string{}
	for rows.Next() {
		var part, id string
		if err := rows.Scan(&part, &id); err != nil {
			return nil, err
		}
		out[part] = id
	}
	return out, rows.Err()
}

// failed notes why a source cannot be read, so that it is not tried again before
// it changes, and returns that. What may be read later is noted without a digest.
func (l *Library) failed(ctx context.Context, in Input, sum []byte, cause error) error {
	if errors.Is(cause, ErrLater) {
		sum = []byte{}
	}
	err := l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := sourceTx(tx, in); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE doc_sources SET size = ?, mtime = ?, digest = ?, error = ? WHERE realm = ? AND source = ?`, in.Size, stamp(in.Modified), sum, reason(cause), in.Realm, in.Source)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; ingest: %w", cause, err)
	}
	return cause
}

// writing is one source being written, in one transaction or in batches.
type writing struct {
	l     *Library
	ctx   context.Context
	in    Input
	src   int64
	whole bool
	todo  []func(*store.Tx) error
}

// add puts a step into the transaction that comes next.
func (w *writing) add(step func(*store.Tx) error) error {
	w.todo = append(w.todo, step)
	if !w.whole && len(w.todo) >= batch {
		return w.flush()
	}
	return nil
}

func (w *writing) flush() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	err := w.l.opt.Store.Write(w.ctx, func(tx *store.Tx) error {
		for _, step := range w.todo {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	})
	w.todo = nil
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

// document writes one and the chunks of it that differ.
func (w *writing) document(p *planned) error {
	d := p.doc
	err := w.add(func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO documents (id, src, part, kind, title, author, language, tags, at, chunks, provenance, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (src, part) DO UPDATE SET kind = excluded.kind, title = excluded.title, author = excluded.author, language = excluded.language,
				tags = CASE WHEN excluded.tags = '' THEN tags ELSE excluded.tags END, at = excluded.at, chunks = excluded.chunks, provenance = excluded.provenance`,
			p.id, w.src, d.Part, d.Kind, d.Title, d.Author, d.Language, strings.Join(w.in.Tags, "\n"), store.Millis(d.At), p.total, string(w.in.Provenance), store.Millis(w.in.Now))
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range p.chunks {
		if err := w.add(func(tx *store.Tx) error { return w.l.opt.Base.IndexTx(tx, c) }); err != nil {
			return err
		}
	}
	for _, ref := range p.gone {
		if err := w.add(func(tx *store.Tx) error { return w.l.opt.Base.UnindexTx(tx, knowledge.KindChunk, ref) }); err != nil {
			return err
		}
	}
	if w.l.opt.Entities == nil || len(d.People) == 0 {
		return nil
	}
	return w.add(func(tx *store.Tx) error {
		return w.l.opt.Entities.PeopleTx(tx, d.People, Origin{Source: w.in.Source, Realm: w.in.Realm, Provenance: w.in.Provenance, Origins: w.in.Origins, At: w.in.Now})
	})
}

// drop removes a document that its source has no more.
func (w *writing) drop(id string) error {
	list, err := w.l.opt.Base.Group(w.l.opt.Store.Reader(w.ctx), knowledge.KindChunk, id)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := w.add(func(tx *store.Tx) error { return w.l.opt.Base.UnindexTx(tx, c.Kind, c.Ref) }); err != nil {
			return err
		}
	}
	return w.add(func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM documents WHERE id = ?`, id)
		return err
	})
}

// done makes the source whole.
func (w *writing) done(sum []byte) error {
	w.todo = append(w.todo, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM documents_forgotten WHERE place = ?`, place(w.in.Realm, w.in.Source)); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE doc_sources SET size = ?, mtime = ?, digest = ?, error = '' WHERE n = ?`, w.in.Size, stamp(w.in.Modified), sum, w.src)
		return err
	})
	return w.flush()
}

// Remove forgets a source with everything that was made of it; ErrNotFound when
// it is not there.
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
	ids, err := partsTx(l.opt.Store.Reader(ctx), k.n)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	w := &writing{l: l, ctx: ctx, src: k.n}
	for _, id := range ids {
		if err := w.drop(id); err != nil {
			return err
		}
	}
	w.todo = append(w.todo, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM doc_sources WHERE n = ?`, k.n)
		return err
	})
	return w.flush()
}

// place names a source without naming it.
func place(realm, source string) []byte {
	sum := sha256.Sum256([]byte(realm + "\x00" + source))
	return sum[:]
}

// forgotten reports whether a source was forgotten and has not changed since.
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

// Document is one that was taken in, as lists and exports show it.
type Document struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Kind       string            `json:"kind"`
	Source     string            `json:"source"`
	Part       string            `json:"part,omitempty"`
	Author     string            `json:"author,omitempty"`
	Language   string            `json:"language,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Folder     string            `json:"folder,omitempty"`
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Chunks     int               `json:"chunks"`
	At         time.Time         `json:"at,omitzero"`
	AddedAt    time.Time         `json:"added_at"`
	// Error says why a file could not be taken in; it has no id then.
	Error string `json:"error,omitempty"`
}

// Documents lists what was taken in, the newest first, and after these the
// files that could not be.
func (l *Library) Documents(ctx context.Context, limit int) ([]Document, error) {
	return l.list(ctx, `d.id IS NOT NULL OR s.error <> ''`, limit)
}

// Broken lists those of them that could not be taken in as they are now.
func (l *Library) Broken(ctx context.Context, limit int) ([]Document, error) {
	return l.list(ctx, `s.error <> ''`, limit)
}

func (l *Library) list(ctx context.Context, which string, limit int) (out []Document, err error) {
	rows, err := l.opt.Store.Reader(ctx).Query(`
		SELECT coalesce(d.id, ''), coalesce(d.title, ''), coalesce(d.kind, ''), s.source, coalesce(d.part, ''), coalesce(d.author, ''), coalesce(d.language, ''), coalesce(d.tags, ''),
			s.folder, s.realm, coalesce(d.provenance, ''), coalesce(d.chunks, 0), coalesce(d.at, 0), coalesce(d.added_at, 0), s.error
		FROM doc_sources s LEFT JOIN documents d ON d.src = s.n WHERE `+which+` ORDER BY d.n IS NULL, d.n DESC, s.n DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("ingest: list: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Document{}
	for rows.Next() {
		var d Document
		var tags string
		var at, added int64
		if err := rows.Scan(&d.ID, &d.Title, &d.Kind, &d.Source, &d.Part, &d.Author, &d.Language, &tags, &d.Folder, &d.Realm, &d.Provenance, &d.Chunks, &at, &added, &d.Error); err != nil {
			return nil, fmt.Errorf("ingest: list: %w", err)
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
