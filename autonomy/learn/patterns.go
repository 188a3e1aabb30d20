package learn

import (
	_ "embed" // the patterns
	"regexp"
	"slices"
	"strings"
	"sync"

	"hob/platform/phrase"
)

//go:embed texts/corrections.txt
var correctionsText string

//go:embed texts/preferences.txt
var preferencesText string

// pattern is a way of saying something.
type pattern struct {
	means string
	re    func() *regexp.Regexp // compiled when a sentence first needs it: most never do
}

// patterns are looked at in order, when a sentence has one of the words.
type patterns struct {
	words map[string]bool
	list  []pattern
}

func readPatterns(text string) patterns {
	out := patterns{words: map[string]bool{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		means, expr, _ := strings.Cut(line, " ")
		if means == "words" {
			for _, w := range strings.Fields(expr) {
				out.words[w] = true
			}
			continue
		}
		out.list = append(out.list, pattern{means, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })})
	}
	return out
}

// match says what a sentence means, "" for nothing.
func (p patterns) match(sentence string) string {
	if !slices.ContainsFunc(phrase.Split(sentence), func(w string) bool { return p.words[w] }) {
		return ""
	}
	folded := strings.Trim(strings.Join(strings.Fields(strings.ReplaceAll(phrase.Fold(sentence), "’", "'")), " "), " .!,;:")
	for _, p := range p.list {
		if p.re().MatchString(folded) {
			if p.means == "skip" {
				return ""
			}
			return p.means
		}
	}
	return ""
}

// The most of a message that is looked at, and of a sentence that is kept.
const (
	maxRead   = 400
	maxLesson = 220
)

var (
	quoted   = regexp.MustCompile("(?s)```.*?(```|$)|`[^`\n]*`|\"[^\"]*(\"|$)|“[^”]*(”|$)|«[^»]*(»|$)|„[^“”]*([“”]|$)")
	sentence = regexp.MustCompile(`[^.!?\n]+[.!?]*`)
)

// sentences are those of the owner's own: from the first paragraph, without
// what is quoted or pasted, and no questions.
func sentences(text string) []string {
	text = strings.TrimSpace(text)
	text, _, _ = strings.Cut(text, "\n\n")
	text = quoted.ReplaceAllString(text, " … ")
	var own []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ">") {
			continue
		}
		own = append(own, line)
		if strings.HasSuffix(line, ":") { // what comes next is quoted
			break
		}
	}
	text = strings.Join(own, "\n")
	if len(text) > maxRead {
		text = strings.ToValidUTF8(text[:maxRead], "")
	}
	var out []string
	for _, s := range sentence.FindAllString(text, 8) {
		s = strings.Join(strings.Fields(s), " ")
		if s != "" && !strings.HasSuffix(s, "?") && !strings.Contains(s, "…") {
			out = append(out, s)
		}
	}
	return out
}
