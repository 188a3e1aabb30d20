package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"hob/platform/store"
	"hob/platform/text/analyzer"
	"hob/platform/text/sorting"
)

// Limits of a scan over the newest rows.
const (
	scanned     = 20_000 // rows that are searched for an exact text
	mostScanned = 5_000  // rows that are searched for words
)

// Scan is an Index without stored data. Each search reads the newest 5,000 rows. It is the fallback
// if no other Index is set.
type Scan struct{ weights Weights }

// NewScan returns a Scan. The default weights are 2 for the title and 1 for the speaker.
func NewScan(w Weights) *Scan {
	if w == (Weights{}) {
		w = Weights{Title: 2, Speaker: 1}
	}
	return &Scan{w}
}

// BM25 returns the score of one word with the given inverse document frequency, frequency and row
// length, with k1 = 0.9 and b = 0.4 (https://en.wikipedia.org/wiki/Okapi_BM25).
func BM25(weight, freq, length, avg float64) float64 {
	const k1, b = 0.9, 0.4
	return weight * freq * (k1 + 1) / (freq + k1*(1-b+b*length/max(avg, 1)))
}

// wordIndex returns the configured Index or the fallback.
func (b *Base) wordIndex() Index {
	if b.opt.Index != nil {
		return b.opt.Index
	}
	return NewScan(Weights{})
}

type scannedRow struct {
	n int64
	t analyzer.Doc
}

// SearchTerms implements Index.
func (s *Scan) SearchTerms(q store.Querier, w TermQuery) (WordAnswer, error) {
	if len(w.Kinds) == 0 || len(w.Realms) == 0 {
		return WordAnswer{}, nil
	}
	rows, langs, err := s.scanRows(q, w)
	if err != nil {
		return WordAnswer{}, fmt.Errorf("knowledge: scan rows: %w", err)
	}
	out := WordAnswer{Rows: len(rows)}
	words := analyzer.Query(w.Text, langs, 64)
	freqs := make([][]float64, 0, len(words))
	for i := range words {
		f := make([]float64, len(rows))
		df := 0
		for k, r := range rows {
			if f[k] = words[i].Freq(r.t, w.Loose); f[k] > 0 {
				df++
			}
		}
		if df == 0 && words[i].Extra {
			continue
		}
		freqs = append(freqs, f)
		weight := math.Log(1 + (float64(len(rows)-df)+0.5)/(float64(df)+0.5))
		out.Words = append(out.Words, QueryTerm{Text: words[i].Text, Rows: df, Weight: weight})
	}
	out.Matches = s.rankScanned(rows, out.Words, freqs)
	limit := w.Limit
	if limit <= 0 {
		limit = 200
	}
	out.Matches = out.Matches[:min(len(out.Matches), limit)]
	return out, nil
}

func (s *Scan) rankScanned(rows []scannedRow, words []QueryTerm, freqs [][]float64) []TermMatch {
	length := 0
	for _, r := range rows {
		length += r.t.Length
	}
	avg := float64(length) / float64(max(1, len(rows)))
	var out []TermMatch
	for k, r := range rows {
		m := TermMatch{N: r.n}
		for i := range words {
			if f := freqs[i][k]; f > 0 {
				m.Has |= 1 << i
				m.Score += BM25(words[i].Weight, f, float64(r.t.Length), avg)
			}
		}
		if m.Has != 0 {
			out = append(out, m)
		}
	}
	sorting.ByFunc(out, func(a, b TermMatch) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.N, a.N)) })
	return out
}

func (s *Scan) scanRows(q store.Querier, w TermQuery) (out []scannedRow, langs []string, err error) {
	args := make([]any, 0, len(w.Kinds)+len(w.Realms))
	for _, k := range w.Kinds {
		args = append(args, k)
	}
	for _, r := range w.Realms {
		args = append(args, r)
	}
	rows, err := q.Query(`SELECT d.n, d.title, d.text, d.speaker, d.at FROM docs d WHERE d.kind IN (`+sqlPlaceholders(len(w.Kinds))+`) AND d.realm IN (`+sqlPlaceholders(len(w.Realms))+`)
		ORDER BY d.n DESC`+atMost(mostScanned), args...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r scannedRow
		var d Doc
		var at int64
		if err := rows.Scan(&r.n, &d.Title, &d.Text, &d.Speaker, &at); err != nil {
			return nil, nil, err
		}
		d.At = store.Time(at)
		r.t = AnalyzeDoc(d, s.weights)
		if r.t.Lang != "" && !slices.Contains(langs, r.t.Lang) {
			langs = append(langs, r.t.Lang)
		}
		out = append(out, r)
	}
	return out, langs, rows.Err()
}

// sqlPlaceholders returns n SQL placeholders.
func sqlPlaceholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
