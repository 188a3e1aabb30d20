package research

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/analyzer"
	"hob/platform/text/evidence"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
)

// question is one part of a topic.
type question struct {
	Text  string `json:"question"`
	terms []string
	names []string
	wants answerType
}

// answerType is the kind of answer that a question asks for.
type answerType uint8

const (
	anyAnswer answerType = iota
	amountAnswer
	dateAnswer
	personAnswer
	placeAnswer
)

// plan is what a research does: the questions, the searches and the number of pages.
type plan struct {
	questions []question
	queries   []string
	pages     int
	lang      string
}

// depths are the limits of a research: searches, and pages that are read.
var depths = map[string]struct{ queries, pages int }{"quick": {2, 5}, "standard": {4, 9}, "deep": {8, 18}}

var (
	// questionBreak separates the questions of a topic.
	questionBreak = lazyregexp.New(`(?i)\?\s+|;\s+|,?\s+and\s+((?:how|what|when|who|where|why|which|whose|is|are|does|do|did|was|were|can|should)\s)`)
	asksAmount    = lazyregexp.New(`(?i)\b(how (long|high|tall|deep|wide|far|old|heavy|big|large|fast|much|many|often)|what (length|height|price|cost|size|share|percentage|number)|population|wie (lang|hoch|viel|viele|groß|weit|alt))\b`)
	asksDate      = lazyregexp.New(`(?i)\b(when|what year|which year|since when|wann|quand)\b`)
	asksPerson    = lazyregexp.New(`(?i)\b(who|whose|wer|qui)\b`)
	asksPlace     = lazyregexp.New(`(?i)\b(where|wo|woher|où)\b`)
	questionWord  = lazyregexp.New(`(?i)\b(how|what|when|who|where|why|which|whose|long|much|many|year|is|are|does|do|did|was|were|it|its|they|their)\b`)
)

// makePlan splits a topic into questions and derives the searches. Focus areas are questions too.
func makePlan(topic string, focus []string, depth string, pages int) plan {
	limit := depths[depth]
	p := plan{pages: limit.pages, lang: analyzer.Of(analyzer.Part{Text: topic}).Lang}
	if pages > 0 {
		p.pages = pages
	}
	parts := splitQuestions(topic)
	subject := namesIn(parts[0])
	for i, part := range parts {
		q := p.newQuestion(part)
		if i > 0 && len(q.names) == 0 { // "when did it open?" is about the subject of the first question
			q.names, q.terms = p.newQuestion(subject).terms, append(p.newQuestion(subject).terms, q.terms...)
		}
		p.questions = append(p.questions, q)
	}
	for _, f := range focus {
		if f = strings.Join(strings.Fields(f), " "); f != "" {
			q := p.newQuestion(f)
			p.questions = append(p.questions, q)
		}
	}
	p.addQueries(topic, subject, limit.queries)
	return p
}

// addQueries adds the searches: the topic, each question with the subject, and for a deep research
// searches for other views.
func (p *plan) addQueries(topic, subject string, limit int) {
	add := func(q string) {
		q = strings.Join(strings.Fields(strings.TrimRight(q, "? ")), " ")
		if q != "" && len(p.queries) < limit && !slices.ContainsFunc(p.queries, func(x string) bool { return textnorm.EqualFolded(x, q) }) {
			p.queries = append(p.queries, q)
		}
	}
	add(topic)
	if subject == "" {
		subject = strings.TrimRight(topic, "? ")
	}
	for _, q := range p.questions {
		if len(p.questions) == 1 {
			break
		}
		words := questionWord.ReplaceAllString(q.Text, " ")
		if !strings.Contains(strings.ToLower(words), strings.ToLower(subject)) {
			words = subject + " " + words
		}
		add(words)
	}
	for _, more := range []string{"overview", "criticism", "study", "history", "statistics"} {
		add(subject + " " + more)
	}
}

// splitQuestions splits a topic at its questions. It returns at least one part.
func splitQuestions(topic string) (out []string) {
	rest := strings.TrimSpace(topic)
	for rest != "" {
		m := questionBreak.FindStringSubmatchIndex(rest)
		if m == nil {
			out = append(out, rest)
			break
		}
		next := m[1]
		if m[2] >= 0 { // the question word belongs to the next part
			next = m[2]
		}
		if head := strings.TrimSpace(rest[:m[0]]); head != "" {
			out = append(out, head)
		}
		rest = strings.TrimSpace(rest[next:])
	}
	if len(out) == 0 {
		out = []string{topic}
	}
	return out[:min(len(out), 6)]
}

func (p *plan) newQuestion(text string) question {
	text = strings.TrimRight(strings.TrimSpace(text), "? ")
	q := question{Text: text, terms: summary.Terms(subjectWords(text), p.lang)}
	q.names = summary.Terms(namesIn(text), p.lang)
	switch {
	case asksAmount.MatchString(text):
		q.wants = amountAnswer
	case asksDate.MatchString(text):
		q.wants = dateAnswer
	case asksPerson.MatchString(text):
		q.wants = personAnswer
	case asksPlace.MatchString(text):
		q.wants = placeAnswer
	}
	return q
}

// namesIn returns the words of a text that are written with a capital letter, without the first
// word of a question.
func namesIn(text string) string {
	var out []string
	for i, w := range strings.Fields(text) {
		w = strings.Trim(w, `.,;:!?"'“”‘’()`)
		r, _ := utf8.DecodeRuneInString(w)
		if unicode.IsUpper(r) && !(i == 0 && questionWord.MatchString(w)) {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// rateAnswer rates a sentence as an answer, from 0 to about 2: the share of the question's terms,
// more if it has a value of the requested kind.
func (q question) rateAnswer(s summary.Sentence, terms, context []string) float64 {
	sum, found, direct := 0.0, 0.0, 0
	for _, t := range q.terms {
		w := 1.0
		if slices.Contains(q.names, t) {
			w = 1.5
		}
		sum += w
		switch {
		case slices.Contains(terms, t):
			found += w
			direct++
		case slices.Contains(context, t):
			found += 0.7 * w
		}
	}
	if sum == 0 || direct == 0 {
		return 0
	}
	v := found / sum
	if hasAnswer(q, s.Text) {
		v += 0.5
	} else if q.wants != anyAnswer {
		v -= 0.35
	}
	if strings.HasSuffix(s.Text, "?") {
		v -= 0.4
	}
	return v
}

var (
	personName = lazyregexp.New(`\p{Lu}\pL+ (?:\p{Lu}\.? )?(?:von |van |de |da )?\p{Lu}\pL+`)
	placeName  = lazyregexp.New(`\b(?:in|at|near|on|off|between|from|bei|zwischen|à) (?:the )?\p{Lu}\pL+`)
)

// hasAnswer reports whether a sentence has a value of the kind that the question asks for.
func hasAnswer(q question, s string) bool {
	switch q.wants {
	case amountAnswer:
		want := evidence.AttributeIn(q.Text)
		return slices.ContainsFunc(evidence.Figures(s), func(f evidence.Figure) bool {
			return f.Dimension != evidence.Year && f.Dimension != "" && (want == "" || f.Attribute == "" || f.Attribute == want)
		})
	case dateAnswer:
		return slices.ContainsFunc(evidence.Quantities(s), func(f evidence.Quantity) bool { return f.Dimension == evidence.Year })
	case personAnswer:
		return personName.MatchString(s)
	case placeAnswer:
		return placeName.MatchString(s)
	}
	return false
}
