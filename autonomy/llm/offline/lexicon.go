package offline

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed grammar/words.txt
var wordsText string

// lexicon holds the word lists in grammar/words.txt: plain sets, and maps from a word to its
// meaning.
type lexicon struct {
	lists map[string]map[string]string
	fold  func(string) string // normalizes a word of another language; nil for English
}

// newLexicon parses sections "[name]". Their lines have the form "word word ..." for a set, or
// "word, word = meaning" for a map.
func newLexicon(text string, fold func(string) string) (*lexicon, error) {
	l := &lexicon{lists: map[string]map[string]string{}, fold: fold}
	var list map[string]string
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			name := line[1 : len(line)-1]
			if l.lists[name] != nil {
				return nil, fmt.Errorf("words.txt:%d: section [%s] is defined twice", n+1, name)
			}
			list = map[string]string{}
			l.lists[name] = list
		case list == nil:
			return nil, fmt.Errorf("words.txt:%d: a line before the first [section]", n+1)
		default:
			l.addWords(list, line)
		}
	}
	return l, nil
}

func (l *lexicon) addWords(list map[string]string, line string) {
	names, meaning, mapped := strings.Cut(line, "=")
	if l.fold != nil {
		names = l.fold(names)
	}
	if !mapped {
		for _, w := range strings.Fields(names) {
			list[w] = w
		}
		return
	}
	for w := range strings.SplitSeq(names, ",") {
		list[strings.TrimSpace(w)] = strings.TrimSpace(meaning)
	}
}

func (l *lexicon) containsWord(list, w string) bool {
	_, ok := l.lists[list][w]
	return ok
}

// containsPhrase reports whether text contains a phrase of the map called list as whole words.
func (l *lexicon) containsPhrase(list, text string) bool {
	for phrase := range l.lists[list] {
		if strings.Contains(" "+text+" ", " "+phrase+" ") {
			return true
		}
	}
	return false
}

// meaningOf returns the meaning of w in the map called list.
func (l *lexicon) meaningOf(list, w string) (string, bool) {
	m, ok := l.lists[list][w]
	return m, ok
}

// expandContraction splits a contraction into its two words. cut is the offset at which the second
// word begins. second is empty if norm is not a contraction.
func (l *lexicon) expandContraction(norm string) (first, second string, cut int) {
	if m, ok := l.meaningOf("contractions", norm); ok {
		first, second, _ = strings.Cut(m, " ")
		if head, ok := strings.CutSuffix(norm, "n't"); ok {
			return first, second, len(head)
		}
		if i := strings.IndexByte(norm, '\''); i > 0 {
			return first, second, i
		}
		return first, second, len(norm)
	}
	for _, tail := range []struct{ mark, means string }{{"'ll", "will"}, {"'ve", "have"}, {"'re", "are"}, {"'d", "would"}, {"n't", "not"}} {
		if head, ok := strings.CutSuffix(norm, tail.mark); ok && head != "" {
			return head, tail.means, len(head)
		}
	}
	return norm, "", 0
}
