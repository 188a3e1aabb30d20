package session

import (
	"slices"
	"strings"
	"unicode"

	"hob/knowledge"
	"hob/platform/text/textnorm"
)

// Limits for a query.
const (
	maxTerms = 16
	maxTerm  = 64 // maximum characters
	// around is the number of words in a snippet.
	around = 24
)

// queryTerm is a word or a phrase in a query, folded.
type queryTerm struct {
	words  []string
	begins bool // whether the last word is a prefix
}

// parsedQuery is a parsed query.
type parsedQuery struct{ want, without []queryTerm }

// parseQuery parses words, phrases "in quotes" and -words.
func parseQuery(text string) (t parsedQuery) {
	for i, piece := range strings.Split(strings.ToValidUTF8(text, " "), `"`) {
		if i%2 == 1 {
			t.addTerm(&t.want, piece, false)
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			to := &t.want
			if rest, ok := strings.CutPrefix(word, "-"); ok {
				word, to = rest, &t.without
			}
			for _, part := range foldedTokens(word) {
				t.addTerm(to, part, len([]rune(part)) >= 3)
			}
		}
	}
	return t
}

func (t *parsedQuery) addTerm(to *[]queryTerm, text string, begins bool) {
	if r := []rune(text); len(r) > maxTerm {
		text = string(r[:maxTerm])
	}
	if words := foldedTokens(text); len(words) > 0 && len(t.want)+len(t.without) < maxTerms {
		*to = append(*to, queryTerm{words, begins})
	}
}

// plainWords returns the required words of the query, without operators.
func (t parsedQuery) plainWords() string {
	var out []string
	for _, w := range t.want {
		out = append(out, w.words...)
	}
	return strings.Join(out, " ")
}

// foldedTokens returns the folded words in s.
func foldedTokens(s string) (out []string) {
	for w := range strings.FieldsFuncSeq(s, isSeparator) {
		if w = foldWord(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func isSeparator(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// foldWord folds a word. It has a fast path for ASCII, because most words are lower-case ASCII.
func foldWord(w string) string {
	for i := range len(w) {
		if w[i] >= 0x80 || w[i] < '0' || 'A' <= w[i] && w[i] <= 'Z' {
			return textnorm.Fold(w)
		}
	}
	return w
}

// matchesWords reports whether words contains the term.
func (t queryTerm) matchesWords(words []string) bool { return t.indexIn(words, 0) >= 0 }

// indexIn returns the first index, starting with from, at which words contains the term. It returns
// -1 if there is none.
func (t queryTerm) indexIn(words []string, from int) int {
	last := len(t.words) - 1
	for i := from; i+last < len(words); i++ {
		if !slices.Equal(words[i:i+last], t.words[:last]) {
			continue
		}
		w := words[i+last]
		if w == t.words[last] || t.begins && strings.HasPrefix(w, t.words[last]) {
			return i
		}
		if isUnspaced(t.words[last]) && strings.Contains(w, t.words[last]) { // in this script, words are not separated
			return i
		}
	}
	return -1
}

// isUnspaced reports whether a word is in a script that does not separate words by spaces.
func isUnspaced(w string) bool {
	for _, r := range w {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return true
		}
	}
	return false
}

// search collects the rows that match a query.
type search struct {
	q    Query
	t    parsedQuery
	seen map[string]bool
	all  []searchRow // rows that match every term
	any  []searchRow // rows that match at least one term
}

// isComplete reports whether there are enough matches.
func (s *search) isComplete() bool { return len(s.all) >= s.q.Limit }

func (s *search) bestRows() []searchRow {
	if len(s.all) > 0 || len(s.t.want) < 2 {
		return s.all
	}
	return s.any[:min(len(s.any), s.q.Limit)]
}

func (s *search) addRow(r searchRow) {
	if s.seen[r.Ref] || s.isComplete() {
		return
	}
	s.seen[r.Ref] = true
	q := s.q
	if q.Who != "" && whoOf(r.Speaker) != q.Who || q.Without != "" && turnOf(r.Doc) == q.Without ||
		r.At.Before(q.Since) || !q.Until.IsZero() && r.At.After(q.Until) {
		return
	}
	words := foldedTokens(r.Text)
	if slices.ContainsFunc(s.t.without, func(t queryTerm) bool { return t.matchesWords(words) }) {
		return
	}
	n := 0
	for _, t := range s.t.want {
		if t.matchesWords(words) {
			n++
		}
	}
	switch {
	case n == len(s.t.want):
		s.all = append(s.all, r)
	case n > 0 && len(s.any) < s.q.Limit:
		s.any = append(s.any, r)
	}
}

// matchSnippet returns the part of text around the first match, with matches in brackets.
func (t parsedQuery) matchSnippet(text string) string {
	pieces := strings.Fields(text)
	marked := make([]bool, len(pieces))
	first := len(pieces)
	for _, w := range t.want {
		one := w
		for i, p := range pieces {
			words := foldedTokens(p)
			for _, part := range w.words {
				one.words = []string{part}
				if one.matchesWords(words) {
					marked[i], first = true, min(first, i)
				}
			}
		}
	}
	if first == len(pieces) {
		first = 0
	}
	from := max(0, min(first-around/3, len(pieces)-around))
	to := min(len(pieces), from+around)
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(' ')
		}
		if marked[i] {
			b.WriteString(bracketWord(textnorm.Ellipsize(pieces[i], 80)))
		} else {
			b.WriteString(textnorm.Ellipsize(pieces[i], 80))
		}
	}
	if to < len(pieces) {
		b.WriteString("…")
	}
	return b.String()
}

// bracketWord encloses a word in brackets, but not the punctuation around it.
func bracketWord(s string) string {
	word := strings.TrimFunc(s, isSeparator)
	before, after, _ := strings.Cut(s, word)
	return before + "[" + word + "]" + after
}

// whoOf returns the value of Query.Who that selects the speaker of a row.
func whoOf(speaker string) string {
	switch speaker {
	case WhoOwner, WhoHob, WhoTool:
		return speaker
	}
	return WhoOutside
}

// turnOf returns the turn of a row.
func turnOf(d knowledge.Doc) string { return strings.TrimPrefix(d.Source, "event:") }
