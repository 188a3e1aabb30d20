// Package sorting sorts slices with one copy of the algorithm for all types. slices.SortFunc is
// compiled once per type of element, which costs 5 to 12 KB of the program each time.
package sorting

import "sort"

// ByFunc sorts list in ascending order as determined by compare, which returns a negative number
// when a comes before b. The order of equal elements may change; see slices.SortFunc.
func ByFunc[T any](list []T, compare func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// StableByFunc sorts list like ByFunc, but keeps the order of equal elements; see
// slices.SortStableFunc.
func StableByFunc[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
