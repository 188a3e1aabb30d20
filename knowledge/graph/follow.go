package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/retry"
	"hob/platform/store"
	say "hob/platform/text/triples"
)

// Name identifies the graph as a consumer of changes.
const Name = "graph"

// look is the interval at which Run checks for changes by other processes. retryAfter is the delay
// after a failure.
const (
	look       = time.Hour
	retryAfter = 30 * time.Second
)

// moment is the maximum time that a reader waits for the latest changes. atOnce is the maximum
// number of new names to search for in one step.
const (
	moment = 2 * time.Second
	atOnce = 20
)

// Run follows the changes of docs until ctx ends.
func (g *Graph) Run(ctx context.Context, b knowledge.ChangeSource) error {
	for {
		more, err := g.Follow(ctx, b)
		if more && err == nil {
			continue
		}
		wait := look
		if err != nil {
			wait = retryAfter
		}
		if err != nil && ctx.Err() == nil {
			g.o.Log.Warn("graph update failed; it will be retried", "err", err)
		}
		if retry.Wait(ctx, wait, g.wake) != nil {
			return nil
		}
	}
}

// Follow processes the next changes and reports whether there may be more.
func (g *Graph) Follow(ctx context.Context, b knowledge.ChangeSource) (more bool, err error) {
	g.following.Lock()
	defer g.following.Unlock()
	q := g.o.Store.Reader(ctx)
	var seq int64
	var regroup bool
	var mark string
	if err := q.QueryRow(`SELECT seq, regroup, `+knowledge.ErasureMarkSQL+` FROM graph_state`).Scan(&seq, &regroup, &mark); err != nil {
		return false, fmt.Errorf("graph: read position: %w", err)
	}
	list, err := b.Changes(q, seq, g.o.Follow)
	if err != nil {
		return false, err
	}
	if len(list) > 0 || regroup { // manual names set regroup without a change of a row
		erased := false
		if err := g.o.Store.Write(ctx, func(tx *store.Tx) error {
			now, err := knowledge.ErasureMark(tx)
			if erased = now != mark; err != nil || erased {
				return err
			}
			return g.changesTx(tx, b, list, seq)
		}); err != nil {
			g.resetNames() // the names may include those of the transaction that was rolled back
			return false, err
		}
		if erased { // the rows that were read may have been erased
			return true, nil
		}
	}
	again, err := g.backfillMentions(ctx, b)
	return again || len(list) == g.o.Follow, err
}

// refreshed is the maximum number of changes that Refresh processes.
const refreshed = 50

// Refresh processes the pending changes if there are few, so that a question that directly follows
// a statement finds its relations. It leaves a longer backlog to Run.
func (g *Graph) Refresh(ctx context.Context, b knowledge.ChangeSource) error {
	var behind int
	err := g.o.Store.Reader(ctx).QueryRow(`SELECT count(*) FROM (SELECT 1 FROM doc_changes WHERE seq > (SELECT seq FROM graph_state) LIMIT ?)`, refreshed+1).Scan(&behind)
	if err != nil {
		return fmt.Errorf("graph: read position: %w", err)
	}
	if behind == 0 || behind > refreshed {
		return nil
	}
	_, err = g.Follow(ctx, b)
	return err
}

// CatchUp processes changes until none is pending, for a limited time, so that a reader sees the
// latest messages.
func (g *Graph) CatchUp(ctx context.Context, b knowledge.ChangeSource) error {
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

func (g *Graph) changesTx(tx *store.Tx, b knowledge.ChangeSource, list []knowledge.Change, seq int64) error {
	for _, c := range list {
		seq = max(seq, c.Seq)
		if err := g.applyChangeTx(tx, b, c); err != nil {
			return err
		}
	}
	if err := g.regroupTx(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE graph_state SET seq = ?`, seq); err != nil {
		return fmt.Errorf("graph: save position: %w", err)
	}
	return b.AckChangesTx(tx, Name, seq)
}

// applyChangeTx updates the graph to the current content of one row of docs.
func (g *Graph) applyChangeTx(tx *store.Tx, b knowledge.ChangeSource, c knowledge.Change) error {
	if c.Gone {
		return nil // the triggers have removed the data of the row
	}
	m := &rowExtraction{g: g, tx: tx, doc: c.N, d: c.Doc, at: c.Doc.At}
	if err := m.clearDerived(); err != nil {
		return err
	}
	switch c.Doc.Kind {
	case knowledge.KindFact, knowledge.KindRetired:
		f, err := b.Fact(tx, c.Doc.Ref)
		if errors.Is(err, knowledge.ErrNotFound) { // the fact was deleted since; a separate change follows
			return nil
		}
		if err != nil {
			return err
		}
		m.fact = f
		if err := m.addFactStatements(); err != nil {
			return err
		}
		if err := m.keepLinks(); err != nil {
			return err
		}
	default:
		if err := m.addSpeaker(); err != nil {
			return err
		}
	}
	if err := m.addMentions(); err != nil {
		return err
	}
	return m.removeStale()
}

// addSpeaker creates an entity for the speaker of the row if the speaker is a name.
func (m *rowExtraction) addSpeaker() error {
	if !knowledge.IsPersonName(m.d.Speaker) {
		return nil
	}
	id, err := m.findOrCreateEntity(m.d.Speaker, knowledge.Person)
	if err != nil || id == "" {
		return err
	}
	return m.addMention(id)
}

// addFactStatements creates the entities and relations of a fact.
func (m *rowExtraction) addFactStatements() error {
	over := m.d.Kind == knowledge.KindRetired
	for _, s := range say.Read(m.fact.Text, m.fact.CreatedAt.UTC()) {
		if s.Attr == "" || s.Ended || s.Attr == say.Any {
			continue
		}
		if err := m.addStatement(s, over || s.Past); err != nil {
			return err
		}
	}
	return nil
}

// keepLinks keeps the manual links of a fact while the fact is valid.
func (m *rowExtraction) keepLinks() error {
	over := m.d.Kind == knowledge.KindRetired
	if err := m.execSQL(`UPDATE relations SET over = ?, valid_until = ? WHERE fact = ? AND doc = 0 AND fact <> ''`, over, unixMillis(m.fact.RetiredAt), m.d.Ref); err != nil {
		return err
	}
	ends := map[string]bool{}
	err := m.forEachString(func(s string) {
		from, to, _ := strings.Cut(s, " ")
		ends[from], ends[to] = true, true
	}, `SELECT from_id || ' ' || to_id FROM relations WHERE fact = ? AND doc = 0 AND fact <> ''`, m.d.Ref)
	if err != nil {
		return err
	}
	for id := range ends {
		if err := m.addMention(id); err != nil {
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
