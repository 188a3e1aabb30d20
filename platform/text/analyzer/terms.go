// Package analyzer tokenizes text for search. It folds case, accents and possessives, and emits
// each word as written and as its stem. For scripts without word separators it emits bigrams. For
// names with punctuation ("invoice-4711.pdf") it emits the complete name and its parts.
//
// It stores no index and ranks nothing. Documents and queries must be analyzed with the same
// version; see Version.
package analyzer

import (
	"slices"
	"strings"
)

// Version changes whenever the same text results in different terms.
const Version = 1

// Bounds on the work for one text.
const (
	maxTerm = 64      // maximum length of a term in bytes; longer words are truncated
	maxText = 1 << 20 // maximum number of bytes of a text that are analyzed
)

// Part is one text of a row with the weight of its words.
type Part struct {
	Text   string
	Weight int
}

// Doc contains the terms of a row.
type Doc struct {
	Freq   map[string]int // number of occurrences times the weight
	Length int            // words
	Lang   string         // language of the words in Latin script, or "" if it is unknown; for other scripts, the script
}

// Of analyzes the parts of a row.
func Of(parts ...Part) Doc {
	d := Doc{Freq: make(map[string]int, 32)}
	lists := make([][]token, len(parts))
	var all profile
	for i, p := range parts {
		lists[i] = tokenizeText(p.Text)
		all.addTokens(lists[i])
	}
	latin := all.latinLanguage()
	d.Lang = all.rowLanguage(latin)
	for i, list := range lists {
		w := max(parts[i].Weight, 1)
		for _, t := range list {
			d.addToken(t, latin, w)
		}
	}
	return d
}

func (d *Doc) addToken(t token, latin string, w int) {
	exact := foldAccents(t.text)
	d.Freq[exact] += w
	if t.whole { // the parts of a joined token are separate tokens
		return
	}
	if t.second { // the pair that contains this character already counts
		return
	}
	d.Length++
	if s := foldAccents(stemWord(t.text, t.script.languageOf(latin))); s != exact {
		d.Freq[s] += w
	}
}

// TermVariant is a term that matches a query word, with the weight of such a match.
type TermVariant struct {
	Term   string
	Weight float64
}

// Weights of matches other than the word as written.
const (
	byStem   = 0.8
	byPrefix = 0.5
	byRoot   = 0.4
	bySlip   = 0.4
)

// QueryTerm is one word of a query. The first of its variants is its exact form.
type QueryTerm struct {
	Text     string // as written, folded
	Extra    bool   // a name with punctuation whose parts are also words of the query, so that documents need not contain the name itself
	Variants []TermVariant
}

// Query returns the words of a text with their stems in the given languages. It returns each word
// only once, and at most n words.
func Query(text string, langs []string, n int) []QueryTerm {
	var out []QueryTerm
	seen := map[string]bool{}
	for _, t := range tokenizeText(text) {
		if t.second && t.pair {
			continue // skip the character, because the pairs that contain it are more specific
		}
		exact := foldAccents(t.text)
		if seen[exact] || len(out) == n {
			continue
		}
		seen[exact] = true
		w := QueryTerm{Text: exact, Extra: t.whole, Variants: []TermVariant{{exact, 1}}}
		if !t.whole && !t.pair {
			w.addStems(t, langs)
		}
		out = append(out, w)
	}
	return out
}

func (w *QueryTerm) addStems(t token, langs []string) {
	add := func(lang string) {
		s := foldAccents(stemWord(t.text, lang))
		if !slices.ContainsFunc(w.Variants, func(v TermVariant) bool { return v.Term == s }) {
			w.Variants = append(w.Variants, TermVariant{s, byStem})
		}
	}
	if t.script != inLatin {
		add(t.script.languageOf(""))
		return
	}
	add(unknown)
	for _, l := range langs {
		add(l)
	}
}

// Freq returns how often the best variant of the word occurs in a document. If loose is true, it
// also counts terms that begin with the word or are similar to it.
func (w *QueryTerm) Freq(d Doc, loose bool) float64 {
	best := 0.0
	for _, v := range w.Variants {
		best = max(best, v.Weight*float64(d.Freq[v.Term]))
	}
	if best > 0 || !loose {
		return best
	}
	for t, f := range d.Freq {
		best = max(best, w.Like(t)*float64(f))
	}
	return best
}

// Like returns the weight of a match with a term that begins with the word or its stem, or that
// differs from the word by one typing error (two in long words). It returns 0 if the term does not
// match.
func (w *QueryTerm) Like(term string) float64 {
	whole, root := w.Text, Root(w.Text)
	switch {
	case len(whole) >= minPrefix && strings.HasPrefix(term, whole):
		return byPrefix
	case len(root) >= minRoot && strings.HasPrefix(term, root) && len(term) <= len(whole)+3:
		return byRoot
	case Slips(whole) > 0 && isWithinDistance([]rune(whole), []rune(term), Slips(whole)):
		return bySlip
	}
	return 0
}

// Minimum prefix lengths in bytes.
const (
	minPrefix = 3
	minRoot   = 5
)

// Root removes an ending of up to three letters from a long word, so that "allergies" matches
// "allergic", whose stem is different. It returns "" if the word has no such ending.
func Root(w string) string {
	r := []rune(w)
	if len(r) <= 5 || isNumber(w) {
		return ""
	}
	return string(r[:max(5, len(r)-3)])
}

// Slips returns the number of typing errors that are tolerated: none in short words and numbers.
func Slips(w string) int {
	switch n := len([]rune(w)); {
	case strings.ContainsAny(w, "0123456789") || n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

func isNumber(w string) bool { return strings.Trim(w, "0123456789") == "" }

// isWithinDistance reports whether a and b differ by at most k insertions, deletions and
// replacements.
func isWithinDistance(a, b []rune, k int) bool {
	if len(a)-len(b) > k || len(b)-len(a) > k {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		left := row[0]
		row[0] = i + 1
		best := row[0]
		for j, y := range b {
			cost := left
			if x != y {
				cost = 1 + min(left, row[j], row[j+1])
			}
			left, row[j+1] = row[j+1], cost
			best = min(best, cost)
		}
		if best > k {
			return false
		}
	}
	return row[len(b)] <= k
}
