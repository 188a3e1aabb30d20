// Package evidence compares a claim with sentences from other texts. It finds the figures in both,
// with their units and attributes, and decides whether a sentence supports or contradicts the claim,
// and why. It uses word lists and arithmetic, no model and no knowledge of the world: what the
// sentences do not say remains unknown.
package evidence

import (
	_ "embed" // the attributes and opposites
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
)

// Relation is the relation of a sentence to a claim.
type Relation string

// The relations.
const (
	Supports    Relation = "supports"
	Contradicts Relation = "contradicts"
	Mentions    Relation = "mentions" // the same subject, but no statement about the claim
	Unrelated   Relation = "unrelated"
)

// Finding is the result of a comparison.
type Finding struct {
	Relation Relation
	// Weight is the strength of the relation, from 0 to 1.
	Weight float64
	// Why states the reason in a few words: "98 km, not 150 km".
	Why string
}

// Claim is a parsed claim.
type Claim struct {
	Text     string
	lang     string
	terms    []string // content words without those of figures and attributes
	names    []string // the terms that are written with a capital letter
	all      []string // content words
	figures  []Figure
	negative bool
	slots    []slot
}

// Figure is a figure of a sentence with the attribute to which it belongs, such as "length", or "".
type Figure struct {
	Quantity
	Attribute string
}

// Figures returns the figures of a sentence with their attributes.
func Figures(s string) (out []Figure) {
	for _, q := range Quantities(s) {
		out = append(out, Figure{q, attributeOf(s, q)})
	}
	return out
}

// AttributeIn returns the attribute that a text names, such as "length" for "how long", or "".
func AttributeIn(text string) string {
	for _, w := range textnorm.Words(strings.ToLower(text)) {
		if a := knownWords().attribute[w]; a != "" {
			return a
		}
	}
	return ""
}

//go:embed attributes.txt
var attributesText string

type lexicon struct {
	attribute map[string]string
	opposite  map[string][]string
}

var knownWords = sync.OnceValue(func() lexicon {
	l := lexicon{map[string]string{}, map[string][]string{}}
	pairs := false
	for line := range strings.Lines(attributesText) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2 || f[0] == "#":
		case f[0] == "=":
			pairs = true
		case pairs:
			l.opposite[f[0]], l.opposite[f[1]] = append(l.opposite[f[0]], f[1]), append(l.opposite[f[1]], f[0])
		default:
			for _, w := range f[1:] {
				if _, known := l.attribute[w]; !known {
					l.attribute[w] = f[0]
				}
			}
		}
	}
	return l
})

// ParseClaim reads a claim. lang is its language, "" if it is unknown.
func ParseClaim(text, lang string) Claim {
	c := Claim{Text: text, lang: lang, all: summary.Terms(text, lang), negative: isNegative(text), slots: readSlots(text, lang)}
	plain := []byte(text)
	c.figures = Figures(text)
	for _, q := range c.figures {
		for i := q.Start; i < q.End; i++ {
			plain[i] = ' '
		}
	}
	for _, t := range summary.Terms(string(plain), lang) {
		if len(c.figures) > 0 && isAttributeTerm(string(plain), t, lang) {
			continue
		}
		c.terms = append(c.terms, t)
	}
	if len(c.terms) == 0 {
		c.terms = c.all
	}
	for w := range strings.FieldsSeq(text) {
		w = strings.Trim(w, `.,;:!?"'“”‘’()`)
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(r) {
			for _, t := range summary.Terms(w, lang) {
				if slices.Contains(c.terms, t) && !slices.Contains(c.names, t) {
					c.names = append(c.names, t)
				}
			}
		}
	}
	return c
}

// WithoutFigures returns the text of the claim without its figures.
func (c Claim) WithoutFigures() string {
	text := []byte(c.Text)
	for _, f := range c.figures {
		for i := f.Start; i < f.End; i++ {
			text[i] = ' '
		}
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// isAttributeTerm reports whether a term of the text stems from a word that names an attribute.
func isAttributeTerm(text, term, lang string) bool {
	for _, w := range textnorm.Words(strings.ToLower(text)) {
		if knownWords().attribute[w] != "" && slices.Contains(summary.Terms(w, lang), term) {
			return true
		}
	}
	return false
}

// attributeOf returns the attribute of a figure: the nearest word that names one, within 8 words of
// the figure and within its clause.
func attributeOf(s string, q Quantity) string {
	after, before := s[q.End:], s[:q.Start]
	if i := strings.IndexAny(after, ",;:("); i >= 0 {
		after = after[:i]
	}
	if i := strings.LastIndexAny(before, ";:("); i >= 0 {
		before = before[i+1:]
	}
	next, last := textnorm.Words(strings.ToLower(after)), textnorm.Words(strings.ToLower(before))
	slices.Reverse(last)
	for i := range 8 {
		for side, words := range [][]string{next, last} {
			if i >= len(words) || side == 0 && i > 3 {
				continue
			}
			if a := knownWords().attribute[words[i]]; a != "" {
				return a
			}
		}
	}
	return ""
}

// Context is what surrounds a sentence. Its words may name the subject to which the sentence refers.
type Context struct {
	Title    string // title of the page
	Heading  string
	Previous string // the sentence before
}

// Compare compares a sentence with the claim.
func (c Claim) Compare(sentence string, around Context) Finding {
	here := summary.Terms(sentence, c.lang)
	if f, ok := c.compareSlots(sentence); ok && !strings.HasSuffix(strings.TrimSpace(sentence), "?") {
		switch {
		case denies.MatchString(sentence) || hedges.MatchString(sentence):
			return Finding{Relation: Mentions, Weight: 0.5}
		case f.Relation != Supports || len(c.figures) == 0: // otherwise the figures decide
			return f
		}
	}
	share, direct := c.coverTerms(here, around)
	if direct == 0 || share < 0.34 {
		return Finding{Relation: Unrelated}
	}
	f := Finding{Relation: Mentions, Weight: share}
	denied := denies.MatchString(sentence)
	switch {
	case len(c.figures) > 0:
		f = c.compareFigures(sentence, here, share)
	default:
		f = c.compareWords(sentence, here, share, around)
	}
	if denied && share >= 0.6 && f.Relation != Contradicts {
		return Finding{Contradicts, share, "the sentence denies it"}
	}
	return f
}

// denies matches the words with which a text rejects a statement.
var denies = lazyregexp.New(`(?i)\b(myth|hoax|debunk\w*|misconception|urban legend|contrary to (popular|common)|no evidence (that|for|of)|not true|untrue|is false|are false|false claim|falsely|disproved|disproven|refuted|fake news|incorrect(ly)?|mistaken(ly)?|wrongly|legende|irrglaube|falsch ist)\b`)

// coverTerms returns the share of the claim's terms in a sentence and its context, names counting
// double, and the number of terms in the sentence itself.
func (c Claim) coverTerms(here []string, around Context) (share float64, direct int) {
	context := summary.Terms(around.Title+" "+around.Heading+" "+around.Previous, c.lang)
	sum, found := 0.0, 0.0
	for _, t := range c.terms {
		w := 1.0
		if slices.Contains(c.names, t) {
			w = 2
		}
		sum += w
		switch {
		case containsTerm(here, t):
			found += w
			direct++
		case containsTerm(context, t):
			found += 0.75 * w
		}
	}
	if sum == 0 {
		return 0, 0
	}
	return found / sum, direct
}

// containsTerm reports whether a list contains a term, or a term with the same beginning:
// "lithuania" and "lithuanian".
func containsTerm(list []string, t string) bool {
	return slices.Contains(list, t) || len(t) >= 5 && slices.ContainsFunc(list, func(x string) bool {
		return len(x) >= 5 && (strings.HasPrefix(x, t) || strings.HasPrefix(t, x))
	})
}

// minShare is the share of the claim's terms that a sentence must contain to say something about it.
const minShare = 0.6

// compareFigures compares each figure of the claim with the figures of a sentence.
func (c Claim) compareFigures(sentence string, here []string, share float64) Finding {
	if share < minShare {
		return Finding{Mentions, share, ""}
	}
	uses := Figures(sentence)
	agreed := ""
	for _, want := range c.figures {
		same, other := matchFigure(want, uses, share)
		switch {
		case same != nil:
			agreed = same.Text
		case other != nil && c.isAbout(want, here, share):
			if c.negative != isNegative(sentence) {
				return Finding{Mentions, share, ""}
			}
			return Finding{Contradicts, share, fmt.Sprintf("%s, not %s", other.Text, want.Text)}
		default:
			return Finding{Mentions, share, ""}
		}
	}
	if agreed == "" {
		return Finding{Mentions, share, ""}
	}
	if c.negative != isNegative(sentence) {
		return Finding{Contradicts, share, "it denies " + agreed}
	}
	if opposite := c.findOpposite(sentence); opposite != "" {
		return Finding{Contradicts, share, opposite}
	}
	return Finding{Supports, share, agreed}
}

// isAbout reports whether a sentence with another figure is about the claim's attribute, and not
// only about the same subject.
func (c Claim) isAbout(want Figure, here []string, share float64) bool {
	if want.Attribute != "" && want.Dimension != Year {
		return true
	}
	others := 0 // terms of the claim that are no names, which say what happened
	for _, t := range c.terms {
		if !slices.Contains(c.names, t) && containsTerm(here, t) {
			others++
		}
	}
	return share >= 0.75 && (others > 0 || want.Attribute != "")
}

// matchFigure returns the figure that agrees with want, or else one that can be compared with it.
func matchFigure(want Figure, list []Figure, share float64) (same, other *Figure) {
	for i := range list {
		u := &list[i]
		if u.Dimension != want.Dimension && !(want.Counted && u.Counted && strings.HasPrefix(u.Dimension, want.Dimension)) || u.Dimension == "" {
			continue
		}
		if u.Attribute != want.Attribute && u.Attribute != "" && want.Attribute != "" {
			continue
		}
		if u.Attribute != want.Attribute && share < 0.7 {
			continue
		}
		if want.Equal(u.Quantity) {
			return u, nil
		}
		if other == nil || u.Attribute == want.Attribute && other.Attribute != want.Attribute {
			other = u
		}
	}
	return nil, other
}

// compareWords compares a claim without figures with a sentence.
func (c Claim) compareWords(sentence string, here []string, share float64, around Context) Finding {
	// The claim's word cannot be in a sentence that has its opposite.
	if opposite := c.findOpposite(sentence); opposite != "" && share >= minShare {
		return Finding{Contradicts, share, opposite}
	}
	if share < 0.74 {
		return Finding{Mentions, share, ""}
	}
	context := summary.Terms(around.Title+" "+around.Heading+" "+around.Previous, c.lang)
	missing, elsewhere := 0, 0
	for _, t := range c.terms {
		switch {
		case containsTerm(here, t):
		case slices.Contains(c.names, t) && containsTerm(context, t): // the subject may be in the title
			elsewhere++
		default:
			missing++
		}
	}
	if missing > len(c.terms)/6 || missing > 0 && len(c.slots) > 0 || elsewhere*2 > len(c.terms) {
		return Finding{Mentions, share, ""}
	}
	if c.negative != isNegative(sentence) {
		return Finding{Contradicts, share, "one of them is a denial"}
	}
	if strings.HasSuffix(strings.TrimSpace(sentence), "?") || hedges.MatchString(sentence) {
		return Finding{Mentions, share, ""}
	}
	return Finding{Supports, share, "it says the same"}
}

// hedges matches words that turn a statement into a possibility or a claim by another person.
var hedges = lazyregexp.New(`(?i)\b(whether|if|claims?|claimed|alleged(ly)?|rumou?r(s|ed)?|supposed(ly)?|would have|might|could be|unproven|some people (say|believe)|so they say)\b`)

// findOpposite returns a pair of opposite words of which the claim has one and the sentence the
// other.
func (c Claim) findOpposite(sentence string) string {
	mine, theirs := textnorm.Words(strings.ToLower(c.Text)), textnorm.Words(strings.ToLower(sentence))
	for _, w := range mine {
		if slices.Contains(theirs, w) {
			continue
		}
		for _, o := range knownWords().opposite[w] {
			if slices.Contains(theirs, o) && !slices.Contains(mine, o) {
				return fmt.Sprintf("%q, not %q", o, w)
			}
		}
	}
	return ""
}

var negation = lazyregexp.New(`(?i)\b(not|no|never|none|neither|nor|cannot|without|no ?body|nothing|hardly|fail(s|ed)? to|nicht|kein\w*|nie|niemals|ne \w+ pas|jamais|nunca|mai)\b|n['’]t\b`)

// isNegative reports whether a sentence has an odd number of negations. "Not only" is none.
func isNegative(s string) bool {
	s = strings.ReplaceAll(strings.ToLower(s), "not only", "")
	s = strings.ReplaceAll(s, "no longer than", "")
	return len(negation.FindAllString(s, 8))%2 == 1
}
