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
	"hob/knowledge/store"
)

const (
	readRows  = 256                    // docs per read
	gather    = 200 * time.Millisecond // collects rows that arrive together into one call
	firstWait = 2 * time.Second        // after a failure; doubles each time
	longWait  = 10 * time.Minute
	tellEvery = 50 // number of steps between reports of the position to the store
)

// Run follows the changes of docs until ctx ends. An unavailable embedder or an exhausted budget
// only delays it.
func (v *Vectors) Run(ctx context.Context) error {
	for {
		err := v.catchUp(ctx, nil)
		if ctx.Err() != nil {
			return nil
		}
		v.note(err)
		if !v.pause(ctx, err) {
			return nil
		}
	}
}

// CatchUp embeds all pending rows. It returns the first error. progress, if not nil, receives the
// number of processed rows.
func (v *Vectors) CatchUp(ctx context.Context, progress func(rows int)) error {
	err := v.catchUp(ctx, progress)
	v.note(err)
	return err
}

// Reindex schedules a rebuild of all vectors. Existing vectors are used until they are replaced.
// Run or CatchUp does the work.
func (v *Vectors) Reindex(ctx context.Context) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.turn++
	s, f, err := v.state(ctx)
	if err != nil {
		return err
	}
	if s, err = v.begin(ctx, s); err != nil {
		return err
	}
	s.anew = true
	if err := f.write(ctx, func(tx *sql.Tx) error { return s.write(ctx, tx) }); err != nil {
		return v.met(err)
	}
	v.queries.forget()
	v.Changed()
	return nil
}

func (v *Vectors) catchUp(ctx context.Context, progress func(int)) error {
	done, told := 0, false
	for step := 1; ; step++ {
		n, seq, more, err := v.step(ctx)
		if err != nil {
			return v.met(err)
		}
		if done += n; progress != nil && n > 0 {
			progress(done)
		}
		told = told && n == 0
		if !told && (!more && done > 0 || step%tellEvery == 0) {
			if err := v.o.Store.Write(ctx, func(tx *store.Tx) error { return v.base.DoneTx(tx, Name, seq) }); err != nil {
				return err
			}
			told = true
		}
		if !more {
			return ctx.Err()
		}
	}
}

// note records the result of the last attempt for Stats and the log.
func (v *Vectors) note(err error) {
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

// pause waits for a change, or after a failure until the next attempt.
func (v *Vectors) pause(ctx context.Context, failed error) bool {
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
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (v *Vectors) waitFor(failed error) time.Duration {
	v.mu.Lock()
	tries := v.tries
	v.mu.Unlock()
	wait := min(firstWait<<min(max(tries-1, 0), 20), longWait)
	e, ok := errors.AsType[*llm.Error](failed)
	switch {
	case ok && e.Kind == llm.Budget:
		wait = max(wait, time.Minute) // the user may raise a budget, or a new day may begin
	case ok:
		wait = max(wait, e.RetryAfter)
	}
	return wait
}

// state opens the file and reads its state.
func (v *Vectors) state(ctx context.Context) (state, *file, error) {
	f, err := v.file(ctx)
	if err != nil {
		return state{}, nil, err
	}
	s, err := readState(ctx, f.w)
	return s, f, v.met(err)
}

// step processes the next rows in one transaction. n is the number of rows, seq the position
// reached, and more reports that other rows may follow. An erasure does not wait for the embedder:
// if one happens during the call, the step is repeated.
func (v *Vectors) step(ctx context.Context) (n int, seq int64, more bool, err error) {
	v.stepping.Lock()
	defer v.stepping.Unlock()
	p, err := v.prepare(ctx)
	if err != nil || p.n == 0 && p.after == p.s {
		return 0, p.s.seq, false, err
	}
	dims, err := v.embed(ctx, p.s, &p.work)
	v.writing.Lock()
	defer v.writing.Unlock()
	switch {
	case p.turn != v.turn:
		return 0, p.s.seq, true, nil
	case errors.Is(err, errDims): // vectors of different lengths cannot be compared
		return 0, 0, false, errors.Join(err, v.empty())
	case err != nil:
		return 0, 0, false, err
	}
	p.after.dims = dims
	if p.after.mark, _, err = v.base.Mark(v.o.Store.Reader(ctx), p.after.seq); err != nil {
		return 0, 0, false, err
	}
	err = p.f.write(ctx, func(tx *sql.Tx) error {
		if err := p.work.apply(ctx, tx); err != nil {
			return err
		}
		return p.after.write(ctx, tx)
	})
	return p.n, p.after.seq, p.more, err
}

// prepared is a batch that only lacks its vectors.
type prepared struct {
	f        *file
	s, after state
	work     work
	n        int // rows
	more     bool
	turn     int
}

// prepare determines the work of the next step.
func (v *Vectors) prepare(ctx context.Context) (p prepared, err error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	p.turn = v.turn
	if p.s, p.f, err = v.state(ctx); err != nil {
		return p, err
	}
	if p.s, p.f, err = v.sound(ctx, p.s, p.f); err != nil {
		return p, err
	}
	rows, after, more, err := v.next(ctx, p.s)
	if p.after = after; err != nil || len(rows) == 0 && after == p.s {
		return p, err
	}
	return p, v.fill(ctx, &p, rows, more)
}

// sound ensures that the file belongs to the current model and missed no change. Otherwise it
// starts a scan of all docs.
func (v *Vectors) sound(ctx context.Context, s state, f *file) (state, *file, error) {
	if s.model != "" && s.model != v.identity() {
		v.o.Log.Info("embedding model changed; vectors are rebuilt", "model", v.o.Model)
		if err := v.empty(); err != nil {
			return s, f, err
		}
		var err error
		if s, f, err = v.state(ctx); err != nil {
			return s, f, err
		}
	}
	lost, err := v.lost(ctx, s)
	if err != nil || !lost && s.model != "" {
		return s, f, err
	}
	if s, err = v.begin(ctx, s); err != nil {
		return s, f, err
	}
	return s, f, f.write(ctx, func(tx *sql.Tx) error { return s.write(ctx, tx) })
}

// lost reports whether the store no longer continues the stored position: needed changes were
// dropped, or the database was restored from another copy.
func (v *Vectors) lost(ctx context.Context, s state) (bool, error) {
	q := v.o.Store.Reader(ctx)
	told, err := v.base.Done(q, Name)
	if err != nil {
		return false, err
	}
	mark, known, err := v.base.Mark(q, s.seq)
	return !known || mark != s.mark || told == 0 && s.seq > 0, err
}

// begin returns the state at the start of a scan of all docs. From then on the store keeps changes
// for this consumer.
func (v *Vectors) begin(ctx context.Context, s state) (state, error) {
	s.model, s.walking, s.walked, s.anew = v.identity(), true, 0, false
	err := v.o.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if s.seq, err = v.base.LastChange(tx); err != nil {
			return err
		}
		if err = v.base.DoneTx(tx, Name, s.seq); err == nil {
			s.mark, _, err = v.base.Mark(tx, s.seq)
		}
		return err
	})
	return s, err
}

// empty deletes all vectors.
func (v *Vectors) empty() error {
	v.queries.forget()
	return v.discard()
}

// next reads the next rows, and the state after processing all of them.
func (v *Vectors) next(ctx context.Context, s state) (rows []knowledge.Change, after state, more bool, err error) {
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
	if rows, err = v.base.All(q, s.walked, readRows); err != nil {
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

// work lists the changes to make for some rows.
type work struct {
	puts  []row
	texts []string
	moves []row
	drops []int64
}

// fill adds as many rows as fit into one call to the embedder.
func (v *Vectors) fill(ctx context.Context, p *prepared, rows []knowledge.Change, more bool) (err error) {
	if p.work, p.n, err = v.sort(ctx, p.f, rows, p.s); err != nil {
		return err
	}
	if p.more = more; p.n < len(rows) {
		p.after, p.more = p.s.upTo(rows[:p.n]), true
	}
	if p.s.walking {
		p.work.drops, err = p.f.between(ctx, p.s.walked, p.after, rows[:p.n])
	}
	return err
}

// upTo returns the state after processing only these rows.
func (s state) upTo(rows []knowledge.Change) state {
	for _, c := range rows {
		if s.walking {
			s.walked = c.N
			continue
		}
		s.seq = max(s.seq, c.Seq)
	}
	return s
}

// sort decides what to do with each of the first n rows.
func (v *Vectors) sort(ctx context.Context, f *file, rows []knowledge.Change, s state) (w work, n int, err error) {
	var ns []int64
	for _, c := range rows {
		ns = append(ns, c.N)
	}
	have, err := lookUp(ctx, f.w, joined(ns))
	if err != nil {
		return w, 0, err
	}
	for i, c := range rows {
		h, held := have[c.N]
		at := place{c.Doc.Realm, c.Doc.Kind}
		text, hash := v.text(c.Doc)
		switch {
		case c.Gone:
			w.drops = append(w.drops, c.N)
		case held && bytes.Equal(h.hash, hash) && !s.anew:
			if h.at != at {
				w.moves = append(w.moves, row{n: c.N, at: at})
			}
		case len(w.puts) == v.o.Batch:
			return w, i, nil
		default:
			w.puts = append(w.puts, row{n: c.N, at: at, hash: hash})
			w.texts = append(w.texts, text)
		}
	}
	return w, len(rows), nil
}

// between returns the stored rows in the scanned range that no longer exist in docs.
func (f *file) between(ctx context.Context, from int64, after state, rows []knowledge.Change) (gone []int64, err error) {
	stmt, args := `SELECT n FROM vectors WHERE n > ?`, []any{from}
	if after.walking {
		stmt, args = stmt+` AND n <= ?`, append(args, after.walked)
	}
	ns, err := numbers(ctx, f.w, stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	for _, n := range ns {
		if !slices.ContainsFunc(rows, func(c knowledge.Change) bool { return c.N == n }) {
			gone = append(gone, n)
		}
	}
	return gone, nil
}

func (w work) apply(ctx context.Context, tx *sql.Tx) error {
	wr := newWriter(ctx, tx)
	for _, n := range w.drops {
		if err := wr.drop(n); err != nil {
			return err
		}
	}
	for _, r := range w.moves {
		if err := wr.move(r.n, r.at); err != nil {
			return err
		}
	}
	for _, r := range w.puts {
		if err := wr.put(r); err != nil {
			return err
		}
	}
	return wr.flush()
}
