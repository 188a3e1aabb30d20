package embed

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/retry"
	"hob/platform/store"
)

const (
	readRows  = 256                    // docs per read
	gather    = 200 * time.Millisecond // collects rows that arrive within this time into one call
	firstWait = 2 * time.Second        // wait after the first failure; it doubles with each further failure
	longWait  = 10 * time.Minute
	tellEvery = 50 // number of steps after which the position is reported to the store
)

// Run follows the changes of docs until ctx ends. An unavailable embedder or an exhausted budget
// delays it but does not stop it.
func (v *Vectors) Run(ctx context.Context) error {
	for {
		err := v.catchUp(ctx, nil)
		if ctx.Err() != nil {
			return nil
		}
		v.recordOutcome(err)
		if !v.waitForWork(ctx, err) {
			return nil
		}
	}
}

// CatchUp embeds all pending rows and returns the first error. progress receives the number of
// processed rows; it may be nil.
func (v *Vectors) CatchUp(ctx context.Context, progress func(rows int)) error {
	err := v.catchUp(ctx, progress)
	v.recordOutcome(err)
	return err
}

// Reindex schedules a rebuild of all vectors. Existing vectors are used until they are replaced.
// Run or CatchUp does the work.
func (v *Vectors) Reindex(ctx context.Context) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.turn++
	s, f, err := v.loadState(ctx)
	if err != nil {
		return err
	}
	if s, err = v.startFullScan(ctx, s); err != nil {
		return err
	}
	s.anew = true
	if err := f.writeTx(ctx, func(tx *sql.Tx) error { return s.saveState(ctx, tx) }); err != nil {
		return v.discardIfDamaged(err)
	}
	v.queries.clearCache()
	v.Changed()
	return nil
}

func (v *Vectors) catchUp(ctx context.Context, progress func(int)) error {
	done, told := 0, false
	for step := 1; ; step++ {
		n, seq, more, err := v.syncBatch(ctx)
		if err != nil {
			return v.discardIfDamaged(err)
		}
		if done += n; progress != nil && n > 0 {
			progress(done)
		}
		told = told && n == 0
		if !told && (!more && done > 0 || step%tellEvery == 0) {
			if err := v.o.Store.Write(ctx, func(tx *store.Tx) error { return v.base.AckChangesTx(tx, Name, seq) }); err != nil {
				return err
			}
			told = true
		}
		if !more {
			return ctx.Err()
		}
	}
}

// recordOutcome records the result of the last attempt for Stats and the log.
func (v *Vectors) recordOutcome(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		if v.trouble != nil {
			v.o.Log.Info("embedding works again", "model", v.o.Model)
		}
		v.trouble, v.tries = nil, 0
		return
	}
	if v.trouble == nil || v.trouble.Error() != err.Error() {
		v.o.Log.Warn("embedding failed; new rows are searched by words only", "model", v.o.Model, "err", err)
	}
	v.trouble = err
	v.tries++
}

// waitForWork waits for a change or, after a failure, until the next attempt.
func (v *Vectors) waitForWork(ctx context.Context, failed error) bool {
	wait := gather
	if failed == nil {
		select {
		case <-ctx.Done():
			return false
		case <-v.wake:
		}
	} else {
		wait = v.waitFor(failed)
	}
	return retry.Sleep(ctx, wait) == nil
}

func (v *Vectors) waitFor(failed error) time.Duration {
	v.mu.Lock()
	tries := v.tries
	v.mu.Unlock()
	wait := retry.Backoff{First: firstWait, Max: longWait}.Delay(tries)
	e, ok := errors.AsType[*llm.Error](failed)
	switch {
	case ok && e.Kind == llm.Budget:
		wait = max(wait, time.Minute) // the budget may be raised, or a new day may start
	case ok:
		wait = max(wait, e.RetryAfter)
	}
	return wait
}

// loadState opens the file and reads its state.
func (v *Vectors) loadState(ctx context.Context) (syncState, *vectorFile, error) {
	f, err := v.openVectorFile(ctx)
	if err != nil {
		return syncState{}, nil, err
	}
	s, err := readState(ctx, f.w)
	return s, f, v.discardIfDamaged(err)
}

// syncBatch processes the next rows in one transaction. n is the number of rows, seq is the
// position reached, and more reports that there may be further rows. An erasure does not wait for
// the embedder: if an erasure runs during the call, the step is repeated.
func (v *Vectors) syncBatch(ctx context.Context) (n int, seq int64, more bool, err error) {
	v.stepping.Lock()
	defer v.stepping.Unlock()
	p, err := v.prepareBatch(ctx)
	if err != nil || p.n == 0 && p.after == p.s {
		return 0, p.s.seq, false, err
	}
	dims, err := v.computeVectors(ctx, p.s, &p.work)
	v.writing.Lock()
	defer v.writing.Unlock()
	switch {
	case p.turn != v.turn:
		return 0, p.s.seq, true, nil
	case errors.Is(err, errDims): // vectors of different lengths cannot be compared
		return 0, 0, false, errors.Join(err, v.dropAllVectors())
	case err != nil:
		return 0, 0, false, err
	}
	p.after.dims = dims
	if p.after.mark, _, err = v.base.ChangeMarker(v.o.Store.Reader(ctx), p.after.seq); err != nil {
		return 0, 0, false, err
	}
	err = p.f.writeTx(ctx, func(tx *sql.Tx) error {
		if err := p.work.applyTx(ctx, tx); err != nil {
			return err
		}
		return p.after.saveState(ctx, tx)
	})
	return p.n, p.after.seq, p.more, err
}

// preparedBatch is a batch that is complete except for its vectors.
type preparedBatch struct {
	f        *vectorFile
	s, after syncState
	work     batchWork
	n        int // rows
	more     bool
	turn     int
}

// prepareBatch determines the rows to process in the next step.
func (v *Vectors) prepareBatch(ctx context.Context) (p preparedBatch, err error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	p.turn = v.turn
	if p.s, p.f, err = v.loadState(ctx); err != nil {
		return p, err
	}
	if p.s, p.f, err = v.ensureConsistent(ctx, p.s, p.f); err != nil {
		return p, err
	}
	rows, after, more, err := v.nextRows(ctx, p.s)
	if p.after = after; err != nil || len(rows) == 0 && after == p.s {
		return p, err
	}
	return p, v.fillBatch(ctx, &p, rows, more)
}

// ensureConsistent checks that the file belongs to the current model and has missed no change.
// Otherwise it starts a scan of all docs.
func (v *Vectors) ensureConsistent(ctx context.Context, s syncState, f *vectorFile) (syncState, *vectorFile, error) {
	if s.model != "" && s.model != v.modelIdentity() {
		v.o.Log.Info("embedding model changed; vectors are rebuilt", "model", v.o.Model)
		if err := v.dropAllVectors(); err != nil {
			return s, f, err
		}
		var err error
		if s, f, err = v.loadState(ctx); err != nil {
			return s, f, err
		}
	}
	lost, err := v.hasLostChanges(ctx, s)
	if err != nil || !lost && s.model != "" {
		return s, f, err
	}
	if s, err = v.startFullScan(ctx, s); err != nil {
		return s, f, err
	}
	return s, f, f.writeTx(ctx, func(tx *sql.Tx) error { return s.saveState(ctx, tx) })
}

// hasLostChanges reports whether the store cannot continue from the saved position, because it
// dropped changes that are needed or the database was restored from another copy.
func (v *Vectors) hasLostChanges(ctx context.Context, s syncState) (bool, error) {
	q := v.o.Store.Reader(ctx)
	told, err := v.base.AckedChange(q, Name)
	if err != nil {
		return false, err
	}
	mark, known, err := v.base.ChangeMarker(q, s.seq)
	return !known || mark != s.mark || told == 0 && s.seq > 0, err
}

// startFullScan returns the state at the start of a scan of all docs. From then on the store keeps
// all changes for this consumer.
func (v *Vectors) startFullScan(ctx context.Context, s syncState) (syncState, error) {
	s.model, s.walking, s.walked, s.anew = v.modelIdentity(), true, 0, false
	err := v.o.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if s.seq, err = v.base.LastChange(tx); err != nil {
			return err
		}
		if err = v.base.AckChangesTx(tx, Name, s.seq); err == nil {
			s.mark, _, err = v.base.ChangeMarker(tx, s.seq)
		}
		return err
	})
	return s, err
}

// dropAllVectors deletes all vectors.
func (v *Vectors) dropAllVectors() error {
	v.queries.clearCache()
	return v.discardFile()
}

// nextRows returns the next rows and the state after all of them have been processed.
func (v *Vectors) nextRows(ctx context.Context, s syncState) (rows []knowledge.Change, after syncState, more bool, err error) {
	q := v.o.Store.Reader(ctx)
	after = s
	if !s.walking {
		if rows, err = v.base.Changes(q, s.seq, readRows); err != nil {
			return nil, s, false, err
		}
		for _, c := range rows {
			after.seq = max(after.seq, c.Seq)
		}
		return rows, after, len(rows) > 0, nil
	}
	if rows, err = v.base.RowsAfter(q, s.walked, readRows); err != nil {
		return nil, s, false, err
	}
	for _, c := range rows {
		after.walked = c.N
	}
	if len(rows) < readRows {
		after.walking, after.walked, after.anew = false, 0, false
	}
	return rows, after, true, nil
}

// batchWork lists the changes to make for some rows.
type batchWork struct {
	puts  []vectorRow
	texts []string
	moves []vectorRow
	drops []int64
}

// fillBatch adds the rows that fit into one call to the embedder.
func (v *Vectors) fillBatch(ctx context.Context, p *preparedBatch, rows []knowledge.Change, more bool) (err error) {
	if p.work, p.n, err = v.classifyRows(ctx, p.f, rows, p.s); err != nil {
		return err
	}
	if p.more = more; p.n < len(rows) {
		p.after, p.more = p.s.upTo(rows[:p.n]), true
	}
	if p.s.walking {
		p.work.drops, err = p.f.vanishedRows(ctx, p.s.walked, p.after, rows[:p.n])
	}
	return err
}

// upTo returns the state after only the given rows have been processed.
func (s syncState) upTo(rows []knowledge.Change) syncState {
	for _, c := range rows {
		if s.walking {
			s.walked = c.N
			continue
		}
		s.seq = max(s.seq, c.Seq)
	}
	return s
}

// classifyRows determines the operation for each of the first n rows.
func (v *Vectors) classifyRows(ctx context.Context, f *vectorFile, rows []knowledge.Change, s syncState) (w batchWork, n int, err error) {
	var ns []int64
	for _, c := range rows {
		ns = append(ns, c.N)
	}
	have, err := readStoredRows(ctx, f.w, joinInts(ns))
	if err != nil {
		return w, 0, err
	}
	for i, c := range rows {
		h, held := have[c.N]
		at := partition{c.Doc.Realm, c.Doc.Kind}
		text, hash := v.embeddingText(c.Doc)
		switch {
		case c.Gone:
			w.drops = append(w.drops, c.N)
		case held && bytes.Equal(h.hash, hash) && !s.anew:
			if h.at != at {
				w.moves = append(w.moves, vectorRow{n: c.N, at: at})
			}
		case len(w.puts) == v.o.Batch:
			return w, i, nil
		default:
			w.puts = append(w.puts, vectorRow{n: c.N, at: at, hash: hash})
			w.texts = append(w.texts, text)
		}
	}
	return w, len(rows), nil
}

// vanishedRows returns the stored rows in the scanned range that no longer exist in docs.
func (f *vectorFile) vanishedRows(ctx context.Context, from int64, after syncState, rows []knowledge.Change) (gone []int64, err error) {
	stmt, args := `SELECT n FROM vectors WHERE n > ?`, []any{from}
	if after.walking {
		stmt, args = stmt+` AND n <= ?`, append(args, after.walked)
	}
	ns, err := queryInts(ctx, f.w, stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("embed: find removed rows: %w", err)
	}
	for _, n := range ns {
		if !slices.ContainsFunc(rows, func(c knowledge.Change) bool { return c.N == n }) {
			gone = append(gone, n)
		}
	}
	return gone, nil
}

func (w batchWork) applyTx(ctx context.Context, tx *sql.Tx) error {
	wr := newWriter(ctx, tx)
	for _, n := range w.drops {
		if err := wr.dropRow(n); err != nil {
			return err
		}
	}
	for _, r := range w.moves {
		if err := wr.moveRow(r.n, r.at); err != nil {
			return err
		}
	}
	for _, r := range w.puts {
		if err := wr.putRow(r); err != nil {
			return err
		}
	}
	return wr.flushChunks()
}
