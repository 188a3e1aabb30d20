package research

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/analyzer"
	"hob/platform/text/evidence"
	"hob/platform/text/sorting"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type factCheckIn struct {
	Claim      string `json:"claim" jsonschema:"the statement to check, as one sentence"`
	Context    string `json:"context,omitempty" jsonschema:"words that narrow the search, such as a place or a year"`
	MaxSources int    `json:"max_sources,omitempty" jsonschema:"pages to read, 2 to 12 (default 6)"`
}

// quotation is a sentence of a source with its relation to a claim.
type quotation struct {
	Text     string            `json:"text"`
	Source   int               `json:"source"` // number of the source
	URL      string            `json:"url"`
	Relation evidence.Relation `json:"relation"`
	Why      string            `json:"why,omitempty"`
	Weight   float64           `json:"weight"`
	Copy     bool              `json:"copy,omitempty"` // another source has the same sentence, so it counts once
}

// Verdicts of a fact check.
const (
	supported    = "supported"
	contradicted = "contradicted"
	disputed     = "disputed"
	unverified   = "unverified"
)

// factCheckOut is the Data of fact_check.
type factCheckOut struct {
	Claim      string      `json:"claim"`
	Verdict    string      `json:"verdict"`    // supported, contradicted, disputed or unverified
	Confidence float64     `json:"confidence"` // 0 to 0.95
	For        []quotation `json:"for"`
	Against    []quotation `json:"against"`
	Sources    []*source   `json:"sources"`
	NotRead    []*source   `json:"not_read,omitempty"`
	Queries    []string    `json:"queries"`
}

func (d Deps) factCheck() tools.Tool {
	return tools.New(tools.Def[factCheckIn]{
		Spec: tools.Spec{
			Name: "fact_check", Category: "web", Effects: tools.Egress, Timeout: 2 * time.Minute,
			Description: "Check a claim against pages on the web: quotations for and against it with their addresses, and a verdict with its confidence.",
			Keywords:    "fact check verify claim true false right wrong rumour myth evidence is it really correct hoax",
		},
		Summary: func(in factCheckIn) string {
			return "Search the web for evidence for and against " + strconv.Quote(textnorm.Ellipsize(in.Claim, 160))
		},
		Judge: func(_ context.Context, in factCheckIn) tools.CallAssessment {
			if err := in.checkArguments(); err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return d.assessSearch(strings.TrimSpace(in.Claim+" "+in.Context), tools.Egress)
		},
		Run: func(ctx context.Context, c tools.Call, in factCheckIn) (tools.Result, error) {
			if err := in.checkArguments(); err != nil {
				return tools.Result{}, err
			}
			return d.checkClaim(ctx, c, in)
		},
	})
}

func (in factCheckIn) checkArguments() error {
	if err := requireText("claim", strings.TrimSpace(in.Claim+" "+in.Context)); err != nil {
		return err
	}
	if in.MaxSources != 0 && (in.MaxSources < 2 || in.MaxSources > 12) {
		return tools.Errorf(tools.InvalidArguments, "max_sources must be 2 to 12")
	}
	if strings.TrimSpace(in.Claim) == "" {
		return tools.Errorf(tools.InvalidArguments, "claim is empty")
	}
	return nil
}

func (d Deps) checkClaim(ctx context.Context, c tools.Call, in factCheckIn) (tools.Result, error) {
	text := strings.Join(strings.Fields(in.Claim), " ")
	claim := evidence.ParseClaim(text, analyzer.Of(analyzer.Part{Text: text}).Lang)
	out := factCheckOut{Claim: text, For: []quotation{}, Against: []quotation{}, Queries: claimQueries(claim, in.Context)}
	read, unread, err := d.readResults(ctx, c, out.Queries, cmp.Or(in.MaxSources, 6))
	if err != nil {
		return tools.Result{}, err
	}
	out.Sources, out.NotRead = read, unread
	for _, s := range read {
		for _, q := range bestQuotations(claim, s) {
			if q.Relation == evidence.Supports {
				out.For = append(out.For, q)
			} else {
				out.Against = append(out.Against, q)
			}
		}
	}
	markCopies(out.For)
	markCopies(out.Against)
	out.Verdict, out.Confidence = judgeEvidence(out.For, out.Against)
	r := tools.Result{Text: out.renderText(), Data: out, Source: provenance.Outside, Links: linksOf(read, unread), Origins: originsOf("fact_check", read)}
	if len(read)+len(unread) == 0 {
		r.Source = provenance.Tool
	}
	return r, nil
}

// claimQueries returns the searches for a claim: the claim itself, and its subject without the
// figures, which also finds pages that give another figure.
func claimQueries(c evidence.Claim, context string) []string {
	out := []string{strings.TrimSpace(c.Text + " " + context)}
	if open := c.WithoutFigures(); open != "" && open != c.Text {
		out = append(out, strings.TrimSpace(open+" "+context))
	}
	return out
}

// bestQuotations returns the strongest sentence of a source for a claim and the strongest against
// it.
func bestQuotations(c evidence.Claim, s *source) (out []quotation) {
	best := map[evidence.Relation]quotation{}
	previous := ""
	for _, x := range s.sentences {
		f := c.Compare(x.Text, evidence.Context{Title: s.Title, Heading: x.Heading, Previous: previous})
		previous = x.Text
		if f.Relation != evidence.Supports && f.Relation != evidence.Contradicts {
			continue
		}
		if s.Snippet {
			f.Weight *= 0.6
		}
		if f.Weight > best[f.Relation].Weight {
			best[f.Relation] = quotation{Text: quoteSentence(x.Text), Source: s.N, URL: s.URL, Relation: f.Relation, Why: f.Why, Weight: math.Round(f.Weight*100) / 100}
		}
	}
	for _, r := range []evidence.Relation{evidence.Supports, evidence.Contradicts} {
		if q, ok := best[r]; ok {
			out = append(out, q)
		}
	}
	if len(out) == 2 && math.Abs(out[0].Weight-out[1].Weight) >= 0.1 { // the page is mostly of one opinion
		out = []quotation{slices.MaxFunc(out, func(a, b quotation) int { return cmp.Compare(a.Weight, b.Weight) })}
	}
	return out
}

// markCopies marks quotations whose sentence another source has too: sources that copy each other
// are one source. It sorts the list by weight.
func markCopies(list []quotation) {
	sorting.StableByFunc(list, func(a, b quotation) int { return cmp.Compare(b.Weight, a.Weight) })
	for i := range list {
		terms := summary.Terms(list[i].Text, "")
		list[i].Copy = slices.ContainsFunc(list[:i], func(q quotation) bool {
			return len(terms) >= 5 && summary.Similarity(terms, summary.Terms(q.Text, "")) > 0.92
		})
	}
}

// judgeEvidence weighs the quotations. One independent source gives a confidence of at most 0.5, two
// of 0.75, three of 0.88.
func judgeEvidence(pro, con []quotation) (verdict string, confidence float64) {
	p, c := sumWeights(pro), sumWeights(con)
	if p+c == 0 {
		return unverified, 0
	}
	share := p / (p + c)
	verdict = disputed
	switch {
	case share >= 0.7:
		verdict = supported
	case share <= 0.3:
		verdict = contradicted
	}
	confidence = min(0.95, math.Abs(2*share-1)*(1-math.Pow(0.5, max(p, c))))
	return verdict, math.Round(confidence*100) / 100
}

func sumWeights(list []quotation) (sum float64) {
	for _, q := range list {
		if q.Copy {
			sum += q.Weight / 4
			continue
		}
		sum += q.Weight
	}
	return sum
}

func (o factCheckOut) renderText() string {
	var b strings.Builder
	switch {
	case len(o.Sources)+len(o.NotRead) == 0:
		return "Verdict: unverified. The search found nothing for the claim: " + o.Claim
	case o.Verdict == unverified:
		fmt.Fprintf(&b, "Verdict: unverified. None of the %s says anything about the claim.\n", textnorm.CountNoun(len(o.Sources), "page that I read", "pages that I read"))
	default:
		fmt.Fprintf(&b, "Verdict: %s (confidence %.2f).\n", o.Verdict, o.Confidence)
	}
	fmt.Fprintf(&b, "Claim: %s\n", o.Claim)
	writeQuotations(&b, "Against", o.Against)
	writeQuotations(&b, "For", o.For)
	b.WriteString("\n" + formatSources(o.Sources, o.NotRead))
	b.WriteString("\n\nThe verdict compares figures, names and negations in the quoted sentences. Read the pages before you rely on it.")
	return b.String()
}

func writeQuotations(b *strings.Builder, title string, list []quotation) {
	if len(list) == 0 {
		fmt.Fprintf(b, "\n%s: nothing found\n", title)
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, q := range list {
		fmt.Fprintf(b, "- %s [%d]", q.Text, q.Source)
		switch {
		case q.Copy:
			b.WriteString(" (the same sentence as above)")
		case q.Why != "":
			b.WriteString(" (" + q.Why + ")")
		}
		b.WriteByte('\n')
	}
}
