package evaluate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hob/platform/text/analyzer"
)

// simpleRanking is a baseline: BM25 over stems without stop words. With context, it multiplies the
// score of a person's rows by 1.6 and adds half of the scores of the adjacent rows.
type simpleRanking struct {
	rows    []Row
	terms   []map[string]float64
	lengths []float64
	average float64
	with    map[string]float64
	context bool
}

var stopWords = strings.Fields(`a about after all also am an and any are as at be because been before being but by can could d did do does doing
	down during each for from had has have having he her here him his how i if in into is it its just ll m me more most my no nor not of off
	on once only or other our out over own re s same she should so some such t than that the their them then there these they this those
	through to too under until up ve very was we were what when where which while who whom why will with would you your`)

func stemsOf(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if !slices.Contains(stopWords, w) {
			out = append(out, w)
		}
	}
	for i, w := range out {
		if v := analyzer.Query(w, []string{"en"}, 1); len(v) > 0 && len(v[0].Variants) > 1 {
			out[i] = v[0].Variants[1].Term
		}
	}
	return out
}

func newSimpleRanking(c Collection, context bool) *simpleRanking {
	s := &simpleRanking{rows: c.Rows, with: map[string]float64{}, context: context}
	for _, r := range c.Rows {
		freq := map[string]float64{}
		words := stemsOf(r.Title + " " + r.Text)
		for _, w := range words {
			freq[w]++
		}
		for w := range freq {
			s.with[w]++
		}
		s.terms, s.lengths = append(s.terms, freq), append(s.lengths, float64(len(words)))
		s.average += float64(len(words)) / float64(len(c.Rows))
	}
	return s
}

// rankRows returns the ids of the best rows for a question.
func (s *simpleRanking) rankRows(question string) (out []string) {
	n := len(s.rows)
	own := make([]float64, n+2) // padded with an empty row at both ends
	asked := stemsOf(question)
	slices.Sort(asked)
	for _, w := range slices.Compact(asked) {
		df := s.with[w]
		idf := math.Log(1 + (float64(n)-df+0.5)/(df+0.5))
		for i, freq := range s.terms {
			if tf := freq[w]; tf > 0 {
				own[i+1] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*s.lengths[i]/s.average))
			}
		}
	}
	order := make([]int, n)
	score := make([]float64, n)
	for i := range s.rows {
		order[i], score[i] = i, own[i+1]
		if s.context && s.rows[i].storedSpeaker() == "owner" {
			score[i] *= 1.6
		}
		if s.context {
			score[i] += (own[i] + own[i+2]) / 2
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	for _, i := range order[:min(n, depth)] {
		out = append(out, s.rows[i].ID)
	}
	return out
}

// signFlipP returns the two-sided p value of a sign-flip permutation test, which is the probability
// that the mean of the paired differences is as large by chance.
func signFlipP(differences []float64) float64 {
	sum := func(flip func() bool) (s float64) {
		for _, d := range differences {
			if flip() {
				d = -d
			}
			s += d
		}
		return math.Abs(s)
	}
	const rounds = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	real, extreme := sum(func() bool { return false }), 1
	for range rounds {
		if sum(func() bool { return r.IntN(2) == 0 }) >= real-1e-9 {
			extreme++
		}
	}
	return float64(extreme) / (rounds + 1)
}

func TestSignFlip(t *testing.T) {
	if p := signFlipP(slices.Repeat([]float64{1}, 20)); p > 0.001 {
		t.Errorf("signFlipP of a constant difference = %v", p)
	}
	if p := signFlipP(slices.Repeat([]float64{1, -1}, 20)); p < 0.5 {
		t.Errorf("signFlipP of no difference = %v", p)
	}
}

// TestConversations measures the retrieval with conversations that are not shipped with the
// program, and compares it with the baselines.
func TestConversations(t *testing.T) {
	if testing.Short() {
		t.Skip("the test takes long")
	}
	for _, tc := range []struct {
		set         string
		recall, any float64
	}{{"locomo", 0.79, 0.855}, {"beam", 0.58, 0.78}} {
		t.Run(tc.set, func(t *testing.T) {
			dirs := collectionDirs(tc.set)
			if len(dirs) == 0 {
				t.Skip("HOB_TEST_DATA contains no conversations")
			}
			r, err := Run(t.Context(), dirs, Options{Temp: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if r.Recall10 < tc.recall || r.Any10 < tc.any {
				t.Errorf("recall@10 %.4f, any@10 %.4f, want at least %v and %v", r.Recall10, r.Any10, tc.recall, tc.any)
			}
			t.Logf("recall@10 %.4f, any@10 %.4f, mrr %.4f, p95 %.1f ms", r.Recall10, r.Any10, r.MRR, r.P95)
			for name, context := range map[string]bool{"BM25": false, "with context": true} {
				var f Figures
				for _, q := range baselineResults(t, dirs, context) {
					f.addQuestion(q.relevant, q.found, 0)
				}
				f.divideSums()
				t.Logf("%s: recall@10 %.4f, any@10 %.4f", name, f.Recall10, f.Any10)
			}
		})
	}
}

// baselineResult is the answer of a baseline to one question.
type baselineResult struct {
	relevant map[string]int
	found    []string
}

func baselineResults(t *testing.T, dirs []string, context bool) (out []baselineResult) {
	t.Helper()
	for _, dir := range dirs {
		c, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := newSimpleRanking(c, context)
		for _, q := range c.Questions {
			out = append(out, baselineResult{q.Relevant, s.rankRows(q.Text)})
		}
	}
	return out
}

// recallOf returns the share of the relevant rows among the first results.
func recallOf(relevant map[string]int, found []string) float64 {
	n := 0
	for _, id := range found {
		if relevant[id] > 0 {
			n++
		}
	}
	return float64(n) / float64(len(relevant))
}
