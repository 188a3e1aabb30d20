package bench

import (
	"context"
	"hash/fnv"
	"strings"

	"hob/autonomy/llm"
)

// hashEmbedder is a very cheap embedder: the vector of a text is the sum of a hashed direction per
// word; longer words, which are rarer, weigh more. It ignores meaning, but texts that share words
// get similar vectors, as with a real embedder.
type hashEmbedder int

// Embed implements llm.Embedder.
func (n hashEmbedder) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, n)
		for w := range strings.FieldsSeq(strings.ToLower(text)) {
			n.addWord(v, strings.Trim(w, ".,?"))
		}
		out[i] = v
	}
	return out, llm.Usage{}, nil
}

func (n hashEmbedder) addWord(v []float32, word string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(word)) // never fails
	s := h.Sum64()
	weight := float32(min(len(word), 8)*min(len(word), 8)) / 64
	var bits uint64
	for i := range v {
		if i%64 == 0 { // splitmix64 (https://prng.di.unimi.it/splitmix64.c)
			s += 0x9e3779b97f4a7c15
			bits = s
			bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
			bits = (bits ^ bits>>27) * 0x94d049bb133111eb
			bits ^= bits >> 31
		}
		if bits>>(i%64)&1 == 1 {
			v[i] += weight
		} else {
			v[i] -= weight
		}
	}
}
