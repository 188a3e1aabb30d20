package year

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var end = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)

const (
	seed      = 20261129
	questions = 200
)

// The same seed gives the same year, and for every question at least one row contains the answer.
func TestGenerate(t *testing.T) {
	y, again := Generate(seed, end, questions), Generate(seed, end, questions)
	if fmt.Sprint(y) != fmt.Sprint(again) {
		t.Error("the same seed creates another year")
	}
	for _, q := range y.Questions {
		if q.Want == "" || !slices.ContainsFunc(y.Rows, func(r Row) bool { return strings.Contains(r.Text, q.Want) }) {
			t.Errorf("no row has the answer %q of %q", q.Want, q.Text)
		}
	}
	if !slices.IsSortedFunc(y.Rows, func(a, b Row) int { return cmp.Compare(a.At.Unix(), b.At.Unix()) }) {
		t.Error("the rows are not in order")
	}
}
