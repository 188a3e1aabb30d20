package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/document"
)

// sourceWriter writes one source, in one transaction or in batches.
type sourceWriter struct {
	l     *Library
	ctx   context.Context //nolint:containedctx // the value lives as long as one call
	in    Input
	r     *activeReading
	src   int64
	sum   []byte
	whole bool
	todo  []func(*store.Tx) error
	// people is true if the graph contains people of this source or this write adds people. told
	// lists the relations in the current version.
	people bool
	told   []string
	met    map[string]bool // people of this source that are stored
}

// mostTries is the maximum number of attempts to read a source that crashes the process.
const mostTries = 2

// errTried means that a source is not read again.
var errTried = fmt.Errorf("%w: reading the file crashed the program twice", document.ErrBroken)

// beginSource creates the row of a source, or marks the existing row as being read, so that a crash
// is detected after the restart. It returns errTried after too many crashes.
func (w *sourceWriter) beginSource() error {
	trying, tries := w.sum, 0
	if document.Detect(w.in.Name, w.in.Content) == "image" {
		trying = []byte{} // describing an image takes a long time, so an interruption does not count as a crash
	}
	err := w.commitTx(func(tx *store.Tx) error {
		return tx.QueryRow(`INSERT INTO doc_sources (realm, source, folder, size, mtime, digest, trying, tries, asked) VALUES (?, ?, ?, ?, ?, x'', ?, 1, ?)
			ON CONFLICT (realm, source) DO UPDATE SET folder = CASE WHEN doc_sources.folder = '' THEN excluded.folder ELSE doc_sources.folder END, size = excluded.size, mtime = excluded.mtime,
				digest = x'', error = '', tries = CASE WHEN doc_sources.trying = excluded.trying AND excluded.trying <> x'' THEN doc_sources.tries + 1 ELSE 1 END,
				trying = excluded.trying, asked = max(doc_sources.asked, excluded.asked)
			RETURNING n, tries`, w.in.Realm, w.in.Source, w.in.Folder, w.in.Size, unixNanos(w.in.Modified), trying, w.in.Folder == "").Scan(&w.src, &tries)
	})
	if err == nil && tries > mostTries && !w.in.Asked {
		err = errTried
	}
	return err
}

// markReadable records that the source could be read.
func (w *sourceWriter) markReadable(tx *store.Tx) error {
	_, err := tx.Exec(`UPDATE doc_sources SET trying = x'', tries = 0 WHERE n = ?`, w.src)
	return err
}

// recordFailure stores the error, so that the source is not retried until it changes, and returns
// the error. It stores a temporary error without a digest. It does not store an error that the file
// did not cause.
func (w *sourceWriter) recordFailure(cause error) error {
	switch {
	case w.ctx.Err() != nil:
		return w.recordAborted(cause)
	case !isFileFault(cause):
		return w.recordAborted(Retryable(cause))
	}
	sum := w.sum
	if errors.Is(cause, ErrLater) {
		sum = []byte{}
	}
	err := w.commitTx(func(tx *store.Tx) error {
		if err := w.markReadable(tx); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE doc_sources SET digest = ?, error = ? WHERE n = ?`, sum, errorReason(cause), w.src)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w (while recording that the file cannot be read: %s)", err, errorReason(cause))
	}
	return cause
}

// recordAborted records that reading failed without crashing the process. It returns the cause.
func (w *sourceWriter) recordAborted(cause error) error {
	w.ctx = context.WithoutCancel(w.ctx)
	if err := w.commitTx(w.markReadable); err != nil && !errors.Is(err, ErrForgotten) {
		w.l.opt.Log.Warn("ingestion failure could not be recorded", "err", err)
	}
	return cause
}

// commitTx runs a transaction. It fails if the source was erased in the meantime.
func (w *sourceWriter) commitTx(fn func(*store.Tx) error) error {
	err := w.l.opt.Store.Write(w.ctx, func(tx *store.Tx) error {
		if w.r.isForgotten() {
			return ErrForgotten
		}
		return fn(tx)
	})
	if err != nil {
		return fmt.Errorf("ingest: store a source: %w", err)
	}
	return nil
}

// addStep queues a step for the next transaction.
func (w *sourceWriter) addStep(step func(*store.Tx) error) error {
	w.todo = append(w.todo, step)
	if !w.whole && len(w.todo) >= batch {
		return w.flushSteps()
	}
	return nil
}

func (w *sourceWriter) flushSteps() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	todo := w.todo
	w.todo = nil
	return w.commitTx(func(tx *store.Tx) error {
		for _, step := range todo {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeDocument writes a document and its changed chunks.
func (w *sourceWriter) writeDocument(p *documentPlan) error {
	err := w.addStep(func(tx *store.Tx) error {
		d := p.doc
		if gone, err := isPartForgotten(tx, w.in, d.Part); err != nil || gone { // the document was erased since
			return err
		}
		title, author, tags := w.r.redactForgotten(d.Title), w.r.redactForgotten(d.Author), w.r.redactForgotten(strings.Join(w.in.Tags, "\n"))
		_, err := tx.Exec(`INSERT INTO documents (id, src, part, kind, title, author, language, tags, at, chunks, provenance, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (src, part) DO UPDATE SET kind = excluded.kind, title = excluded.title, author = excluded.author, language = excluded.language,
				tags = CASE WHEN excluded.tags = '' THEN documents.tags ELSE excluded.tags END, at = excluded.at, chunks = excluded.chunks, provenance = excluded.provenance`,
			p.id, w.src, d.Part, d.Kind, title, author, d.Language, tags, store.Millis(d.At), p.total, string(w.in.Provenance), store.Millis(w.in.Now))
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range p.chunks {
		if err := w.addStep(func(tx *store.Tx) error { return w.chunkTx(tx, c) }); err != nil {
			return err
		}
	}
	for _, ref := range p.gone {
		if err := w.addStep(func(tx *store.Tx) error { return w.l.opt.Base.UnindexTx(tx, knowledge.KindChunk, ref) }); err != nil {
			return err
		}
	}
	for list := range slices.Chunk(w.newPeople(p.people), peopleAtOnce) {
		if err := w.addStep(func(tx *store.Tx) error { return w.peopleTx(tx, list) }); err != nil {
			return err
		}
		if !w.whole {
			if err := w.flushSteps(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *sourceWriter) chunkTx(tx *store.Tx, c knowledge.Doc) error {
	if w.r.isRowForgotten(c) {
		return nil
	}
	c.Title, c.Text, c.Speaker = w.r.redactForgotten(c.Title), w.r.redactForgotten(c.Text), w.r.redactForgotten(c.Speaker)
	return w.l.opt.Base.IndexTx(tx, c)
}

// newPeople returns the people that the source has not named yet. A mailbox names the same people
// many times.
func (w *sourceWriter) newPeople(list []document.Person) (out []document.Person) {
	if w.met == nil {
		w.met = map[string]bool{}
	}
	for _, x := range list {
		key := strings.Join(slices.Concat([]string{x.Name, x.Org}, x.Mails, x.Phones), "\x00")
		if !w.met[key] {
			w.met[key] = true
			out = append(out, x)
		}
	}
	return out
}

func (w *sourceWriter) peopleTx(tx *store.Tx, list []document.Person) error {
	list = slices.DeleteFunc(slices.Clone(list), func(x document.Person) bool {
		return slices.ContainsFunc(slices.Concat([]string{x.Name, x.Org}, x.Mails, x.Phones), func(s string) bool { return w.r.redactForgotten(s) != s })
	})
	said, err := w.l.opt.Entities.PeopleTx(tx, list, w.sourceOrigin())
	w.told = append(w.told, said...)
	return err
}

func (w *sourceWriter) sourceOrigin() knowledge.TextOrigin {
	return knowledge.TextOrigin{Source: w.in.Source, Realm: w.in.Realm, Provenance: w.in.Provenance, Origins: w.in.Origins, At: w.in.Now}
}

// prunePeople deletes the relations of the source that its current version no longer contains.
func (w *sourceWriter) prunePeople() {
	if w.people && w.l.opt.Entities != nil {
		w.todo = append(w.todo, func(tx *store.Tx) error { return w.l.opt.Entities.KeepTx(tx, w.in.Realm, w.in.Source, w.told) })
	}
}

// dropDocument removes a document that the source no longer contains.
func (w *sourceWriter) dropDocument(id string) error {
	list, err := w.l.opt.Base.GroupRows(w.l.opt.Store.Reader(w.ctx), knowledge.KindChunk, id)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := w.addStep(func(tx *store.Tx) error { return w.l.opt.Base.UnindexTx(tx, c.Kind, c.Ref) }); err != nil {
			return err
		}
	}
	return w.addStep(func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM documents WHERE id = ?`, id)
		return err
	})
}

// finishSource marks the source as complete.
func (w *sourceWriter) finishSource() error {
	w.prunePeople()
	w.todo = append(w.todo, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM documents_forgotten WHERE place = ?`, hashSource(w.in.Realm, w.in.Source)); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE doc_sources SET digest = ?, trust = ?, error = '' WHERE n = ?`, w.sum, string(w.in.Trust), w.src)
		return err
	})
	return w.flushSteps()
}
