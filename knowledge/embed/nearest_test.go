package embed

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for words := range 14 {
		want, have, sum := make([]uint64, words), make([]byte, 8*words), 0
		for i := range want {
			want[i] = r.Uint64()
			x := r.Uint64()
			binary.LittleEndian.PutUint64(have[8*i:], x)
			sum += bits.OnesCount64(want[i] ^ x)
		}
		if d := hammingDistance(want, have); d != sum {
			t.Errorf("%d words: %d, want %d", words, d, sum)
		}
	}
}

// The first pass keeps exactly the closest rows, in any input order.
func TestTopK(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, rows := range []int{0, 1, 19, 20, 21, 5000, 40_000} {
		want := make([]byte, 16)
		c := newClosest(want, 20)
		type at struct {
			n, d int
		}
		var all []at
		var ns, signs []byte
		for n := 1; n <= rows; n++ {
			var b [16]byte
			for range r.IntN(60) {
				i := r.IntN(128)
				b[i/8] |= 1 << (i % 8)
			}
			d := 0
			for _, x := range b {
				d += bits.OnesCount8(x)
			}
			all = append(all, at{n, d})
			ns, signs = binary.LittleEndian.AppendUint64(ns, uint64(n)), append(signs, b[:]...)
			if n%100 == 0 || n == rows {
				c.scanChunk(ns, signs)
				ns, signs = nil, nil
			}
		}
		slices.SortStableFunc(all, func(x, y at) int { return x.d - y.d })
		var exact []int64
		for _, a := range all[:min(len(all), 20)] {
			exact = append(exact, int64(a.n))
		}
		if got := c.sortedRows(); !slices.Equal(got, exact) {
			t.Errorf("%d rows: %v, want %v", rows, got, exact)
		}
	}
}
