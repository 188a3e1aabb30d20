package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/autonomy/llm"
)

const (
	keepQueries = 64 // number of recent queries whose vectors are cached
	// after this many consecutive slow queries, the embedder is not used for slowRest, because a
	// search by words is fast
	slowInARow = 2
	slowRest   = 30 * time.Second
	longQuery  = 2000 // maximum length of a query in bytes
)

// ErrSlow reports that the embedder did not answer in time.
var ErrSlow = errors.New("the embedder did not answer in time; searched by words only")

// queryCache embeds query texts and caches the latest vectors.
type queryCache struct {
	o Options

	mu    sync.Mutex
	kept  []keptQuery       // cached queries, newest last
	texts map[string][]byte // vectors of the texts of Similarities
	slow  int
	until time.Time
}

type keptQuery struct {
	text string
	v    []byte
}

func newQueries(o Options) *queryCache { return &queryCache{o: o} }

// queryVector returns the packed vector of a query.
func (q *queryCache) queryVector(ctx context.Context, text string) ([]byte, error) {
	if len(text) > longQuery {
		text = truncateBytes(text, longQuery)
	}
	v, rests := q.lookupVector(text)
	if v != nil {
		return v, nil
	}
	if rests {
		return nil, ErrSlow
	}
	within, cancel := context.WithTimeout(ctx, q.o.QueryTimeout)
	defer cancel()
	list, _, err := q.o.Embedder.Embed(within, []string{q.o.QueryPrefix + text})
	late := within.Err() != nil && ctx.Err() == nil
	q.recordLatency(late)
	switch {
	case err != nil && late:
		return nil, ErrSlow
	case err != nil:
		return nil, fmt.Errorf("embed the query: %w", err)
	case len(list) != 1:
		return nil, &llm.Error{Kind: llm.Garbled, Provider: q.o.Model, Message: "the embedder did not return exactly one vector for the query"}
	}
	one := normalizeVector(list[0])
	if one == nil {
		return nil, &llm.Error{Kind: llm.Garbled, Provider: q.o.Model, Message: "the embedder returned a zero vector"}
	}
	v = packVector(one)
	q.cacheVector(text, v)
	return v, nil
}

func (q *queryCache) lookupVector(text string) (v []byte, rests bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.kept, func(k keptQuery) bool { return k.text == text })
	if i < 0 {
		return nil, q.slow >= slowInARow && time.Now().Before(q.until)
	}
	k := q.kept[i]
	q.kept = append(slices.Delete(q.kept, i, i+1), k)
	return k.v, false
}

func (q *queryCache) recordLatency(late bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !late {
		q.slow = 0
		return
	}
	q.slow++
	q.until = time.Now().Add(slowRest)
}

func (q *queryCache) cacheVector(text string, v []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.kept) >= keepQueries {
		q.kept = slices.Delete(q.kept, 0, 1)
	}
	q.kept = append(q.kept, keptQuery{text, v})
}

// clearCache clears the cache, because a query may contain erased text.
func (q *queryCache) clearCache() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept, q.texts = nil, nil
}
