package session

import (
	"slices"
	"strings"
	"unicode"

	"hob/knowledge"
	"hob/platform/phrase"
)

// Bounds of a query.
const (
	maxTerms = 16
	maxTerm  = 64 // characters
	// around is how many words of a message are shown about the first that fits.
	around = 24
)

// term is a word or a phrase of a query, folded.
type term struct {
	words  []string
	begins bool // the last word may go on
}

// terms is a query in the language of people.
type terms struct{ want, without []term }

// parseQuery reads words, phrases "in quotes" and -words.
func parseQuery(text string) (t terms) {
	for i, piece := range strings.Split(strings.ToValidUTF8(text, " "), `"`) {
		if i%2 == 1 {
			t.add(&t.want, piece, false)
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			to := &t.want
			if rest, ok := strings.CutPrefix(word, "-"); ok {
				word, to = rest, &t.without
			}
			for _, part := range tokens(word) {
				t.add(to, part, len([]rune(part)) >= 3)
			}
		}
	}
	return t
}

func (t *terms) add(to *[]term, text string, begins bool) {
	if r := []rune(text); len(r) > maxTerm {
		text = string(r[:maxTerm])
	}
	if words := tokens(text); len(words) > 0 && len(t.want)+len(t.without) < maxTerms {
		*to = append(*to, term{words, begins})
	}
}

// plain are the words that are wanted, without any sign.
func (t terms) plain() string {
	var out []string
	for _, w := range t.want {
		out = append(out, w.words...)
	}
	return strings.Join(out, " ")
}

// tokens are the words of a text, folded; what is not a part of a word parts
// them.
func tokens(s string) (out []string) {
	for w := range strings.FieldsFuncSeq(s, apart) {
		if w = fold(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func apart(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// fold takes ASCII as it comes: most words are, and are lower case.
func fold(w string) string {
	for i := range len(w) {
		if w[i] >= 0x80 || w[i] < '0' || 'A' <= w[i] && w[i] <= 'Z' {
			return phrase.Fold(w)
		}
	}
	return w
}

// has reports whether the words of a text hold a term.
func (t term) has(words []string) bool { return t.at(words, 0) >= 0 }

// at is where a term begins in words, from some word on; -1 when it is not there.
func (t term) at(words []string, from int) int {
	last := len(t.words) - 1
	for i := from; i+last < len(words); i++ {
		if !slices.Equal(words[i:i+last], t.words[:last]) {
			continue
		}
		w := words[i+last]
		if w == t.words[last] || t.begins && strings.HasPrefix(w, t.words[last]) {
			return i
		}
		if unspaced(t.words[last]) && strings.Contains(w, t.words[last]) { // its words are not set apart
			return i
		}
	}
	return -1
}

// unspaced reports whether a word is of a script without spaces.
func unspaced(w string) bool {
	for _, r := range w {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return true
		}
	}
	return false
}

// search gathers the rows that fit a query.
type search struct {
	q    Query
	t    terms
	seen map[string]bool
	all  []row // with every term
	any  []row // with one at least
}

// enough reports whether more need not be looked at.
func (s *search) enough() bool { return len(s.all) >= s.q.Limit }

func (s *search) best() []row {
	if len(s.all) > 0 || len(s.t.want) < 2 {
		return s.all
	}
	return s.any[:min(len(s.any), s.q.Limit)]
}

func (s *search) add(r row) {
	if s.seen[r.Ref] || s.enough() {
		return
	}
	s.seen[r.Ref] = true
	q := s.q
	if q.Who != "" && whoOf(r.Speaker) != q.Who || q.Without != "" && turnOf(r.Doc) == q.Without ||
		r.At.Before(q.Since) || !q.Until.IsZero() && r.At.After(q.Until) {
		return
	}
	words := tokens(r.Text)
	if slices.ContainsFunc(s.t.without, func(t term) bool { return t.has(words) }) {
		return
	}
	n := 0
	for _, t := range s.t.want {
		if t.has(words) {
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

// snippet is the part of a text about the first word that fits, with those that
// do in brackets.
func (t terms) snippet(text string) string {
	pieces := strings.Fields(text)
	marked := make([]bool, len(pieces))
	first := len(pieces)
	for _, w := range t.want {
		one := w
		for i, p := range pieces {
			words := tokens(p)
			for _, part := range w.words {
				one.words = []string{part}
				if one.has(words) {
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
			b.WriteString(bracketed(phrase.Cut(pieces[i], 80)))
		} else {
			b.WriteString(phrase.Cut(pieces[i], 80))
		}
	}
	if to < len(pieces) {
		b.WriteString("…")
	}
	return b.String()
}

// bracketed leaves the signs about a word outside of the brackets.
func bracketed(s string) string {
	word := strings.TrimFunc(s, apart)
	before, after, _ := strings.Cut(s, word)
	return before + "[" + word + "]" + after
}

// whoOf tells whose a row is by its speaker.
func whoOf(speaker string) string {
	switch speaker {
	case WhoOwner, WhoHob, WhoTool:
		return speaker
	}
	return WhoOutside
}

// turnOf is the turn of a row.
func turnOf(d knowledge.Doc) string { return strings.TrimPrefix(d.Source, "event:") }
