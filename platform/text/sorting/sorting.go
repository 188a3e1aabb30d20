// Package sorting sorts slices with one copy of the algorithm for all types. slices.SortFunc is
// compiled once per type of element, which costs 5 to 12 KB of the program each time.
package sorting

import "sort"

// ByFunc sorts list in ascending order as determined by compare, which returns a negative number
// when a comes before b. The order of equal elements may change; see slices.SortFunc.
func ByFunc[T any](list []T, compare func(a, b T) int) {
	sort.Sort(compared[T]{list, compare})
}

// StableByFunc sorts as ByFunc does, but keeps the order of equal elements; see slices.SortStableFunc.
func StableByFunc[T any](list []T, compare func(a, b T) int) {
	sort.Stable(compared[T]{list, compare})
}

type compared[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (c compared[T]) Len() int           { return len(c.list) }
func (c compared[T]) Less(i, j int) bool { return c.compare(c.list[i], c.list[j]) < 0 }
func (c compared[T]) Swap(i, j int)      { c.list[i], c.list[j] = c.list[j], c.list[i] }
