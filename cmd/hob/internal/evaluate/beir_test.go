package evaluate

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	tests := []struct {
		name                        string
		relevant                    map[string]int
		found                       string
		recall5, recall10, any, all float64
		mrr, ndcg                   float64
	}{
		{"first", map[string]int{"a": 1}, "a b c", 1, 1, 1, 1, 1, 1},
		{"second of two", map[string]int{"a": 1, "z": 1}, "b a", 0.5, 0.5, 1, 0, 0.5, 1 / math.Log2(3) / (1 + 1/math.Log2(3))},
		{"seventh", map[string]int{"a": 1}, "b c d e f g a", 0, 1, 1, 1, 1.0 / 7, 1 / math.Log2(8)},
		{"eleventh does not count", map[string]int{"a": 1}, "1 2 3 4 5 6 7 8 9 10 a", 0, 0, 0, 0, 0, 0},
		{"nothing found", map[string]int{"a": 1}, "", 0, 0, 0, 0, 0, 0},
		{"grades", map[string]int{"a": 1, "b": 2}, "a b", 1, 1, 1, 1, 1, (1 + 3/math.Log2(3)) / (3 + 1/math.Log2(3))},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var f Figures
			f.addQuestion(tc.relevant, strings.Fields(tc.found), time.Millisecond)
			f.divideSums()
			got := []float64{f.Recall5, f.Recall10, f.Any10, f.All10, f.MRR, f.NDCG10}
			for i, want := range []float64{tc.recall5, tc.recall10, tc.any, tc.all, tc.mrr, tc.ndcg} {
				if math.Abs(got[i]-want) > 1e-9 {
					t.Errorf("figure %d is %v, want %v", i, got[i], want)
				}
			}
			if f.P50 != 1 || f.P95 != 1 {
				t.Errorf("percentiles = %v, %v", f.P50, f.P95)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"2026-03-09T12:00:00Z", "2026-03-09T12:00:00Z"},
		{"2026-03-09T12:00:00+02:00", "2026-03-09T10:00:00Z"},
		{"2026-03-09", "2026-03-09T00:00:00Z"},
		{"1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z"},
		{"8 May 2023", "2023-05-08T00:00:00Z"},
	} {
		got, err := readTime(tc.text)
		if err != nil || got.UTC().Format(time.RFC3339) != tc.want {
			t.Errorf("%q: readTime = %v, %v", tc.text, got, err)
		}
	}
	if _, err := readTime("whenever"); err == nil {
		t.Error("readTime accepts a text without a time")
	}
}

// FuzzRead checks that the line readers do not panic and return complete results.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"_id":"1","text":"Ana: hi","metadata":{"speaker":"Ana","session":"s","time":"8 May 2023"}}`, `{"_id":1}`, `{}`, "q\td\t1", "q\td", "q\td\t-1", "\xff", `{"_id":"1","text":"x","metadata":{"speaker":["a"],"category":3}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := readRow([]byte(s)); err == nil && (r.ID == "" || r.Text+r.Title == "" && r.Speaker == "") {
			t.Errorf("row %+v", r)
		}
		if q, err := readQuestion([]byte(s)); err == nil && q.ID == "" {
			t.Errorf("question %+v", q)
		}
		if _, _, grade, err := readGrade(s); err == nil && grade > 1000 {
			t.Errorf("grade %d", grade)
		}
		_ = scanLines(strings.NewReader(s), "x", func([]byte) error { return nil })
	})
}
