package tasks

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/minitmpl"
	"hob/tools"
)

type briefIn struct {
	Date string `json:"date,omitempty" jsonschema:"default today"`
}

// briefOut is the Data of daily_briefing.
type briefOut struct {
	Date     string               `json:"date"`
	Sections []tools.BriefSection `json:"sections"`
}

//go:embed briefing.tmpl
var briefingTemplate string

func (d Deps) dailyBriefing() tools.Tool {
	tmpl := minitmpl.Must(minitmpl.Parse(briefingTemplate))
	return tools.New(tools.Def[briefIn]{
		Spec: tools.Spec{
			Name: "daily_briefing", Category: "tasks", Effects: tools.Read,
			Description: "Sum up a day: calendar, important email, weather, tasks, reminders, schedules, goals, habits, spending.",
			Keywords:    "brief me morning briefing summary today plan agenda what is on",
		},
		Summary: func(briefIn) string { return "Create the daily briefing" },
		Run: func(ctx context.Context, c tools.Call, in briefIn) (tools.Result, error) {
			day := c.Now
			if strings.TrimSpace(in.Date) != "" {
				m, err := parseMoment(in.Date, c.Now)
				if err != nil {
					return tools.Result{}, err
				}
				day = m.Time
			}
			from := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, c.Now.Location())
			out := briefOut{Date: from.Format(time.DateOnly)}
			var source provenance.Source
			out.Sections, source = tools.Brief(ctx, d.Briefs, from, from.AddDate(0, 0, 1))
			text, err := briefText(tmpl, out, from, c.Now)
			return tools.Result{Text: text, Data: out, Source: source}, err
		},
	})
}

// briefLine is one item for the template.
type briefLine struct{ Clock, Text string }

type briefSection struct {
	Title, Error string
	Lines        []briefLine
}

func briefText(tmpl *minitmpl.Template, out briefOut, from, now time.Time) (string, error) {
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

// dayWords formats a day as "today, Mon 9 Mar" or "Tue 24 Nov".
func dayWords(day, now time.Time) string {
	words := dateparse.FormatDay(day, now)
	if date := day.Format("Mon 2 Jan"); !strings.Contains(words, date) {
		words += ", " + date
	}
	return words
}
