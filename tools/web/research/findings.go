package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hob/platform/text/evidence"
	"hob/platform/text/sorting"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
)

// finding is a sentence that answers a question, with the sources that say it.
type finding struct {
	Text    string `json:"text"`
	Sources []int  `json:"sources"`
	score   float64
	terms   []string
	answers []evidence.Quantity
}

// answer is what was found for one question.
type answer struct {
	Question string    `json:"question"`
	Findings []finding `json:"findings"`
}

// disagreement is a figure about which the sources disagree, or a statement that one of them denies.
type disagreement struct {
	About string     `json:"about"`
	Says  []position `json:"says"`
}

// position is one side of a disagreement.
type position struct {
	Value   string `json:"value"`
	Sources []int  `json:"sources"`
	Quote   string `json:"quote"`
}

const (
	minAnswer    = 0.55 // lowest rating of an answer
	sameSentence = 0.62 // similarity of sentences that say the same
)

// findAnswers returns the best sentences for each question, at most perQuestion.
func (p plan) findAnswers(read []*source, perQuestion int) (out []answer) {
	used := map[string]bool{}
	for _, q := range p.questions {
		var list []finding
		for _, s := range read {
			list = append(list, p.rateSource(q, s)...)
		}
		sorting.StableByFunc(list, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
		a := answer{Question: q.Text, Findings: []finding{}}
		for _, f := range list {
			if i := slices.IndexFunc(a.Findings, func(k finding) bool { return saysSame(q, k, f) }); i >= 0 {
				if !slices.Contains(a.Findings[i].Sources, f.Sources[0]) {
					a.Findings[i].Sources = append(a.Findings[i].Sources, f.Sources[0])
				}
				continue
			}
			if len(a.Findings) < perQuestion && (!used[f.Text] || len(a.Findings) == 0) {
				a.Findings = append(a.Findings, f)
				used[f.Text] = true
			}
		}
		for i := range a.Findings {
			slices.Sort(a.Findings[i].Sources)
		}
		out = append(out, a)
	}
	return out
}

// rateSource returns the sentences of a source that may answer a question, at most four.
func (p plan) rateSource(q question, s *source) (list []finding) {
	title := summary.Terms(s.Title, p.lang)
	var before []string
	for i, x := range s.sentences {
		terms := summary.Terms(x.Text, p.lang)
		context := append(slices.Concat(title, before), summary.Terms(x.Heading, p.lang)...)
		v := q.rateAnswer(x, terms, context)
		before = terms
		if v < minAnswer || len(terms) < 3 {
			continue
		}
		if s.Snippet {
			v *= 0.8
		}
		f := finding{Text: x.Text, Sources: []int{s.N}, score: v - 0.002*float64(min(i, 60)), terms: terms}
		for _, g := range evidence.Quantities(x.Text) {
			if (g.Dimension == evidence.Year) == (q.wants == dateAnswer) && g.Dimension != "" {
				f.answers = append(f.answers, g)
			}
		}
		list = append(list, f)
	}
	sorting.StableByFunc(list, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	return list[:min(len(list), 4)]
}

// saysSame reports whether two findings give the same answer: nearly the same words or, for a
// question about a figure, the same figure.
func saysSame(q question, a, b finding) bool {
	if summary.Similarity(a.terms, b.terms) > sameSentence {
		return !valuesDiffer(a.answers, b.answers)
	}
	if q.wants != amountAnswer && q.wants != dateAnswer || len(a.answers) == 0 || len(b.answers) == 0 {
		return false
	}
	return a.answers[0].Dimension == b.answers[0].Dimension && a.answers[0].Equal(b.answers[0])
}

// valuesDiffer reports whether two sentences give different values of the same dimension.
func valuesDiffer(a, b []evidence.Quantity) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Dimension == y.Dimension && x.Equal(y) {
				return false
			}
		}
	}
	return slices.ContainsFunc(a, func(x evidence.Quantity) bool {
		return slices.ContainsFunc(b, func(y evidence.Quantity) bool { return x.Dimension == y.Dimension })
	})
}

// statement is a figure of a source with its attribute and the words around it.
type statement struct {
	evidence.Figure
	sentence string
	source   int
	terms    []string
}

// findDisagreements compares the figures of the sources that are about the same attribute of the
// topic.
func (p plan) findDisagreements(read []*source) (out []disagreement) {
	subject := p.questions[0].names
	if len(subject) == 0 {
		subject = p.questions[0].terms
	}
	groups := map[string][]statement{}
	var order []string
	for _, s := range read {
		title := summary.Terms(s.Title, p.lang)
		for _, x := range s.sentences {
			terms := summary.Terms(x.Text, p.lang)
			if !isAboutSubject(subject, terms, title) {
				continue
			}
			for _, f := range evidence.Figures(x.Text) {
				if f.Attribute == "" || f.Dimension == "" {
					continue
				}
				key := f.Attribute + "/" + f.Dimension
				if len(groups[key]) == 0 {
					order = append(order, key)
				}
				groups[key] = append(groups[key], statement{f, x.Text, s.N, terms})
			}
		}
	}
	for _, key := range order {
		if d, ok := compareStatements(groups[key]); ok && len(out) < maxDisagreements {
			out = append(out, d)
		}
	}
	return out
}

const maxDisagreements = 6

// isAboutSubject reports whether a sentence names the subject, or refers to it on a page about it.
func isAboutSubject(subject, terms, title []string) bool {
	here, there := 0, 0
	for _, t := range subject {
		switch {
		case slices.Contains(terms, t):
			here++
		case slices.Contains(title, t):
			there++
		}
	}
	return len(subject) > 0 && here > 0 && here+there >= len(subject)
}

// compareStatements groups statements by value. Statements of different sources with different
// values are a disagreement.
func compareStatements(list []statement) (d disagreement, ok bool) {
	var values []statement
	sources := map[int][]int{}
	for _, s := range list {
		i := slices.IndexFunc(values, func(v statement) bool { return v.Equal(s.Quantity) })
		if i < 0 {
			values, i = append(values, s), len(values)
		}
		if !slices.Contains(sources[i], s.source) {
			sources[i] = append(sources[i], s.source)
		}
	}
	if len(values) < 2 || len(values) > 4 {
		return d, false
	}
	for i, v := range values {
		for j := range values {
			if i != j && slices.Equal(sources[i], sources[j]) && len(sources[i]) == 1 { // one page gives several values
				return d, false
			}
		}
		d.Says = append(d.Says, position{Value: v.Text, Sources: sources[i], Quote: quoteSentence(v.sentence)})
	}
	d.About = values[0].Attribute
	sorting.StableByFunc(d.Says, func(a, b position) int { return cmp.Compare(len(b.Sources), len(a.Sources)) })
	return d, true
}

// citeNumbers formats the numbers of sources: "[1][3]".
func citeNumbers(list []int) string {
	var b strings.Builder
	for _, n := range list {
		fmt.Fprintf(&b, "[%d]", n)
	}
	return b.String()
}

// describeDisagreement formats a disagreement in one line.
func (d disagreement) describeDisagreement() string {
	var parts []string
	for _, p := range d.Says {
		parts = append(parts, p.Value+" "+citeNumbers(p.Sources))
	}
	return textnorm.Ellipsize(d.About, 60) + ": " + strings.Join(parts, " against ")
}
