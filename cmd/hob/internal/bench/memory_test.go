package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCorpus_IsReproducible(t *testing.T) {
	a, b := newCorpus(), newCorpus()
	kinds := map[string]int{}
	for range 5000 {
		x, y := a.nextRow(), b.nextRow()
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatal(diff)
		}
		if strings.TrimSpace(x.Text) == "" || x.At.IsZero() || x.Ref == "" {
			t.Fatalf("an empty row: %+v", x)
		}
		kinds[x.Kind]++
	}
	if len(kinds) != 4 || len(a.seen) == 0 || !cmp.Equal(a.seen[0], b.seen[0], cmp.AllowUnexported(searchQuestion{})) {
		t.Errorf("kinds %v, %d questions", kinds, len(a.seen))
	}
}

func TestSizes(t *testing.T) {
	for rows, want := range map[int][]int{
		1000: {1000}, 5000: {1000, 3000, 5000}, 10_000: {1000, 3000, 10_000}, 1_000_000: {1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000},
	} {
		if got := measuredSizes(rows); !cmp.Equal(got, want) {
			t.Errorf("%d: measuredSizes = %v", rows, got)
		}
	}
}

func TestChart_IsSVG(t *testing.T) {
	for name, list := range map[string][]Growth{
		"none": nil,
		"one":  {{Rows: 1000, P95: 1}},
		"many": {{Rows: 1000, P95: 1, P50: 0.1, Anonymous: 1e7}, {Rows: 100_000, P95: 30, P50: 2, Anonymous: 4e7, Exact95: 700}},
	} {
		d := xml.NewDecoder(strings.NewReader(GrowthChart(list)))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if s := GrowthChart(list); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s: GrowthChart = %s", name, s)
		}
	}
}

// Texts with common words have nearer vectors than other texts.
func TestHashing(t *testing.T) {
	v, _, err := hashEmbedder(256).Embed(t.Context(), []string{"the kettle whistles", "whistles the kettle.", "a garden in spring"})
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b []float32) float64 {
		var ab, aa, bb float64
		for i := range a {
			ab, aa, bb = ab+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
		}
		return ab / math.Sqrt(aa*bb)
	}
	if same, other := near(v[0], v[1]), near(v[0], v[2]); same < 0.99 || other > 0.4 {
		t.Errorf("cosine of similar texts %f, of different texts %f", same, other)
	}
}
