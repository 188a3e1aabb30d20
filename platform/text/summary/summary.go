// Package summary shortens texts by extraction: it selects the sentences that say most about a text
// and returns them unchanged and in their order. It adds no words, so a summary cannot contain
// anything that the text does not say. The result depends only on the text and the options.
package summary

import (
	_ "embed" // the phrases of menus and banners
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/analyzer"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// Options select the length and the focus of a summary. Zero values are useful.
type Options struct {
	Title string // title of the text; its words count more
	Focus string // words that the reader asked about; sentences with them come first
	// Chars is the maximum length in characters; 0 means 800.
	Chars int
	// Share is the maximum share of the text, above 0 and below 1; 0 means 0.6.
	Share float64
	// Skip excludes a sentence, for example because it addresses the reader as a machine.
	Skip func(sentence string) bool
}

// Summary is the result of Extract.
type Summary struct {
	Sentences []Sentence
	Language  string // as in analyzer.Doc
	Whole     int    // characters of the sentences of the text
	Skipped   int    // sentences that Options.Skip excluded
}

// Text joins the sentences, with a line for each paragraph.
func (s Summary) Text() string {
	var b strings.Builder
	for i, x := range s.Sentences {
		switch {
		case i == 0:
		case x.Paragraph == s.Sentences[i-1].Paragraph:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(x.Text)
	}
	return b.String()
}

const (
	defaultChars = 800
	defaultShare = 0.6
	considered   = 1500 // sentences that are compared; the rest of a long text is left out
)

// Extract selects the sentences of a summary.
func Extract(text string, o Options) Summary {
	all := Split(text)
	doc := analyzer.Of(analyzer.Part{Text: text[:min(len(text), 20_000)]})
	out := Summary{Language: doc.Lang}
	var list []candidate
	for _, s := range all {
		if s.Fragment || IsBoilerplate(s.Text) || len(list) == considered {
			continue
		}
		out.Whole += utf8.RuneCountInString(s.Text)
		if o.Skip != nil && o.Skip(s.Text) {
			out.Skipped++
			continue
		}
		list = append(list, candidate{Sentence: s, terms: Terms(s.Text, doc.Lang)})
	}
	scoreCandidates(list, o, doc.Lang)
	limit := o.Chars
	if limit <= 0 {
		limit = defaultChars
	}
	share := o.Share
	if share <= 0 || share >= 1 {
		share = defaultShare
	}
	limit = min(limit, int(share*float64(out.Whole)))
	out.Sentences = selectSentences(list, limit)
	return out
}

// candidate is a sentence with its terms and score.
type candidate struct {
	Sentence
	terms []string
	score float64
}

// fillers are English words that say little about a text and are too rare for the list of function
// words.
const fillers = " said says also after before between while where during because through very much such any those both does being over under again until since most same only own too will more one two per among within without across however well even still every many few "

// maxTerms limits the terms of one sentence.
const maxTerms = 120

// Terms returns the stems of the content words of a text, each once. lang is the language of the
// text, "" if it is unknown.
func Terms(text, lang string) (out []string) {
	for _, w := range analyzer.Query(text, []string{lang}, maxTerms) {
		if w.Extra || analyzer.IsFunctionWord(w.Text, lang) || len(w.Text) < 2 || strings.Contains(fillers, " "+w.Text+" ") {
			continue
		}
		if stem := w.Variants[len(w.Variants)-1].Term; !slices.Contains(out, stem) {
			out = append(out, stem)
		}
	}
	return out
}

var boilerplate = sync.OnceValue(func() (out []string) {
	for line := range strings.Lines(boilerplateText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, " "+line+" ")
		}
	}
	return out
})

//go:embed boilerplate.txt
var boilerplateText string

// IsBoilerplate reports whether a sentence belongs to a menu, a banner or a call to action.
func IsBoilerplate(s string) bool {
	if len(s) > 600 {
		return false
	}
	folded := " " + strings.Join(textnorm.FoldedWords(s), " ") + " "
	return slices.ContainsFunc(boilerplate(), func(p string) bool { return strings.Contains(folded, p) })
}

var (
	figure   = lazyregexp.New(`[$€£¥]?\d[\d.,:/]*\s?(?:%|‰|°C|°F|[a-zµ]{1,3}²?\b)?`)
	anaphora = lazyregexp.New(`^(?i)(it|its|this|that|these|those|he|she|they|his|her|their|such|however|but|and|so|also|then|there|er|sie|es|dies\w*|doch|aber|il|elle|cela|ce|mais)\b`)
)

// scoreCandidates rates the sentences: frequent terms of the text, words of the title and the
// focus, figures and names raise a score; questions and sentences that refer to an earlier one
// lower it.
func scoreCandidates(list []candidate, o Options, lang string) {
	count := map[string]int{}
	for _, c := range list {
		for _, t := range c.terms {
			count[t]++
		}
	}
	title, focus := Terms(o.Title, lang), Terms(o.Focus, lang)
	for i := range list {
		c := &list[i]
		sum := 0.0
		for _, t := range c.terms {
			w := math.Sqrt(float64(count[t]))
			if slices.Contains(title, t) {
				w *= 1.4
			}
			sum += w
		}
		c.score = sum / math.Pow(float64(len(c.terms))+4, 0.6) * styleFactor(c.Sentence, i)
		if len(focus) > 0 {
			c.score *= 1 + 4*Similarity(c.terms, focus)
		}
	}
}

// styleFactor rates the form and the position of a sentence.
func styleFactor(s Sentence, at int) float64 {
	f := 1 + 0.14*float64(min(4, len(figure.FindAllString(s.Text, 6)))) + 0.03*float64(min(5, countNames(s.Text)))
	switch {
	case at == 0:
		f *= 1.5
	case at < 3:
		f *= 1.15
	case s.First:
		f *= 1.05
	}
	if strings.HasSuffix(s.Text, "?") {
		f *= 0.5
	}
	if anaphora.MatchString(s.Text) {
		f *= 0.75
	}
	switch n := utf8.RuneCountInString(s.Text); {
	case n < 35:
		f *= 0.6
	case n > 350:
		f *= 0.6
	}
	return f
}

// countNames counts words inside a sentence that begin with a capital letter.
func countNames(s string) (n int) {
	words := strings.Fields(s)
	for _, w := range words[min(1, len(words)):] {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'“‘«(`))
		if unicode.IsUpper(r) {
			n++
		}
	}
	return n
}

// selectSentences takes the best sentences that fit into about limit characters and differ from those
// already taken. It returns at least one sentence unless the list is empty.
func selectSentences(list []candidate, limit int) (out []Sentence) {
	chosen := make([]bool, len(list))
	overlap := make([]float64, len(list)) // greatest similarity to a chosen sentence
	slack := limit / 7                    // the last sentence may exceed the limit by this much
	for room := limit; ; {
		best, score := -1, 0.0
		for i, c := range list {
			if chosen[i] || utf8.RuneCountInString(c.Text)+1 > room+slack {
				continue
			}
			if v := c.score * (1 - 0.8*overlap[i]); v > score {
				best, score = i, v
			}
		}
		if best < 0 || overlap[best] > 0.75 {
			break
		}
		chosen[best] = true
		room -= utf8.RuneCountInString(list[best].Text) + 1
		for i := range list {
			overlap[i] = max(overlap[i], Similarity(list[best].terms, list[i].terms))
		}
	}
	for i, c := range list {
		if chosen[i] {
			out = append(out, c.Sentence)
		}
	}
	if len(out) == 0 && len(list) > 0 { // every sentence is longer than the limit
		best := slices.MaxFunc(list, func(a, b candidate) int {
			if a.score > b.score {
				return 1
			}
			return -1
		})
		out = append(out, best.Sentence)
	}
	return out
}

// Similarity returns the cosine of two sets of terms, from 0 to 1.
func Similarity(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	n := 0
	for _, t := range a {
		if slices.Contains(b, t) {
			n++
		}
	}
	return float64(n) / math.Sqrt(float64(len(a)*len(b)))
}
