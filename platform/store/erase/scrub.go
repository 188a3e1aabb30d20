package erase

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/sorting"
)

// Scrubber finds and replaces phrases in text. It ignores differences in case, accents, the amount
// of whitespace, and typographic quotes and dashes. It also finds a phrase in escaped form (JSON,
// in several layers; percent and quoted-printable; HTML entities) or encoded (base64, hexadecimal,
// UTF-16). It may be used concurrently.
type Scrubber struct {
	wanted []foldedPhrase
	least  int  // length of the shortest phrase, in bytes
	odd    bool // a phrase contains characters that do not occur in text, such as control characters
	pages  [256]bool
}

// foldedPhrase is a phrase prepared for comparison.
type foldedPhrase struct {
	text   string // folded
	word   bool   // short and consisting of letters only, so matched only as a whole word
	digits bool   // consisting of digits only, so never matched inside a longer number
}

// shortWord is the maximum length in characters of a word that matches only as a whole word. For
// example, forgetting "Ana" must not change "banana".
const shortWord = 5

// coded is the minimum length in bytes of phrases that are searched for in encoded data. Shorter
// phrases occur by chance in digests and images.
const coded = 6

// NewScrubber returns a Scrubber for phrases as people write them. It ignores empty phrases.
func NewScrubber(phrases ...string) *Scrubber {
	s := &Scrubber{}
	s.readUnits(wideSigns)
	for _, p := range phrases {
		f := strings.TrimSpace(string(foldBytes([]byte(p), nil).text))
		if f == "" || strings.Contains(Mark, f) || slices.ContainsFunc(s.wanted, func(w foldedPhrase) bool { return w.text == f }) {
			continue
		}
		w := foldedPhrase{text: f, word: utf8.RuneCountInString(f) <= shortWord && !strings.ContainsFunc(f, func(r rune) bool { return !unicode.IsLetter(r) })}
		w.digits = !strings.ContainsFunc(f, func(r rune) bool { return r < '0' || r > '9' })
		s.wanted = append(s.wanted, w)
		s.odd = s.odd || !slices.Equal(s.textStretches([]byte(f), 1), []span{{to: len(f)}})
		s.readUnits(p)
		// In UTF-16 a phrase of three-byte characters is shorter.
		if n := min(len(f), 2*utf8.RuneCountInString(f)); s.least == 0 || n < s.least {
			s.least = n
		}
	}
	// if one phrase contains another, replace the longer one
	sorting.StableByFunc(s.wanted, func(a, b foldedPhrase) int { return cmp.Compare(len(b.text), len(a.text)) })
	return s
}

// Scrubber returns a Scrubber for the phrases of the Erasure.
func (e *Erasure) Scrubber() *Scrubber { return NewScrubber(e.Phrases...) }

// Has reports whether a text contains one of the phrases.
func (s *Scrubber) Has(text string) bool { return len(s.findSpans([]byte(text), 0)) > 0 }

// Text replaces the phrases in text. changed reports whether there were any.
func (s *Scrubber) Text(text string) (out string, changed bool) {
	b, changed := s.Bytes([]byte(text))
	if !changed {
		return text, false
	}
	return string(b), true
}

// Bytes works like Text, but for data that may be binary. It does not modify b.
func (s *Scrubber) Bytes(b []byte) (out []byte, changed bool) {
	found := s.findSpans(b, 0)
	if len(found) == 0 {
		return b, false
	}
	for range 8 { // a replacement may turn the surrounding text into a new match
		b = replaceSpans(b, found)
		if found = s.findSpans(b, 0); len(found) == 0 {
			break
		}
	}
	return b, true
}

// span is a part of a text and its replacement.
type span struct {
	from, to int
	with     string
}

// replaceSpans replaces the spans, which may overlap.
func replaceSpans(b []byte, found []span) []byte {
	sorting.ByFunc(found, func(p, q span) int { return cmp.Or(cmp.Compare(p.from, q.from), cmp.Compare(q.to, p.to)) })
	out := make([]byte, 0, len(b))
	end := 0
	for _, f := range found {
		if f.from >= end {
			out = append(append(out, b[end:f.from]...), f.with...)
		}
		end = max(end, f.to)
	}
	return append(out, b[end:]...)
}

// findInView searches one view.
func (s *Scrubber) findInView(v decodedView, depth int) []span {
	f := foldBytes(v.text, v.at)
	var out []span
	for _, w := range s.wanted {
		if depth > 0 && len(w.text) < coded {
			continue
		}
		for from := 0; ; {
			i := f.indexFrom(w.text, from)
			if i < 0 {
				break
			}
			j := i + len(w.text)
			from = i + 1
			if w.word && !f.isWholeWord(i, j) || w.digits && f.inNumber(i, j) {
				continue
			}
			out = append(out, span{f.originOf(i), f.originOf(j), Mark})
			from = j
		}
	}
	return out
}
