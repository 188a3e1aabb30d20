package tasks

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"text/template"
	"time"

	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/platform/when"
	"hob/tools"
)

type briefIn struct {
	Date string `json:"date,omitempty" jsonschema:"default today"`
}

// section is one part of a briefing.
type section struct {
	Title string            `json:"title"`
	Items []tools.BriefItem `json:"items"`
	Error string            `json:"error,omitempty"` // why it could not be read
}

// briefOut is the Data of daily_briefing.
type briefOut struct {
	Date     string    `json:"date"`
	Sections []section `json:"sections"`
}

//go:embed briefing.tmpl
var briefingTemplate string

func (d Deps) dailyBriefing() tools.Tool {
	tmpl := template.Must(template.New("briefing").Parse(briefingTemplate))
	return tools.New(tools.Def[briefIn]{
		Spec: tools.Spec{
			Name: "daily_briefing", Category: "tasks", Effects: tools.Read,
			Description: "Sum up a day: tasks, reminders, schedules, habits, spending.",
			Keywords:    "brief me morning briefing summary today plan agenda what is on",
		},
		Summary: func(briefIn) string { return "Brief the owner" },
		RunTx: func(ctx context.Context, _ *store.Tx, c tools.Call, in briefIn) (tools.Result, error) {
			day := c.Now
			if strings.TrimSpace(in.Date) != "" {
				m, err := moment(in.Date, c.Now)
				if err != nil {
					return tools.Result{}, err
				}
				day = m.Time
			}
			from := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, c.Now.Location())
			out, source := d.brief(ctx, from)
			text, err := briefText(tmpl, out, from, c.Now)
			return tools.Result{Text: text, Data: out, Source: source}, err
		},
	})
}

func (d Deps) brief(ctx context.Context, from time.Time) (briefOut, provenance.Source) {
	out := briefOut{Date: from.Format(time.DateOnly), Sections: []section{}}
	source := provenance.Tool
	for _, b := range d.Briefs {
		items, err := b.Brief(ctx, from, from.AddDate(0, 0, 1))
		s := section{Title: b.BriefTitle(), Items: append([]tools.BriefItem{}, items...)}
		if err != nil {
			s.Error = err.Error()
		}
		slices.SortStableFunc(s.Items, func(p, q tools.BriefItem) int {
			if p.At.IsZero() != q.At.IsZero() {
				if p.At.IsZero() {
					return 1
				}
				return -1
			}
			return p.At.Compare(q.At)
		})
		for _, it := range s.Items {
			if it.Source.Tainted() {
				source = provenance.Outside
			}
		}
		out.Sections = append(out.Sections, s)
	}
	return out, source
}

// briefLine is one item as the template sees it.
type briefLine struct{ Clock, Text string }

type briefSection struct {
	Title, Error string
	Lines        []briefLine
}

func briefText(tmpl *template.Template, out briefOut, from, now time.Time) (string, error) {
	view := struct {
		Day      string
		Sections []briefSection
		Empty    bool
	}{Day: dayWords(from, now), Empty: true}
	for _, s := range out.Sections {
		if len(s.Items) == 0 && s.Error == "" {
			continue
		}
		view.Empty = false
		v := briefSection{Title: s.Title, Error: s.Error}
		for _, it := range s.Items {
			line := briefLine{Text: it.Text}
			if !it.At.IsZero() {
				line.Clock = it.At.In(now.Location()).Format("15:04")
			}
			v.Lines = append(v.Lines, line)
		}
		view.Sections = append(view.Sections, v)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, view); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// dayWords is "today, Mon 9 Mar" or "Tue 24 Nov".
func dayWords(day, now time.Time) string {
	words := when.FormatDay(day, now)
	if date := day.Format("Mon 2 Jan"); !strings.Contains(words, date) {
		words += ", " + date
	}
	return words
}
