package evaluate

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/text/credential"
)

var (
	learnWeights = flag.Bool("learn", false, "learn the ranking weights from the collections in HOB_TEST_DATA")
	ablateParts  = flag.Bool("ablate", false, "also learn the weights without each part")
)

// learnedParts are the parts of a score whose weights are learned. The first has weight 1. The
// other parts of a score (facts, graph, age) do not occur in the collections.
var learnedParts = []string{
	"words", "window", "session", "opening", "lead", "exchange", "speaker", "rule",
	"question", "time", "number", "date",
}

// TestLearnWeights learns the weights of the ranking over all collections together and prints
// them. Each conversation is measured with weights learned from the others:
//
//	go test ./cmd/hob/internal/evaluate -run TestLearnWeights -learn [-ablate] -v
func TestLearnWeights(t *testing.T) {
	if !*learnWeights {
		t.Skip("needs -learn")
	}
	var list []example // ordered by collection and question
	for _, set := range []string{"beam", "locomo"} {
		list = append(list, readExamples(t, set)...)
	}
	all := make([]int, len(learnedParts))
	for i := range all {
		all[i] = i
	}
	w := fitWeights(list, all, nil, 150)
	for i, name := range learnedParts {
		t.Logf("%-9s %.3f", name, w[i]/w[0])
	}
	t.Log("trained on all: ", summarizeExamples(list, func(example) []float64 { return w }))
	held := heldOut(list, all, w)
	t.Log("held out:       ", summarizeExamples(list, held))
	at := 0
	for _, set := range []string{"beam", "locomo"} {
		var recall, found []float64
		for _, base := range baselineResults(t, collectionDirs(set), true) {
			e := list[at]
			best := e.rankRows(held(e))
			r, b := recallOf(e.relevant, best), recallOf(e.relevant, base.found)
			recall, found = append(recall, r-b), append(found, boolToFloat(r > 0)-boolToFloat(b > 0))
			at++
		}
		t.Logf("%s against the baseline with context: p %.4f for recall@10, %.4f for any@10", set, signFlipP(recall), signFlipP(found))
	}
	if *ablateParts {
		for i := 1; i < len(all); i++ {
			without := slices.Delete(slices.Clone(all), i, i+1)
			v := fitWeights(list, without, w, 40)
			t.Logf("without %-9s %s", learnedParts[i], summarizeExamples(list, func(example) []float64 { return v }))
		}
	}
}

// example is one question with the parts of the scores of its rows.
type example struct {
	set, conversation string
	relevant          map[string]int
	ids               []string
	parts             [][]float64 // by row and learned part
}

func collectionDirs(set string) []string {
	data := cmp.Or(os.Getenv("HOB_TEST_DATA"), filepath.Join("..", "..", "..", "..", "..", "shared", "data"))
	dirs, _ := filepath.Glob(filepath.Join(data, set, set+"-*"))
	return dirs
}

// readExamples ranks the rows with all weights set to 1, so that the parts of the scores are the
// features.
func readExamples(t *testing.T, set string) (out []example) {
	t.Helper()
	ctx := t.Context()
	tune := knowledge.DefaultTuning()
	for _, name := range learnedParts[1:] {
		reflect.ValueOf(&tune).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:]).SetFloat(1)
	}
	b, err := openBase(ctx, Options{Temp: t.TempDir(), Tuning: tune})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.closeBase(); err != nil {
			t.Error(err)
		}
	}()
	for i, dir := range collectionDirs(set) {
		c, err := Read(dir)
		if err == nil {
			err = b.fillCollection(ctx, collectionRealm(i), c)
		}
		if err == nil {
			err = b.waitIndexed(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range c.Questions {
			a, err := b.know.RetrieveNow(ctx, knowledge.Request{Text: q.Text, Realm: collectionRealm(i), Limit: 1000, Now: dayAfterNewest(c), Viewer: credential.Everything()})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, newExample(set, c.Name, q, a.Hits, len(collectionRealm(i))+1))
		}
	}
	return out
}

func newExample(set, conversation string, q Question, hits []knowledge.Hit, prefix int) example {
	e := example{set: set, conversation: conversation, relevant: q.Relevant}
	most := 0.5
	for _, h := range hits {
		parts := make([]float64, len(learnedParts))
		for _, p := range h.Parts {
			if p.Name == "beside" {
				p.Name = "words"
			}
			if i := slices.Index(learnedParts, p.Name); i >= 0 {
				parts[i] += p.Value
			}
		}
		most = max(most, parts[0])
		e.ids, e.parts = append(e.ids, h.Ref[prefix:]), append(e.parts, parts)
	}
	for _, parts := range e.parts { // normalize, so that questions of different length are comparable
		for i := range parts {
			parts[i] /= most
		}
	}
	return e
}

func (e *example) scoreRows(w []float64) []float64 {
	out := make([]float64, len(e.parts))
	for r, parts := range e.parts {
		for i, x := range parts {
			out[r] += w[i] * x
		}
	}
	return out
}

// heldOut returns the weights for each question. They are learned, starting from w, from all
// conversations except the question's own.
func heldOut(list []example, use []int, w []float64) func(example) []float64 {
	by := map[string][]float64{}
	for _, e := range list {
		if by[e.conversation] == nil {
			rest := slices.DeleteFunc(slices.Clone(list), func(o example) bool { return o.conversation == e.conversation })
			by[e.conversation] = fitWeights(rest, use, w, 40)
		}
	}
	return func(e example) []float64 { return by[e.conversation] }
}

func summarizeExamples(list []example, weights func(example) []float64) string {
	var names []string
	by := map[string]*Figures{}
	for _, e := range list {
		if by[e.set] == nil {
			names = append(names, e.set)
			by[e.set] = &Figures{}
		}
		by[e.set].addQuestion(e.relevant, e.rankRows(weights(e)), 0)
	}
	out := ""
	for _, n := range names {
		by[n].divideSums()
		out += fmt.Sprintf("  %s recall@10 %.4f any@10 %.4f", n, by[n].Recall10, by[n].Any10)
	}
	return out
}

func (e *example) rankRows(w []float64) (out []string) {
	scores := e.scoreRows(w)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order[:min(len(order), depth)] {
		out = append(out, e.ids[i])
	}
	return out
}

// fitWeights minimizes the listwise softmax loss (https://doi.org/10.1145/1273496.1273513) of the
// relevant rows with Adam (https://arxiv.org/abs/1412.6980). Each set has the same total weight.
func fitWeights(list []example, use []int, start []float64, rounds int) []float64 {
	questions := map[string]float64{}
	for _, e := range list {
		questions[e.set]++
	}
	scale := partDeviations(list)
	w := make([]float64, len(learnedParts))
	for _, i := range use {
		if start != nil {
			w[i] = start[i] * scale[i]
		}
	}
	mean, square := make([]float64, len(w)), make([]float64, len(w))
	scaled := make([]float64, len(w))
	for round := 1; round <= rounds; round++ {
		for i := range w {
			scaled[i] = w[i] / scale[i]
		}
		slope := make([]float64, len(w))
		for _, e := range list {
			e.addSlope(scaled, slope, 1/questions[e.set]/float64(len(questions)))
		}
		rate := 0.1
		if round > rounds*2/3 {
			rate = 0.02
		}
		for _, i := range use {
			g := slope[i]/scale[i] + 1e-3*w[i]
			mean[i], square[i] = 0.9*mean[i]+0.1*g, 0.99*square[i]+0.01*g*g
			m, s := mean[i]/(1-math.Pow(0.9, float64(round))), square[i]/(1-math.Pow(0.99, float64(round)))
			w[i] -= rate * m / (math.Sqrt(s) + 1e-8)
		}
	}
	for i := range w {
		w[i] /= scale[i]
	}
	return w
}

func partDeviations(list []example) []float64 {
	n := len(learnedParts)
	sum, square, rows := make([]float64, n), make([]float64, n), 0.0
	for _, e := range list {
		for _, parts := range e.parts {
			rows++
			for i, x := range parts {
				sum[i], square[i] = sum[i]+x, square[i]+x*x
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		mean := sum[i] / max(rows, 1)
		out[i] = math.Sqrt(max(square[i]/max(rows, 1)-mean*mean, 1e-9))
	}
	return out
}

// addSlope adds the gradient of the loss of one question, times its weight.
func (e *example) addSlope(w, slope []float64, weight float64) {
	p := e.scoreRows(w)
	if len(p) == 0 {
		return
	}
	top := slices.Max(p)
	others, found := 0.0, 0.0
	for r := range p {
		p[r] = math.Exp(p[r] - top)
		if e.relevant[e.ids[r]] > 0 {
			found++
		} else {
			others += p[r]
		}
	}
	share := 0.0 // each relevant row competes with the rows that are not relevant
	for r := range p {
		if e.relevant[e.ids[r]] > 0 {
			share += 1 / (others + p[r] + 1e-12)
		}
	}
	for r, parts := range e.parts {
		c := p[r] * share
		if e.relevant[e.ids[r]] > 0 {
			c = p[r]/(others+p[r]+1e-12) - 1
		}
		if c *= weight / max(found, 1); math.Abs(c) > 1e-12 {
			for i, x := range parts {
				slope[i] += c * x
			}
		}
	}
}
