package evaluate

import (
	"math"
	"slices"
	"time"

	"hob/platform/text/sorting"
)

// Figures holds retrieval metrics as means over the questions.
type Figures struct {
	Name      string  `json:"name,omitempty"`
	Questions int     `json:"questions"`
	Rows      int     `json:"rows,omitempty"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Any5      float64 `json:"any@5"`
	Any10     float64 `json:"any@10"`
	All5      float64 `json:"all@5"`
	All10     float64 `json:"all@10"`
	MRR       float64 `json:"mrr"` // over the first 10 results
	NDCG10    float64 `json:"ndcg@10"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`

	took []time.Duration
}

// depth is the number of results that are evaluated.
const depth = 10

// addQuestion adds the result for one question. found lists the ids of the results, best first.
func (f *Figures) addQuestion(relevant map[string]int, found []string, took time.Duration) {
	f.Questions++
	f.took = append(f.took, took)
	found = found[:min(len(found), depth)]
	hits, gain := 0, 0.0
	at5 := 0
	for i, id := range found {
		grade := relevant[id]
		if grade == 0 {
			continue
		}
		hits++
		if hits == 1 {
			f.MRR += 1 / float64(i+1)
		}
		if i < 5 {
			at5++
		}
		gain += (math.Exp2(float64(grade)) - 1) / math.Log2(float64(i+2))
	}
	n := float64(len(relevant))
	f.Recall5 += float64(at5) / n
	f.Recall10 += float64(hits) / n
	f.Any5 += boolToFloat(at5 > 0)
	f.Any10 += boolToFloat(hits > 0)
	f.All5 += boolToFloat(at5 == len(relevant))
	f.All10 += boolToFloat(hits == len(relevant))
	f.NDCG10 += gain / idealGain(relevant)
}

func boolToFloat(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// idealGain returns the gain of the optimal order.
func idealGain(relevant map[string]int) (gain float64) {
	var grades []int
	for _, g := range relevant {
		grades = append(grades, g)
	}
	sorting.ByFunc(grades, func(a, b int) int { return b - a })
	for i, g := range grades[:min(len(grades), depth)] {
		gain += (math.Exp2(float64(g)) - 1) / math.Log2(float64(i+2))
	}
	return gain
}

// addSums adds the sums in o.
func (f *Figures) addSums(o Figures) {
	f.Questions += o.Questions
	f.Rows += o.Rows
	f.took = append(f.took, o.took...)
	mine := f.sumFields()
	for i, v := range o.sumFields() {
		*mine[i] += *v
	}
}

func (f *Figures) sumFields() []*float64 {
	return []*float64{&f.Recall5, &f.Recall10, &f.Any5, &f.Any10, &f.All5, &f.All10, &f.MRR, &f.NDCG10}
}

// divideSums converts sums into means.
func (f *Figures) divideSums() {
	for _, v := range f.sumFields() {
		*v /= float64(max(f.Questions, 1))
	}
	slices.Sort(f.took)
	f.P50, f.P95 = quantileMillis(f.took, 0.5), quantileMillis(f.took, 0.95)
}

// quantileMillis returns a quantile of the times in milliseconds.
func quantileMillis(took []time.Duration, q float64) float64 {
	if len(took) == 0 {
		return 0
	}
	i := min(int(math.Ceil(q*float64(len(took))))-1, len(took)-1)
	return float64(took[max(i, 0)].Microseconds()) / 1000
}
