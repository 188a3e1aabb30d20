package research

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/text/evidence"
	"hob/platform/text/readability"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type summarizeIn struct {
	URL    string `json:"url" jsonschema:"address of the article, a page or a PDF"`
	Length string `json:"length,omitempty" jsonschema:"brief, standard (default) or detailed"`
	Focus  string `json:"focus,omitempty" jsonschema:"words that the user is interested in"`
}

// articleOut is the Data of summarize_article.
type articleOut struct {
	source
	Author     string   `json:"author,omitempty"`
	Sentences  []string `json:"sentences"`
	Figures    []string `json:"figures,omitempty"` // of the whole text, in its order
	Characters int      `json:"characters"`        // of the text
	Cut        bool     `json:"cut,omitempty"`     // only the beginning was read
}

// summaryLengths are the maximum characters and the share of the text for each length.
var summaryLengths = map[string]struct {
	chars int
	share float64
}{"brief": {420, 0.45}, "standard": {900, 0.5}, "detailed": {2600, 0.6}}

func (d Deps) summarizeArticle() tools.Tool {
	return tools.New(tools.Def[summarizeIn]{
		Spec: tools.Spec{
			Name: "summarize_article", Category: "web", Effects: tools.Egress, Timeout: time.Minute,
			Description: "Summarize an article on the web, or a PDF: its most important sentences, unchanged, with the figures.",
			Keywords:    "article summary summarize sum up tldr gist short version page link pdf paper read key points",
		},
		Summary: func(in summarizeIn) string { return "Read and summarize " + d.Web.DisplayAddress(in.URL) },
		Judge: func(_ context.Context, in summarizeIn) tools.CallAssessment {
			if _, err := checkLength(in.Length); err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return d.Web.AssessAddress(in.URL)
		},
		Run: func(ctx context.Context, _ tools.Call, in summarizeIn) (tools.Result, error) {
			return d.summarizePage(ctx, in)
		},
	})
}

func checkLength(length string) (string, error) {
	length = strings.ToLower(strings.TrimSpace(length))
	if length == "" {
		return "standard", nil
	}
	if _, ok := summaryLengths[length]; !ok {
		return "", tools.Errorf(tools.InvalidArguments, "length must be brief, standard or detailed, not %q", tools.Clean(textnorm.Ellipsize(length, 40)))
	}
	return length, nil
}

func (d Deps) summarizePage(ctx context.Context, in summarizeIn) (tools.Result, error) {
	length, err := checkLength(in.Length)
	if err != nil {
		return tools.Result{}, err
	}
	s, a, err := d.readArticle(ctx, in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	if a.Kind == "feed" || a.Kind == "json" {
		return tools.Result{}, tools.Errorf(tools.Unsupported, "the address leads to %s, not to an article; read it with browse_url or follow a feed with track_feed", tools.Clean(map[string]string{"feed": "a feed", "json": "data"}[a.Kind]))
	}
	limit := summaryLengths[length]
	sum := summary.Extract(a.Text, summary.Options{Title: a.Title, Focus: in.Focus, Chars: limit.chars, Share: limit.share, Skip: ordersMachine})
	if len(sum.Sentences) == 0 {
		e := tools.Errorf(tools.Unsupported, "the page has no text that can be summarized")
		e.Remedy = "it may need a login or a browser; open it with browser_open_tab"
		return tools.Result{}, e
	}
	out := articleOut{source: *s, Author: a.Author, Characters: sum.Whole, Cut: a.Cut, Figures: listFigures(s.sentences)}
	if out.Language == "" {
		out.Language = sum.Language
	}
	for _, x := range sum.Sentences {
		out.Sentences = append(out.Sentences, x.Text)
	}
	var b strings.Builder
	if s.Title != "" {
		b.WriteString(s.Title + "\n\n")
	}
	b.WriteString(sum.Text() + "\n\n" + s.URL)
	for _, remark := range articleRemarks(out, sum, length) {
		b.WriteString("\n" + remark)
	}
	return tools.Result{
		Text: b.String(), Data: out, Source: provenance.Outside, Links: []string{s.URL}, Origins: originsOf("summarize_article", []*source{s}),
	}, nil
}

// articleRemarks returns what a reader must know about a summary.
func articleRemarks(a articleOut, sum summary.Summary, length string) (out []string) {
	if a.Paywall {
		out = append(out, "The page is behind a paywall: this summarizes only the part that everybody can read.")
	}
	if a.Cut {
		out = append(out, "The text is long: only its beginning was read.")
	}
	if sum.Skipped > 0 {
		out = append(out, fmt.Sprintf("I left out %s to an assistant.", textnorm.CountNoun(sum.Skipped, "sentence that gives orders", "sentences that give orders")))
	}
	if length == "detailed" && len(a.Figures) > 0 {
		out = append(out, "Figures: "+strings.Join(a.Figures[:min(12, len(a.Figures))], "; "))
	}
	return out
}

// maxFigures limits the figures of one article.
const maxFigures = 40

// listFigures returns the figures of a text, each with the words around it.
func listFigures(list []summary.Sentence) (out []string) {
	for _, s := range list {
		for _, q := range evidence.Quantities(s.Text) {
			f := figureContext(s.Text, q)
			if len(out) < maxFigures && !slices.Contains(out, f) && q.Dimension != "" {
				out = append(out, f)
			}
		}
	}
	return out
}

// figureContext returns a figure with up to three words before it and four after it.
func figureContext(s string, q evidence.Quantity) string {
	before, after := strings.Fields(s[:q.Start]), strings.Fields(s[q.End:])
	text := strings.Join(before[max(0, len(before)-3):], " ") + " " + s[q.Start:q.End]
	if r, _ := utf8.DecodeRuneInString(s[q.End:]); r != ' ' && len(after) > 0 {
		text += after[0]
		after = after[1:]
	}
	text += " " + strings.Join(after[:min(4, len(after))], " ")
	return readability.CutRunes(strings.Trim(readability.Squeeze(text), " ,;:"), 120)
}
