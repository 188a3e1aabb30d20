package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, at int }

func TestStableByFunc_SortsAsTheStandardLibraryDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{r.IntN(20), i}
		}
		want, unstable := slices.Clone(list), slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		StableByFunc(list, byKey)
		if !slices.Equal(list, want) {
			t.Fatalf("StableByFunc = %v, want %v", list, want)
		}
		ByFunc(unstable, byKey)
		if !slices.IsSortedFunc(unstable, byKey) {
			t.Fatalf("ByFunc = %v, which is not sorted", unstable)
		}
	}
}
