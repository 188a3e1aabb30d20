package learn

import (
	_ "embed" // embeds the patterns
	"regexp"
	"slices"
	"strings"
	"sync"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

//go:embed texts/corrections.txt
var correctionsText string

//go:embed texts/preferences.txt
var preferencesText string

// pattern matches one form of statement.
type pattern struct {
	means string
	re    func() *regexp.Regexp // compiled on first use, because most patterns are never needed
}

// patterns holds patterns that are tried in order if a sentence contains one of the words.
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

// matchSentence returns the meaning of a sentence, or "" if no pattern matches.
func (p patterns) matchSentence(sentence string) string {
	if !slices.ContainsFunc(textnorm.FoldedWords(sentence), func(w string) bool { return p.words[w] }) {
		return ""
	}
	folded := strings.Trim(strings.Join(strings.Fields(strings.ReplaceAll(textnorm.Fold(sentence), "’", "'")), " "), " .!,;:")
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

// Limits for the analyzed part of a message and for a stored sentence.
const (
	maxRead   = 400
	maxLesson = 220
)

var (
	quoted   = lazyregexp.New("(?s)```.*?(```|$)|`[^`\n]*`|\"[^\"]*(\"|$)|“[^”]*(”|$)|«[^»]*(»|$)|„[^“”]*([“”]|$)")
	sentence = lazyregexp.New(`[^.!?\n]+[.!?]*`)
)

// ownSentences returns the owner's own sentences in the first paragraph, without quoted or pasted
// text and without questions.
func ownSentences(text string) []string {
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
		if strings.HasSuffix(line, ":") { // the text that follows is quoted
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
