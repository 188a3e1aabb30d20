package year

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/autonomy/turn/prompt"
	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/knowledge/index"
	"hob/platform/provenance"
	"hob/platform/store"
)

// openMemory opens a memory with the rows of a year.
func openMemory(t *testing.T, y Year) (*store.Store, *knowledge.Base) {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(dir, "hob.db"), append(knowledge.Migrations(), graph.Migrations(), prompt.Migrations()), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	ix, err := index.New(st, filepath.Join(dir, "index"), index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	g, err := graph.New(graph.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	b, err := knowledge.New(st, knowledge.Options{Index: ix, Graph: g})
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(y.Rows, 200) {
		if err := st.Write(t.Context(), func(tx *store.Tx) error {
			for _, r := range part {
				if err := putRow(tx, b, r); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = g.Follow(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return st, b
}

// tokens is the limit for the recalled text.
const tokens = 600

var rows int

// putRow stores a row in the same way as the package that owns its kind.
func putRow(tx *store.Tx, b *knowledge.Base, r Row) error {
	rows++
	src := provenance.Owner
	switch {
	case r.Outside:
		src = provenance.Outside
	case r.Speaker == knowledge.ByHob:
		src = provenance.Hob
	}
	if r.Kind == knowledge.KindFact {
		_, err := b.RememberTx(tx, knowledge.Fact{Text: r.Text, Provenance: src, CreatedAt: r.At})
		return err
	}
	d := knowledge.Doc{Kind: r.Kind, Ref: "x" + strconv.Itoa(rows), Title: r.Title, Text: r.Text, At: r.At, Provenance: src, Group: r.Group, Pos: r.Pos, Speaker: r.Speaker}
	if r.Outside {
		d.Origins = []provenance.Origin{{Kind: "mail", Label: r.Group}}
	}
	return b.IndexTx(tx, d)
}

// recallFor returns the recalled text in the prompt of a message, and the time of the turn's prompt.
func recallFor(t *testing.T, b *prompt.Builder, text string) (string, time.Duration) {
	t.Helper()
	begun := time.Now()
	p, err := b.Begin(t.Context(), prompt.TurnContext{Session: "s", Text: text, Source: provenance.Owner, Attended: true, OwnerWords: []string{text}, Now: end})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	var out []string
	for _, x := range p.Context {
		if !strings.HasPrefix(x.Text, "[context]") {
			out = append(out, x.Text)
		}
	}
	return strings.Join(out, "\n"), took
}

// withoutSpaces removes the spaces, because the graph stores phone numbers without them.
func withoutSpaces(s string) string { return strings.ReplaceAll(s, " ", "") }

// TestAutomaticRecall asks 200 questions and sends 100 irrelevant messages after a synthetic year.
// HOB_YEAR_SEED selects another year. docs/retrieval.md has the figures.
func TestAutomaticRecall(t *testing.T) {
	from := uint64(seed)
	if s := os.Getenv("HOB_YEAR_SEED"); s != "" {
		var err error
		if from, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	y := Generate(from, end, questions)
	st, base := openMemory(t, y)
	b, err := prompt.New(prompt.Options{Store: st, Memory: base})
	if err != nil {
		t.Fatal(err)
	}
	found, asked, size := map[string]int{}, map[string]int{}, 0
	var times []time.Duration
	for _, q := range y.Questions {
		text, took := recallFor(t, b, q.Text)
		times = append(times, took)
		size = max(size, len(text))
		asked[q.Category]++
		if strings.Contains(withoutSpaces(text), withoutSpaces(q.Want)) {
			found[q.Category]++
		} else {
			t.Logf("missed (%s): %s, want %q, got\n%s", q.Category, q.Text, q.Want, text)
		}
	}
	quiet := 0
	for _, s := range y.Irrelevant {
		text, took := recallFor(t, b, s)
		times = append(times, took)
		if text == "" {
			quiet++
		} else {
			t.Logf("not quiet: %s\n%s", s, text)
		}
	}
	all := 0
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		all += found[name]
		t.Logf("| %s | %d | %d | %.3f |", name, asked[name], found[name], float64(found[name])/float64(asked[name]))
	}
	slices.Sort(times)
	t.Logf("%d rows; found %d of %d; quiet %d of %d; at most %d tokens; p50 %s, p95 %s", len(y.Rows), all, len(y.Questions), quiet, len(y.Irrelevant), size/4, times[len(times)/2], times[len(times)*95/100])
	if share := float64(all) / float64(len(y.Questions)); share < 0.9 {
		t.Errorf("the answer is in %.3f of the prompts, want 0.9", share)
	}
	if share := float64(quiet) / float64(len(y.Irrelevant)); share < 0.95 {
		t.Errorf("%.3f of the irrelevant messages get nothing, want 0.95", share)
	}
	if size/4 > tokens {
		t.Errorf("a prompt recalls %d tokens, want at most %d", size/4, tokens)
	}
}
