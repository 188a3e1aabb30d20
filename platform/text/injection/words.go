package injection

import (
	_ "embed" // the lists
	"strconv"
	"strings"
	"sync"
)

//go:embed classes.txt
var classText string

//go:embed rules.txt
var ruleText string

// rule detects a family if words of all its classes occur close together.
type rule struct {
	family  string
	span    int
	classes []int
}

// wordStem is a prefix that several words share.
type wordStem struct {
	text    string
	classes uint64
}

// lexicon contains the parsed word lists. It is loaded on first use.
type lexicon struct {
	whole  map[string]uint64      // the classes of a word
	begins map[[3]byte][]wordStem // word stems by their first three letters
	rules  [64][]rule             // rules by each of their classes
}

var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{whole: map[string]uint64{}, begins: map[[3]byte][]wordStem{}}
	number := map[string]int{}
	for line := range strings.Lines(classText) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		number[name] = len(number)
		bit := uint64(1) << number[name]
		for _, w := range strings.Fields(list) {
			if s, open := strings.CutSuffix(w, "*"); open {
				key := [3]byte([]byte(s[:3]))
				l.begins[key] = append(l.begins[key], wordStem{s, bit})
			} else {
				l.whole[w] |= bit
			}
		}
	}
	for line := range strings.Lines(ruleText) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(head, "#") {
			continue
		}
		family, span, _ := strings.Cut(head, " ")
		r := rule{family: family}
		r.span, _ = strconv.Atoi(span)
		for _, c := range strings.Fields(list) {
			n, known := number[c]
			if !known || r.span == 0 {
				panic("injection: a rule that can never match: " + line) // the word lists are embedded, and the tests read every line
			}
			r.classes = append(r.classes, n)
		}
		for _, n := range r.classes {
			l.rules[n] = append(l.rules[n], r)
		}
	}
	return l
})

// wordClasses returns the classes of one word.
func (l *lexicon) wordClasses(w string) uint64 {
	m := l.whole[w]
	if len(w) < 3 {
		return m
	}
	for _, s := range l.begins[[3]byte{w[0], w[1], w[2]}] {
		if strings.HasPrefix(w, s.text) {
			m |= s.classes
		}
	}
	return m
}

// matchWords records the families whose rules match a normalized text. The words of a rule may be
// in several sentences, but not in several paragraphs.
func matchWords(text string, found map[string]bool) {
	l := words()
	var last [64]int // position of the last word of each class, counted from 1; 0 if there is none
	at := 0
	for len(text) > 0 {
		n := 0
		for n < len(text) && isWordByte(text[n]) {
			n++
		}
		if n == 0 {
			if strings.HasPrefix(text, "\n\n") {
				at += 4 // increase the distance between words of different paragraphs
			}
			text = text[1:]
			continue
		}
		w := strings.Trim(text[:n], "'-_")
		text = text[n:]
		if len(w) == 0 || len(w) > 40 {
			continue
		}
		at++
		mask := l.wordClasses(w)
		for c := 0; mask != 0; c, mask = c+1, mask>>1 {
			if mask&1 == 0 {
				continue
			}
			last[c] = at
			for _, r := range l.rules[c] {
				if !found[r.family] && r.isSatisfied(&last, at) {
					found[r.family] = true
				}
			}
		}
	}
}

// isSatisfied reports whether words of all classes occurred within the span, and not all of them in
// one word.
func (r *rule) isSatisfied(last *[64]int, at int) bool {
	first := at
	for _, c := range r.classes {
		if last[c] == 0 || at-last[c] >= r.span {
			return false
		}
		first = min(first, last[c])
	}
	return at-first >= len(r.classes)/2
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '\'' || c == '-' || c == '_' || c >= 0x80
}
