package embed

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"hob/autonomy/llm"
	"hob/knowledge"
)

// maxSimilar is the maximum number of texts whose vectors Similarities keeps in memory.
const maxSimilar = 500

// Similarities returns the cosine similarity, from -1 to 1, of a query with each of a few short texts
// that are not docs, such as the descriptions of skills. It embeds each text once. If the embedder
// does not answer in time, it returns ErrSlow; the vectors so far are kept for the next call. A nil
// Vectors returns knowledge.ErrNoEmbedder.
func (v *Vectors) Similarities(ctx context.Context, query string, texts []string) ([]float32, error) {
	if v == nil {
		return nil, knowledge.ErrNoEmbedder
	}
	return v.queries.compareTexts(ctx, query, texts)
}

func (q *queryCache) compareTexts(ctx context.Context, query string, texts []string) ([]float32, error) {
	if len(texts) > maxSimilar {
		return nil, fmt.Errorf("embed: %d texts to compare, at most %d are allowed", len(texts), maxSimilar)
	}
	asked, err := q.queryVector(ctx, query)
	if err != nil {
		return nil, err
	}
	vectors, err := q.textVectors(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(texts))
	for i, v := range vectors {
		out[i] = dotPacked(asked, v)
	}
	return out, nil
}

// textVectors returns the packed vectors of texts, from the cache if possible.
func (q *queryCache) textVectors(ctx context.Context, texts []string) ([][]byte, error) {
	q.mu.Lock()
	known := maps.Clone(q.texts)
	q.mu.Unlock()
	var missing []string
	for _, t := range texts {
		if known[t] == nil && !slices.Contains(missing, t) {
			missing = append(missing, t)
		}
	}
	within, cancel := context.WithTimeout(ctx, q.o.QueryTimeout)
	defer cancel()
	for batch := range slices.Chunk(missing, q.o.Batch) {
		prefixed := make([]string, len(batch))
		for i, t := range batch {
			prefixed[i] = q.o.DocumentPrefix + truncateBytes(t, longQuery)
		}
		list, _, err := q.o.Embedder.Embed(within, prefixed)
		switch {
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			return nil, ErrSlow
		case err != nil:
			return nil, fmt.Errorf("embed texts: %w", err)
		case len(list) != len(batch):
			return nil, &llm.Error{Kind: llm.Garbled, Provider: q.o.Model, Message: "the embedder did not return one vector for each text"}
		}
		q.mu.Lock()
		if q.texts == nil || len(q.texts)+len(batch) > 2*maxSimilar {
			q.texts = map[string][]byte{}
		}
		for i, t := range batch {
			if one := normalizeVector(list[i]); one != nil {
				q.texts[t] = packVector(one)
			}
		}
		known = maps.Clone(q.texts)
		q.mu.Unlock()
	}
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = known[t]
	}
	return out, nil
}

// dotPacked returns the dot product of two packed vectors, 0 if they have different lengths.
func dotPacked(a, b []byte) float32 {
	if len(a) != len(b) {
		return 0
	}
	var sum float64
	for i := 0; i+4 <= len(a); i += 4 {
		x, y := math.Float32frombits(binary.LittleEndian.Uint32(a[i:])), math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		sum += float64(x) * float64(y)
	}
	return float32(sum)
}
