package bench

import (
	"context"
	"hash/fnv"
	"strings"

	"hob/autonomy/llm"
)

// hashing is an embedder that costs next to nothing: a text is the sum of a
// direction for each of its words, which follows from the word; rare words,
// which are long as a rule, count more. It knows no meaning, and its vectors
// lie as those of real ones do in this: texts with common words are near.
type hashing int

// Embed implements llm.Embedder.
func (n hashing) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, n)
		for w := range strings.FieldsSeq(strings.ToLower(text)) {
			n.add(v, strings.Trim(w, ".,?"))
		}
		out[i] = v
	}
	return out, llm.Usage{}, nil
}

func (n hashing) add(v []float32, word string) {
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
