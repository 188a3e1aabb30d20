package research

import (
	"context"
	_ "embed" // the frame of HTML reports
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/markup"
	"hob/platform/text/readability"
	"hob/platform/text/sorting"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Reports stores the files of reports.
type Reports interface {
	// CreateReport creates a file in the folder for Hob's documents and marks it as untrusted.
	CreateReport(ctx context.Context, c tools.Call, name, ext string, content []byte) (path string, undo *tools.Undo, err error)
	UndoReport(ctx context.Context, data json.RawMessage) (string, error)
	// MayDrop reports whether a Markdown report can be created without approval while untrusted
	// text is in context.
	MayDrop() bool
}

type reportIn struct {
	Topic  string `json:"topic" jsonschema:"the topic, as it was researched"`
	Format string `json:"format,omitempty" jsonschema:"brief, detailed (default) or executive_summary"`
	File   string `json:"file,omitempty" jsonschema:"markdown (default), html, pdf, or none for text only"`
}

// reportOut is the Data of compile_report.
type reportOut struct {
	Topic      string   `json:"topic"`
	Format     string   `json:"format"`
	Path       string   `json:"path,omitempty"`
	Sources    []string `json:"sources"` // addresses
	Notes      []string `json:"notes"`   // ids of the notes that the report uses
	Markdown   string   `json:"markdown"`
	Researched bool     `json:"researched"` // no note existed, so the topic was researched now
}

func (d Deps) compileReport() tools.Tool {
	return tools.New(tools.Def[reportIn]{
		Spec: tools.Spec{
			Name: "compile_report", Category: "web", Effects: tools.Egress | tools.Write, Timeout: 5 * time.Minute,
			Description: "Compile a report with its sources on a topic from the notes of earlier research, or research it now; as text and as a Markdown, HTML or PDF file.",
			Keywords:    "report document write up summary executive brief findings sources references pdf html markdown compile",
		},
		Summary: func(in reportIn) string {
			s := "Compile a report on " + strconv.Quote(textnorm.Ellipsize(in.Topic, 160))
			if f := in.fileType(); f != "none" {
				s += " as a " + map[string]string{"markdown": "Markdown", "html": "HTML", "pdf": "PDF"}[f] + " file"
			}
			return s
		},
		Judge: d.assessReport,
		Run: func(ctx context.Context, c tools.Call, in reportIn) (tools.Result, error) {
			if err := in.checkArguments(); err != nil {
				return tools.Result{}, err
			}
			return d.writeReport(ctx, c, in)
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			return d.Reports.UndoReport(ctx, data)
		},
	})
}

func (in reportIn) fileType() string {
	switch s := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(in.File)), "."); s {
	case "", "md":
		return "markdown"
	default:
		return s
	}
}

func (in reportIn) reportStyle() string {
	if s := strings.ToLower(strings.TrimSpace(in.Format)); s != "" {
		return s
	}
	return "detailed"
}

func (in reportIn) checkArguments() error {
	if err := requireText("topic", in.Topic); err != nil {
		return err
	}
	if !slices.Contains([]string{"brief", "detailed", "executive_summary"}, in.reportStyle()) {
		return tools.Errorf(tools.InvalidArguments, "format must be brief, detailed or executive_summary, not %q", tools.Clean(textnorm.Ellipsize(in.Format, 40)))
	}
	if !slices.Contains([]string{"markdown", "html", "pdf", "none"}, in.fileType()) {
		return tools.Errorf(tools.InvalidArguments, "file must be markdown, html, pdf or none, not %q", tools.Clean(textnorm.Ellipsize(in.File, 40)))
	}
	return nil
}

// assessReport assesses a call: it searches the web only if there are no notes on the topic, and
// writes only if a file is wanted.
func (d Deps) assessReport(ctx context.Context, in reportIn) tools.CallAssessment {
	if err := in.checkArguments(); err != nil {
		return tools.CallAssessment{Refused: err}
	}
	list, err := d.topicNotes(ctx, in.Topic)
	if err != nil {
		return tools.CallAssessment{}
	}
	j := tools.CallAssessment{Effects: tools.Read}
	if in.fileType() != "none" {
		j.Effects = tools.Write
	}
	if len(list) == 0 {
		file := j.Effects &^ tools.Read
		j = d.assessResearch(readability.Squeeze(in.Topic), tools.Egress|file)
	}
	j.Inert = in.fileType() == "markdown" && d.Reports.MayDrop()
	return j
}

// topicNotes returns the results of earlier research on a topic, newest first.
func (d Deps) topicNotes(ctx context.Context, topic string) (out []storedResearch, err error) {
	list, err := d.Notes.FindNotes(ctx, topic, 30)
	if err != nil {
		return nil, err
	}
	want := summary.Terms(questionWord.ReplaceAllString(topic, " "), "")
	for _, n := range list {
		title, ok := strings.CutPrefix(n.Title, notePrefix)
		if !ok {
			continue
		}
		have, same := summary.Terms(title, ""), 0
		for _, t := range want {
			if slices.Contains(have, t) {
				same++
			}
		}
		if same*3 < len(want)*2 {
			continue
		}
		if r := parseNote(n.Text); len(r.sources) > 0 {
			r.id, r.topic, r.at = n.ID, title, n.UpdatedAt
			out = append(out, r)
		}
	}
	sorting.StableByFunc(out, func(a, b storedResearch) int { return b.at.Compare(a.at) })
	return out, nil
}

func (d Deps) writeReport(ctx context.Context, c tools.Call, in reportIn) (tools.Result, error) {
	topic := readability.Squeeze(in.Topic)
	list, err := d.topicNotes(ctx, topic)
	if err != nil {
		return tools.Result{}, err
	}
	out := reportOut{Topic: topic, Format: in.reportStyle(), Sources: []string{}, Notes: []string{}}
	for _, r := range list {
		out.Notes = append(out.Notes, r.id)
	}
	if len(list) == 0 {
		f, err := d.runResearch(ctx, c, researchIn{Topic: topic})
		if err != nil {
			return tools.Result{}, err
		}
		if len(f.Sources) == 0 {
			return tools.Result{Source: provenance.Tool, Text: "There is no note on this topic, and the search found no page that I can read; no report was written.", Data: out}, nil
		}
		if len(f.Open) == len(f.Answers) {
			text := "There is no note on this topic, and no page that I read says anything about it; no report was written.\n" + formatSources(f.Sources, f.NotRead)
			return tools.Result{Source: provenance.Outside, Text: text, Data: out, Links: linksOf(f.Sources, f.NotRead), Origins: originsOf("compile_report", f.Sources)}, nil
		}
		r := parseNote(f.renderMarkdown())
		r.topic, r.at = f.Topic, c.Now
		list, out.Researched = append(list, r), true
	}
	rep := mergeResearch(list)
	out.Markdown = rep.renderReport(topic, out.Format, c.Now)
	for _, s := range rep.sources {
		out.Sources = append(out.Sources, s.address)
	}
	r := tools.Result{Text: out.Markdown, Source: provenance.Outside}
	for _, a := range out.Sources {
		r.Links = append(r.Links, linksOf([]*source{{URL: a}})...)
		r.Origins = append(r.Origins, provenance.Origin{Kind: "web", Label: a, Via: "compile_report"})
	}
	if file := in.fileType(); file != "none" {
		content, ext, err := d.encodeReport(ctx, file, topic, out.Markdown)
		if err != nil {
			return tools.Result{}, err
		}
		if out.Path, r.Undo, err = d.Reports.CreateReport(ctx, c, topic, ext, content); err != nil {
			return tools.Result{}, err
		}
		r.Text += "\n\nSaved as " + out.Path
	}
	r.Data = out
	return r, nil
}

//go:embed report.html
var reportFrame string

// encodeReport converts a report to the type of the file.
func (d Deps) encodeReport(ctx context.Context, file, topic, text string) (content []byte, ext string, err error) {
	text = escapeReport(text)
	if file == "markdown" {
		return []byte(text + "\n"), ".md", nil
	}
	page := strings.NewReplacer("{{title}}", html.EscapeString(topic), "{{body}}", markup.HTML(text)).Replace(reportFrame)
	if file == "html" {
		return []byte(page), ".html", nil
	}
	if d.Print == nil {
		e := tools.Errorf(tools.Unsupported, "a PDF needs a browser, and none was found")
		e.Remedy = "install Chromium, or use file html"
		return nil, "", e
	}
	pdf, err := d.Print(ctx, page)
	if err != nil {
		return nil, "", &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: "the browser did not print the report", Remedy: "use file html", Err: err}
	}
	return pdf, ".pdf", nil
}

// storedResearch is the content of a note of research_topic.
type storedResearch struct {
	id, topic string
	at        time.Time
	sections  []storedSection
	sources   []storedSource
}

type storedSection struct {
	title string
	lines []string
}

type storedSource struct{ address, text string }

// parseNote reads the text that renderMarkdown wrote. The user may have edited it: lines in other
// forms are kept as they are.
func parseNote(text string) (r storedResearch) {
	title := ""
	numbers := map[string]int{} // number in the note -> index in sources
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "## "); ok {
			if title = h; h != sourcesTitle {
				r.sections = append(r.sections, storedSection{title: h})
			}
			continue
		}
		if title == sourcesTitle {
			if m := sourceLine.FindStringSubmatch(line); m != nil {
				numbers[m[1]] = len(r.sources)
				r.sources = append(r.sources, storedSource{m[3], m[2]})
			}
			continue
		}
		if n := len(r.sections); n > 0 && line != "" {
			r.sections[n-1].lines = append(r.sections[n-1].lines, strings.TrimPrefix(line, "- "))
		}
	}
	for i := range r.sections { // from the numbers in the note to positions
		for j, line := range r.sections[i].lines {
			r.sections[i].lines[j] = renumberCitations(line, func(n string) (int, bool) { at, ok := numbers[n]; return at, ok })
		}
	}
	return r
}
