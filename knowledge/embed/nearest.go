package embed

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/sorting"
)

// exactNumbers is the maximum number of values that an exact search compares (about 25 ms). Above
// it, Auto uses a first pass.
const exactNumbers = 4 << 20

var _ knowledge.Vectors = (*Vectors)(nil)

// Nearest implements knowledge.Vectors. It may wait for the embedder, so do not call it inside a
// write transaction.
func (v *Vectors) Nearest(ctx context.Context, q store.Querier, text string, kinds, realms []string, limit int) ([]knowledge.TermMatch, error) {
	if text = strings.TrimSpace(text); text == "" || limit <= 0 {
		return nil, nil
	}
	var s syncState
	var at partitionSet
	err := v.withVectorFile(ctx, func(f *vectorFile) (err error) {
		s, at, err = f.findPartitions(ctx, kinds, realms)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.model != v.modelIdentity() || at.rows == 0 { // the vectors are being rebuilt or empty, so do not embed the query
		return nil, nil
	}
	vector, err := v.queries.queryVector(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(vector) != 4*s.dims {
		return nil, fmt.Errorf("the embedder returns vectors of length %d, but the stored vectors have length %d; Hob is rebuilding them in the background; run hob memory reindex to rebuild them now", len(vector)/4, s.dims)
	}
	var matches []knowledge.TermMatch
	err = v.withVectorFile(ctx, func(f *vectorFile) (err error) {
		matches, err = f.nearestRows(ctx, vector, at, v.planSearch(at.rows, s.dims, limit))
		return err
	})
	if err != nil {
		return nil, err
	}
	return filterMatches(q, matches, kinds, realms, limit)
}

// searchPlan holds the number of first-pass rows to compare exactly, 0 for an exact search, and the
// number of rows to return.
type searchPlan struct{ rescored, limit int }

func (v *Vectors) planSearch(rows, dims, limit int) searchPlan {
	p := searchPlan{limit: limit + limit/2 + 8} // read additional rows, because some may have been deleted
	if first := v.o.FirstPass; first == On || first == Auto && rows*dims > exactNumbers {
		p.rescored = max(v.o.Rescored, 3*p.limit)
	}
	if p.rescored >= rows {
		p.rescored = 0
	}
	return p
}

// partitionSet lists the partitions to search.
type partitionSet struct {
	ids  string // list of ids for SQL IN
	rows int
}

// findPartitions returns the partitions of the kinds and realms, and their number of vectors.
func (f *vectorFile) findPartitions(ctx context.Context, kinds, realms []string) (s syncState, at partitionSet, err error) {
	if s, err = readState(ctx, f.r); err != nil || s.dims == 0 {
		return s, at, err
	}
	rows, err := f.r.QueryContext(ctx, `SELECT p.id, p.realm, p.kind, coalesce((SELECT sum(used) FROM chunks WHERE place = p.id), 0) FROM places p`)
	if err != nil {
		return s, at, fmt.Errorf("embed: read the partitions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var ids []int64
	for rows.Next() {
		var id int64
		var p partition
		var n int
		if err := rows.Scan(&id, &p.realm, &p.kind, &n); err != nil {
			return s, at, fmt.Errorf("embed: read the partitions: %w", err)
		}
		if n > 0 && slices.Contains(kinds, p.kind) && slices.Contains(realms, p.realm) {
			ids, at.rows = append(ids, id), at.rows+n
		}
	}
	at.ids = joinInts(ids)
	return s, at, rows.Err()
}

func (f *vectorFile) nearestRows(ctx context.Context, vector []byte, at partitionSet, p searchPlan) (out []knowledge.TermMatch, err error) {
	within := `place IN (` + at.ids + `) AND v IS NOT NULL`
	if p.rescored > 0 {
		ns, err := f.signCandidates(ctx, signBits(vector), at, p.rescored)
		if err != nil {
			return nil, err
		}
		within = `n IN (` + joinInts(ns) + `)`
	}
	rows, err := f.r.QueryContext(ctx, `SELECT n, vec_distance_cosine(v, ?) d FROM vectors WHERE `+within+` ORDER BY d, n LIMIT ?`, vector, p.limit)
	if err != nil {
		return nil, fmt.Errorf("embed: search vectors: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n int64
		var d float64
		if err := rows.Scan(&n, &d); err != nil {
			return nil, fmt.Errorf("embed: search vectors: %w", err)
		}
		out = append(out, knowledge.TermMatch{N: n, Score: 1 - d})
	}
	return out, rows.Err()
}

// signCandidates runs the first pass. It returns at most limit rows whose sign bits have the
// smallest Hamming distances to the sign bits of the query.
func (f *vectorFile) signCandidates(ctx context.Context, want []byte, at partitionSet, limit int) (_ []int64, err error) {
	best := newClosest(want, limit)
	rows, err := f.r.QueryContext(ctx, `SELECT ns, bits FROM chunks WHERE place IN (`+at.ids+`)`)
	if err != nil {
		return nil, fmt.Errorf("embed: run first pass: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var ns, signs sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&ns, &signs); err != nil {
			return nil, fmt.Errorf("embed: run first pass: %w", err)
		}
		best.scanChunk(ns, signs)
	}
	return best.sortedRows(), rows.Err()
}

// topK keeps the rows with the smallest Hamming distances. It counts the rows per distance to
// determine the distance at which the limit is reached, and drops rows with a greater distance.
type topK struct {
	want   []uint64
	limit  int
	counts []int // number of kept rows at each distance
	bound  int   // maximum useful distance
	kept   int   // number of rows within the bound
	rows   []nearRow
}

type nearRow struct {
	n        int64
	distance int
}

func newClosest(want []byte, limit int) *topK {
	c := &topK{limit: limit}
	for i := 0; i < len(want); i += 8 {
		c.want = append(c.want, binary.LittleEndian.Uint64(want[i:]))
	}
	c.counts = make([]int, 64*len(c.want)+1)
	c.bound = len(c.counts) - 1
	return c
}

func (c *topK) scanChunk(ns, signs []byte) {
	width := 8 * len(c.want)
	for len(ns) >= 8 && len(signs) >= width {
		d := hammingDistance(c.want, signs[:width])
		if d <= c.bound {
			c.addCandidate(int64(binary.LittleEndian.Uint64(ns)), d)
		}
		ns, signs = ns[8:], signs[width:]
	}
}

// hammingDistance returns the number of different bits. It processes four words at a time, which
// reduces the time by a third.
func hammingDistance(want []uint64, have []byte) (d int) {
	for len(want) >= 4 && len(have) >= 32 {
		d += bits.OnesCount64(want[0]^binary.LittleEndian.Uint64(have)) + bits.OnesCount64(want[1]^binary.LittleEndian.Uint64(have[8:])) +
			bits.OnesCount64(want[2]^binary.LittleEndian.Uint64(have[16:])) + bits.OnesCount64(want[3]^binary.LittleEndian.Uint64(have[24:]))
		want, have = want[4:], have[32:]
	}
	for i, w := range want {
		d += bits.OnesCount64(w ^ binary.LittleEndian.Uint64(have[8*i:]))
	}
	return d
}

func (c *topK) addCandidate(n int64, d int) {
	c.rows = append(c.rows, nearRow{n, d})
	c.counts[d]++
	c.kept++
	for c.bound > 0 && c.kept-c.counts[c.bound] >= c.limit {
		c.kept -= c.counts[c.bound]
		c.bound--
	}
	if len(c.rows) > 8*c.limit+1024 { // free the rows beyond the bound
		c.rows = slices.DeleteFunc(c.rows, func(r nearRow) bool { return r.distance > c.bound })
	}
}

// sortedRows returns the rows, closest first.
func (c *topK) sortedRows() []int64 {
	sorting.ByFunc(c.rows, func(a, b nearRow) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return int(a.n - b.n)
	})
	var out []int64
	for _, r := range c.rows[:min(len(c.rows), c.limit)] {
		out = append(out, r.n)
	}
	return out
}

// filterMatches removes rows that no longer belong to the kinds and realms. This is necessary
// because the vectors are updated asynchronously and a row number may have been reused.
func filterMatches(q store.Querier, matches []knowledge.TermMatch, kinds, realms []string, limit int) (out []knowledge.TermMatch, err error) {
	if len(matches) == 0 {
		return nil, nil
	}
	ns := make([]int64, len(matches))
	for i, m := range matches {
		ns[i] = m.N
	}
	rows, err := q.Query(`SELECT n, kind, realm FROM docs WHERE n IN (` + joinInts(ns) + `)`)
	if err != nil {
		return nil, fmt.Errorf("embed: check the matches: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	there := map[int64]bool{}
	for rows.Next() {
		var n int64
		var kind, realm string
		if err := rows.Scan(&n, &kind, &realm); err != nil {
			return nil, fmt.Errorf("embed: check the matches: %w", err)
		}
		there[n] = slices.Contains(kinds, kind) && slices.Contains(realms, realm)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("embed: check the matches: %w", err)
	}
	for _, m := range matches {
		if there[m.N] && len(out) < limit {
			out = append(out, m)
		}
	}
	return out, nil
}
