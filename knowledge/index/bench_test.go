package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/knowledge"
	"hob/knowledge/index"
	"hob/platform/store"
)

// vocabulary is the number of distinct words in the generated rows.
const vocabulary = 60_000

func randomWord(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for n += 7; n > 0; n /= 70 {
		b.WriteByte(consonants[n%14])
		b.WriteByte(vowels[n/14%5])
	}
	return b.String()
}

// addZipfRows creates rows of 20 to 59 words. As in real texts, the most frequent word occurs in almost
// every row, and most words occur in few rows.
func addZipfRows(w *indexFixture, b testing.TB, n int) *rand.Zipf {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.1, 2, vocabulary)
	kinds := []string{"fact", "note", "turn", "turn", "turn", "chunk"}
	for i := 0; i < n; {
		failOnError(b, w.st.Write(b.Context(), func(tx *store.Tx) error {
			for range 5000 {
				if i++; i > n {
					return nil
				}
				words := make([]string, 20+r.IntN(40))
				for k := range words {
					words[k] = randomWord(z.Uint64())
				}
				d := knowledge.Doc{Kind: kinds[i%len(kinds)], Ref: strconv.Itoa(i), Text: strings.Join(words, " "), At: t0.Add(time.Duration(i) * time.Minute), Speaker: []string{"owner", "hob", "Ana"}[i%3]}
				if err := w.base.IndexTx(tx, d); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return z
}

func anonymousMemory() int {
	runtime.GC()
	debug.FreeOSMemory()
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	return 0
}

// BenchmarkWords measures three kinds of queries: rare words, only common words, and eight random
// words. HOB_BENCH_ROWS sets the number of rows.
func BenchmarkWords(b *testing.B) {
	n := 10_000
	if s := os.Getenv("HOB_BENCH_ROWS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	w := openFixture(b)
	before := anonymousMemory()
	z := addZipfRows(w, b, n)
	start := time.Now()
	failOnError(b, w.ix.CatchUp(b.Context()))
	built := time.Since(start)
	w.reopenIndex(b, index.Options{})
	w.findNotes(b, "warm up")
	s, err := w.ix.Stats(b.Context())
	failOnError(b, err)
	b.Logf("%d rows: built in %v, %d segments, %d MB on disk, anonymous %d kB more", n, built, s.Segments, s.Bytes>>20, anonymousMemory()-before)
	pick := map[string]func(r *rand.Rand) string{
		"rare": func(r *rand.Rand) string {
			return randomWord(5000+r.Uint64N(20000)) + " " + randomWord(1000+r.Uint64N(4000))
		},
		"common": func(r *rand.Rand) string {
			return randomWord(r.Uint64N(5)) + " " + randomWord(r.Uint64N(20)) + " " + randomWord(r.Uint64N(50))
		},
		"one": func(r *rand.Rand) string { return randomWord(r.Uint64N(3)) },
		"asked": func(*rand.Rand) string {
			var out []string
			for range 8 {
				out = append(out, randomWord(z.Uint64()))
			}
			return strings.Join(out, " ")
		},
		"loose": func(r *rand.Rand) string {
			return randomWord(5000 + r.Uint64N(20000))[:3] + "x " + randomWord(1000+r.Uint64N(4000))
		},
	}
	for _, name := range []string{"rare", "common", "one", "asked", "loose"} {
		b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			var took []time.Duration
			for b.Loop() {
				q := knowledge.TermQuery{Text: pick[name](r), Kinds: []string{"fact", "note", "turn", "chunk", "task", "mail"}, Realms: []string{""}, Limit: 200, Loose: name == "loose"}
				start := time.Now()
				w.searchTerms(b, q)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
		})
	}
}
