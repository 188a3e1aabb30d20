package knowledge

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/analyzer"
	"hob/platform/text/textnorm"
)

// parsedQuestion is a parsed request.
type parsedQuestion struct {
	text   string // the text without time expressions
	terms  []term
	spans  []timeSpan
	anchor *anchor
	names  []string // words with an initial capital
	// speakers are the named people who are speakers of rows. The features for speakers apply only
	// if there is exactly one.
	speakers []string
	called   []string // their folded names
	time     bool     // the question asks for a time
	number   bool     // the question asks for a number
	overview bool     // the question asks for several items or a summary
	history  bool     // the question asks for outdated data
	bygone   []string // words that ask for outdated data
	total    float64
	route    Route
}

// maxAsked limits the length of a request in bytes.
const maxAsked = 4000

// parseQuestion parses a request. It does no lookups.
func parseQuestion(text string, now time.Time) *parsedQuestion {
	if len(text) > maxAsked {
		text = text[:maxAsked]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	k := &parsedQuestion{text: text}
	a, rest, ok := anchorOf(text, now)
	if ok {
		k.text = rest + " " + a.event
	}
	k.spans, k.text = parseSpans(k.text, now)
	switch {
	case ok && a.time != nil:
		k.spans = append(k.spans, a.adjacentSpan(*a.time))
	case ok:
		k.anchor = &a
	}
	k.detectAnswerKind(text)
	k.selectWords()
	k.chooseRoute()
	return k
}

// detectAnswerKind detects the kind of answer that the text asks for.
func (k *parsedQuestion) detectAnswerKind(text string) {
	t := tokenizeFolded(text)
	has := func(words ...string) bool {
		for i := range len(t) - len(words) + 1 {
			if slices.Equal(t[i:i+len(words)], words) {
				return true
			}
		}
		return false
	}
	k.time = len(t) > 0 && t[0] == "when" || has("how", "long") || has("what", "time") || has("what", "day") || has("what", "date") ||
		has("which", "day") || has("which", "year") || has("what", "year") || has("which", "month") || has("what", "month")
	k.number = has("how", "many") || has("how", "much") || has("how", "often") || has("how", "old")
	k.overview = findPluralWord(t) != "" || slices.ContainsFunc([]string{"summary", "summarize", "summarise", "overview", "recap", "order"}, func(w string) bool { return has(w) })
	for _, words := range [][]string{{"used", "to"}, {"use", "to"}, {"until", "now"}, {"no", "longer"}, {"in", "the", "past"}} {
		if has(words...) && (words[0] != "use" || has("did")) { // "used to" in a question, such as "where did I use to live"
			k.bygone = append(k.bygone, words...)
		}
	}
	if has("old") && !has("how", "old") && !has("years", "old") {
		k.bygone = append(k.bygone, "old")
	}
	for _, w := range tokenizeFolded(k.text) { // "the day before" is a time expression
		if w == "before" || w == "earlier" || loadQuestionWords().before[w] {
			k.bygone = append(k.bygone, w)
		}
	}
	k.history = len(k.bygone) > 0 || has("history")
}

// selectWords sets the terms to the content words of the question, or to all words if there are no
// content words.
func (k *parsedQuestion) selectWords() {
	var seen []string
	list := textnorm.Words(k.text)
	for _, telling := range []bool{true, false} {
		for _, w := range list {
			f := textnorm.Fold(w)
			if slices.Contains(seen, f) || len(k.terms) == maxTerms || telling && (loadQuestionWords().nothing[f] || len(f) == 1 && !isNumber(f)) {
				continue
			}
			seen = append(seen, f)
			k.terms = append(k.terms, newTerm(f))
			if r := []rune(w); unicode.IsUpper(r[0]) && len(r) > 1 && len(k.names) < maxNames {
				k.names = append(k.names, w)
			}
		}
		if len(k.terms) > 0 || len(k.spans) > 0 {
			break
		}
	}
	for _, w := range analyzer.Query(k.text, nil, maxTerms) {
		if w.Extra && len(k.terms) < maxTerms {
			k.terms = append(k.terms, term{text: textnorm.Fold(w.Text), whole: true})
		}
	}
}

// maxNames limits the number of names to look up.
const maxNames = 8

// chooseRoute chooses the route. A graph lookup may change it later.
func (k *parsedQuestion) chooseRoute() {
	t := tokenizeFolded(k.text)
	telling := slices.ContainsFunc(k.terms, func(w term) bool { return !loadQuestionWords().nothing[w.text] })
	switch {
	case !telling && len(k.spans) == 0:
		k.route = Route{Kind: RouteNone, Reasons: []string{"no searchable words"}}
		return
	case k.anchor != nil:
		k.route = Route{Kind: RouteMultiHop, Reasons: []string{"relative to an event: " + k.anchor.event}}
	default:
		k.route = Route{Kind: RouteSingle}
	}
	if w := findPluralWord(t); w != "" {
		if k.route.Kind == RouteSingle {
			k.route.Kind = RouteMulti
		}
		k.route.Reasons = append(k.route.Reasons, "asks for several items: "+w)
	}
	for _, r := range []struct {
		is  bool
		why string
	}{{k.time, "asks for a time"}, {k.number, "asks for a number"}, {k.history, "asks for outdated data"}, {len(k.spans) > 0, "names a time"}} {
		if r.is {
			k.route.Reasons = append(k.route.Reasons, r.why)
		}
	}
}

// findPluralWord returns a word that asks for more than one item, or "" if there is none.
func findPluralWord(t []string) string {
	for i, w := range t {
		switch w {
		case "which", "all", "every", "list", "both", "compare", "everything", "everyone":
			return w
		case "many", "often":
			if i > 0 && t[i-1] == "how" {
				return "how " + w
			}
		case "kinds", "types", "sorts", "ways":
			return w
		case "what":
			if i+1 < len(t) && len(t[i+1]) > 4 && strings.HasSuffix(t[i+1], "s") && !strings.HasSuffix(t[i+1], "ss") {
				return "what " + t[i+1]
			}
		}
	}
	return ""
}

// weighTerms sets the weights of the terms from the index statistics.
func (k *parsedQuestion) weighTerms(a WordAnswer, little float64) {
	k.total = 1e-9
	for i := range k.terms {
		t := &k.terms[i]
		if t.weight = inverseDocFrequency(a.Rows, 0); t.whole { // a name with punctuation has a weight only if the index contains it, because its parts may be the intended terms
			t.weight = 0
		}
		for j, w := range a.Words {
			if textnorm.Fold(w.Text) == t.text {
				t.weight, t.bit = inverseDocFrequency(a.Rows, w.Rows), 1<<min(j, 63)
				break
			}
		}
		if loadQuestionWords().little[t.text] || slices.Contains(k.bygone, t.text) {
			t.weight *= little
		}
		k.total += min(t.weight, maxWeight)
	}
}

// maxWeight limits the weight of one word.
const maxWeight = 8
