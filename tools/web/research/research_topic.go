package research

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/readability"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type researchIn struct {
	Topic      string   `json:"topic" jsonschema:"the topic or the questions, in words that a search understands"`
	Depth      string   `json:"depth,omitempty" jsonschema:"quick (5 pages), standard (default, 9 pages) or deep (18 pages)"`
	FocusAreas []string `json:"focus_areas,omitempty" jsonschema:"aspects to look into in addition, at most 5"`
	MaxSources int      `json:"max_sources,omitempty" jsonschema:"pages to read, 2 to 25; default by depth"`
}

// Findings is the result of a research and the Data of research_topic.
type Findings struct {
	Topic         string            `json:"topic"`
	Depth         string            `json:"depth"`
	Queries       []string          `json:"queries"`
	Answers       []answer          `json:"answers"`
	Disagreements []disagreement    `json:"disagreements"`
	Open          []string          `json:"open"` // questions without an answer
	Sources       []*source         `json:"sources"`
	NotRead       []*source         `json:"not_read,omitempty"`
	NotAsked      map[string]string `json:"not_asked,omitempty"` // service for papers -> why it gave no answer
	Note          string            `json:"note,omitempty"`      // id of the note with the result
	at            time.Time
}

// notePrefix begins the titles of the notes that research_topic writes.
const notePrefix = "Research: "

func (d Deps) researchTopic() tools.Tool {
	return tools.New(tools.Def[researchIn]{
		Spec: tools.Spec{
			Name: "research_topic", Category: "web", Effects: tools.Egress | tools.Write, Timeout: 5 * time.Minute,
			Description: "Research a topic on the web: search, read several pages, collect quotations with citations, name disagreements and open questions, and keep the result as a note.",
			Keywords:    "research investigate study look into find out sources background report several pages citations deep dive learn about",
		},
		Summary: func(in researchIn) string {
			return "Research " + strconv.Quote(textnorm.Ellipsize(in.Topic, 160)) + " on the web and keep a note"
		},
		Judge: func(_ context.Context, in researchIn) tools.CallAssessment {
			if err := in.checkArguments(); err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return d.assessResearch(in.searchWords(), tools.Egress|tools.Write)
		},
		Prepare: func(ctx context.Context, c tools.Call, in researchIn) (any, error) {
			if err := in.checkArguments(); err != nil {
				return nil, err
			}
			return d.runResearch(ctx, c, in)
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in researchIn) (tools.Result, error) {
			f, ok := c.Prepared.(Findings)
			if !ok {
				return tools.Result{}, tools.Errorf(tools.Failed, "the research has no result; try again")
			}
			return d.keepResearch(tx, c, f)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return d.Notes.UndoNoteTx(tx, data)
		},
	})
}

// searchWords returns the text of the arguments that the search service receives.
func (in researchIn) searchWords() string {
	return strings.TrimSpace(in.Topic + " " + strings.Join(in.FocusAreas, " "))
}

func (in researchIn) checkArguments() error {
	if strings.TrimSpace(in.Topic) == "" {
		return tools.Errorf(tools.InvalidArguments, "topic is empty; say what to research")
	}
	if err := requireText("the topic with its focus areas", in.searchWords()); err != nil {
		return err
	}
	switch {
	case len(in.FocusAreas) > 5:
		return tools.Errorf(tools.InvalidArguments, "focus_areas has %d entries; use at most 5", len(in.FocusAreas))
	case in.MaxSources != 0 && (in.MaxSources < 2 || in.MaxSources > 25):
		return tools.Errorf(tools.InvalidArguments, "max_sources must be 2 to 25")
	}
	if _, ok := depths[in.normalizedDepth()]; !ok {
		return tools.Errorf(tools.InvalidArguments, "depth must be quick, standard or deep, not %q", tools.Clean(textnorm.Ellipsize(in.Depth, 40)))
	}
	return nil
}

func (in researchIn) normalizedDepth() string {
	if s := strings.ToLower(strings.TrimSpace(in.Depth)); s != "" {
		return s
	}
	return "standard"
}

// runResearch searches, reads and compares.
func (d Deps) runResearch(ctx context.Context, c tools.Call, in researchIn) (Findings, error) {
	topic := readability.Squeeze(in.Topic)
	p := makePlan(topic, in.FocusAreas, in.normalizedDepth(), in.MaxSources)
	f := Findings{Topic: topic, Depth: in.normalizedDepth(), Queries: p.queries, Disagreements: []disagreement{}, Open: []string{}, at: c.Now}
	read, unread, err := d.readResults(ctx, c, p.queries, p.pages)
	if err != nil {
		return f, err
	}
	read, f.NotAsked = d.readPapers(ctx, in.searchWords(), f.Depth, read)
	f.Sources, f.NotRead = read, unread
	f.Answers = p.findAnswers(read, map[string]int{"quick": 3, "standard": 4, "deep": 7}[f.Depth])
	f.Disagreements = append(f.Disagreements, p.findDisagreements(read)...)
	for _, a := range f.Answers {
		if len(a.Findings) == 0 {
			f.Open = append(f.Open, a.Question)
		}
	}
	return f, nil
}

// keepResearch stores the result as a note. Without sources there is nothing to keep.
func (d Deps) keepResearch(tx *store.Tx, c tools.Call, f Findings) (tools.Result, error) {
	if len(f.Sources) == 0 {
		r := tools.Result{Source: provenance.Tool, Text: "The search found no page that I can read about: " + f.Topic, Data: f}
		if len(f.NotRead) > 0 {
			r.Source, r.Text = provenance.Outside, r.Text+"\n"+formatSources(nil, f.NotRead)
		}
		return r, nil
	}
	id, undo, err := d.Notes.AddNoteTx(tx, c, notePrefix+textnorm.Ellipsize(f.Topic, 150), f.renderMarkdown())
	if err != nil {
		return tools.Result{}, err
	}
	f.Note = id
	return tools.Result{
		Text: f.renderText(), Data: f, Source: provenance.Outside, Undo: undo, Links: linksOf(f.Sources, f.NotRead), Origins: originsOf("research_topic", f.Sources),
	}, nil
}

// renderText renders the result for a conversation.
func (f Findings) renderText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Research: %s (%s, %s read)\n", f.Topic, f.Depth, textnorm.CountNoun(len(f.Sources), "page", "pages"))
	for _, a := range f.Answers {
		if len(f.Answers) > 1 {
			fmt.Fprintf(&b, "\n%s:\n", a.Question)
		} else {
			b.WriteByte('\n')
		}
		if len(a.Findings) == 0 {
			b.WriteString("- nothing found\n")
		}
		for _, x := range a.Findings {
			fmt.Fprintf(&b, "- %s %s\n", quoteSentence(x.Text), citeNumbers(x.Sources))
		}
	}
	if len(f.Disagreements) > 0 {
		b.WriteString("\nThe sources disagree:\n")
		for _, x := range f.Disagreements {
			b.WriteString("- " + x.describeDisagreement() + "\n")
		}
	}
	b.WriteString("\n" + formatSources(f.Sources, f.NotRead) + describeNotAsked(f.NotAsked))
	b.WriteString("\n\nI kept this as a note; compile_report writes it to a file.")
	return b.String()
}

// renderMarkdown renders the result as the text of a note. parseNote reads it.
func (f Findings) renderMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Researched on %s (%s). Searches: %s.\n", f.at.Format(time.DateOnly), f.Depth, strings.Join(f.Queries, "; "))
	for _, a := range f.Answers {
		fmt.Fprintf(&b, "\n## %s\n", a.Question)
		for _, x := range a.Findings {
			fmt.Fprintf(&b, "- %s %s\n", quoteSentence(x.Text), citeNumbers(x.Sources))
		}
		if len(a.Findings) == 0 {
			b.WriteString("- open: nothing found\n")
		}
	}
	if len(f.Disagreements) > 0 {
		fmt.Fprintf(&b, "\n## %s\n", disagreementTitle)
		for _, x := range f.Disagreements {
			b.WriteString("- " + x.describeDisagreement() + "\n")
		}
	}
	fmt.Fprintf(&b, "\n## %s\n", sourcesTitle)
	for _, s := range f.Sources {
		fmt.Fprintf(&b, "[%d] %s\n", s.N, s.describeSource())
	}
	return b.String()
}

// Titles of the sections of a note.
const (
	disagreementTitle = "Disagreements"
	sourcesTitle      = "Sources"
)
