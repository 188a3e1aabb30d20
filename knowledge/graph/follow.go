package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	say "hob/platform/statement"
)

// Name under which the graph tells the base what it holds.
const Name = "graph"

// look is how often the graph looks for changes that nobody told it of, such as
// those of another process, and retry how soon it tries again what failed.
const (
	look  = time.Hour
	retry = 30 * time.Second
)

// moment is how long somebody who looks waits for what was just said, and atOnce
// how many new names are looked for in one step.
const (
	moment = 2 * time.Second
	atOnce = 20
)

// Base is what the graph follows.
type Base interface {
	Changes(q store.Querier, after int64, limit int) ([]knowledge.Change, error)
	DoneTx(tx *store.Tx, name string, seq int64) error
	Fact(q store.Querier, id string) (knowledge.Fact, error)
	Search(q store.Querier, text string, opt knowledge.SearchOptions) ([]knowledge.Hit, error)
}

// Run follows the changes of docs until ctx ends.
func (g *Graph) Run(ctx context.Context, b Base) error {
	for {
		more, err := g.Follow(ctx, b)
		if more && err == nil {
			continue
		}
		wait := look
		if err != nil {
			wait = retry
		}
		if err != nil && ctx.Err() == nil {
			g.o.Log.Warn("graph update failed; it will be retried", "err", err)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-g.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

// Follow takes in the next changes and reports whether there may be more.
func (g *Graph) Follow(ctx context.Context, b Base) (more bool, err error) {
	g.following.Lock()
	defer g.following.Unlock()
	q := g.o.Store.Reader(ctx)
	var seq int64
	if err := q.QueryRow(`SELECT seq FROM graph_state`).Scan(&seq); err != nil {
		return false, fmt.Errorf("graph: state: %w", err)
	}
	list, err := b.Changes(q, seq, g.o.Follow)
	if err != nil {
		return false, err
	}
	if len(list) > 0 {
		if err := g.o.Store.Write(ctx, func(tx *store.Tx) error { return g.changesTx(tx, b, list, seq) }); err != nil {
			g.forgetNames() // it may know some that were not kept
			return false, err
		}
	}
	again, err := g.back(ctx, b)
	return again || len(list) == g.o.Follow, err
}

// CatchUp follows until nothing is left to take in, but not longer than a
// moment: who looks shall see what was just said.
func (g *Graph) CatchUp(ctx context.Context, b Base) error {
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	for {
		more, err := g.Follow(ctx, b)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if !more || err != nil {
			return nil
		}
	}
}

func (g *Graph) changesTx(tx *store.Tx, b Base, list []knowledge.Change, seq int64) error {
	for _, c := range list {
		seq = max(seq, c.Seq)
		if err := g.takeTx(tx, b, c); err != nil {
			return err
		}
	}
	if err := g.regroupTx(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE graph_state SET seq = ?`, seq); err != nil {
		return fmt.Errorf("graph: state: %w", err)
	}
	return b.DoneTx(tx, Name, seq)
}

// takeTx brings the graph to one row of docs as it is now.
func (g *Graph) takeTx(tx *store.Tx, b Base, c knowledge.Change) error {
	if c.Gone {
		return nil // the triggers have taken it out
	}
	m := &making{g: g, tx: tx, doc: c.N, d: c.Doc, at: c.Doc.At}
	if err := m.clear(); err != nil {
		return err
	}
	switch c.Doc.Kind {
	case knowledge.KindFact, knowledge.KindRetired:
		f, err := b.Fact(tx, c.Doc.Ref)
		if errors.Is(err, knowledge.ErrNotFound) { // it went since; its own change comes
			return nil
		}
		if err != nil {
			return err
		}
		m.fact = f
		if err := m.facts(); err != nil {
			return err
		}
		if err := m.linked(); err != nil {
			return err
		}
	default:
		if err := m.speaker(); err != nil {
			return err
		}
	}
	if err := m.mentions(); err != nil {
		return err
	}
	return m.tidy()
}

// speaker makes an entity of who said something, where that is a name.
func (m *making) speaker() error {
	if !knowledge.Named(m.d.Speaker) {
		return nil
	}
	id, err := m.entity(m.d.Speaker, knowledge.Person)
	if err != nil || id == "" {
		return err
	}
	return m.mention(id)
}

// facts makes entities and relations of what a fact says.
func (m *making) facts() error {
	over := m.d.Kind == knowledge.KindRetired
	for _, s := range say.Read(m.fact.Text, m.fact.CreatedAt.UTC()) {
		if s.Attr == "" || s.Ended || s.Attr == say.Any {
			continue
		}
		if err := m.statement(s, over || s.Past); err != nil {
			return err
		}
	}
	return nil
}

// linked keeps what was linked because of the fact, as long as that is so.
func (m *making) linked() error {
	over := m.d.Kind == knowledge.KindRetired
	if err := m.exec(`UPDATE relations SET over = ?, valid_until = ? WHERE fact = ? AND doc = 0 AND fact <> ''`, over, millis(m.fact.RetiredAt), m.d.Ref); err != nil {
		return err
	}
	ends := map[string]bool{}
	err := m.each(func(s string) {
		from, to, _ := strings.Cut(s, " ")
		ends[from], ends[to] = true, true
	}, `SELECT from_id || ' ' || to_id FROM relations WHERE fact = ? AND doc = 0 AND fact <> ''`, m.d.Ref)
	if err != nil {
		return err
	}
	for id := range ends {
		if err := m.mention(id); err != nil {
			return err
		}
	}
	for n := range m.old {
		if ends[n.entity] {
			delete(m.old, n)
		}
	}
	return nil
}
