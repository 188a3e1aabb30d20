package triples

import (
	_ "embed" // embeds words.txt
	"strings"
	"sync"

	"hob/platform/text/sorting"
)

//go:embed words.txt
var wordsText string

// verb is one form of a verb and its meaning.
type verb struct {
	name  string
	words []string
	flags map[string]bool
}

type lexicon struct {
	verbs        map[string][]verb // verb forms keyed by their first word, the longest first
	sets         map[string]map[string]bool
	phrases      map[string][][]string // sorted by length, longest first
	alternatives []map[string]bool
}

// known returns the vocabulary. It is loaded when it is first needed.
var known = sync.OnceValue(func() *lexicon {
	l := &lexicon{verbs: map[string][]verb{}, sets: map[string]map[string]bool{}, phrases: map[string][][]string{}}
	list := ""
	for line := range strings.Lines(wordsText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#':
		case line[0] == '[':
			list = strings.Trim(line, "[]")
			l.sets[list] = map[string]bool{}
		case list == "verbs":
			l.addVerb(line)
		case list == "alternatives":
			l.alternatives = append(l.alternatives, newWordSet(strings.Fields(line)))
		default:
			for p := range strings.SplitSeq(line, "|") {
				l.sets[list][strings.TrimSpace(p)] = true
				l.phrases[list] = append(l.phrases[list], strings.Fields(p))
			}
		}
	}
	for _, list := range l.phrases {
		sorting.StableByFunc(list, func(a, b []string) int { return len(b) - len(a) })
	}
	for _, list := range l.verbs {
		sorting.StableByFunc(list, func(a, b verb) int { return len(b.words) - len(a.words) })
	}
	return l
})

func newWordSet(words []string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[w] = true
	}
	return m
}

func (l *lexicon) addVerb(line string) {
	head, forms, _ := strings.Cut(line, ":")
	f := strings.Fields(head)
	for form := range strings.SplitSeq(forms, "|") {
		v := verb{name: f[0], words: strings.Fields(form), flags: newWordSet(f[1:])}
		l.verbs[v.words[0]] = append(l.verbs[v.words[0]], v)
	}
}

func isListed(list, w string) bool { return known().sets[list][w] }

// matchLeading returns the length in tokens of a listed phrase at the beginning of toks.
func matchLeading(toks []tok, list string) int {
	for _, p := range known().phrases[list] {
		if hasPrefixWords(toks, p) {
			return len(p)
		}
	}
	return 0
}

// matchTrailing returns the length in tokens of a listed phrase at the end of toks.
func matchTrailing(toks []tok, list string) int {
	for _, p := range known().phrases[list] {
		if len(p) < len(toks) && hasPrefixWords(toks[len(toks)-len(p):], p) {
			return len(p)
		}
	}
	return 0
}
