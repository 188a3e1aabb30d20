package all_test

import (
	"slices"
	"testing"

	"hob/channels/all"
)

func TestNamesAreUniqueAndSorted(t *testing.T) {
	var names []string
	for _, d := range all.Drivers() {
		names = append(names, d.Name())
	}
	if len(names) == 0 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("drivers: %q", names)
	}
}
