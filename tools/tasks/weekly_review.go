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

type weekIn struct {
	Date string `json:"date,omitempty" jsonschema:"last day of the week to review; default today"`
}

// weekOut is the Data of weekly_review.
type weekOut struct {
	From  string               `json:"from"` // first and last day
	To    string               `json:"to"`
	Past  []tools.BriefSection `json:"past"`
	Ahead []tools.BriefSection `json:"ahead"` // the 7 days after the week
}

//go:embed weekly.tmpl
var weeklyTemplate string

func (d Deps) weeklyReview() tools.Tool {
	tmpl := minitmpl.Must(minitmpl.Parse(weeklyTemplate))
	return tools.New(tools.Def[weekIn]{
		Spec: tools.Spec{
			Name: "weekly_review", Category: "tasks", Effects: tools.Read, Timeout: time.Minute,
			Description: "Review a week: tasks done and overdue, spending, habits, goals, and the events, tasks and reminders of the next 7 days.",
			Keywords:    "week weekly review retrospective look back summary accomplished past progress plan next week",
		},
		Summary: func(weekIn) string { return "Review the week" },
		Run: func(ctx context.Context, c tools.Call, in weekIn) (tools.Result, error) {
			last := c.Now
			if strings.TrimSpace(in.Date) != "" {
				day, err := tools.ParsePastDay(in.Date, c.Now)
				if err != nil {
					return tools.Result{}, err
				}
				last = day
			}
			end := time.Date(last.Year(), last.Month(), last.Day()+1, 0, 0, 0, 0, c.Now.Location())
			from, ahead := end.AddDate(0, 0, -7), end
			if end.After(c.Now) { // the week is not over: what is still on today belongs to the coming days
				ahead = c.Now
			}
			out := weekOut{From: from.Format(time.DateOnly), To: end.AddDate(0, 0, -1).Format(time.DateOnly)}
			var past, next provenance.Source
			out.Past, past = tools.Brief(ctx, d.Past, from, end)
			out.Ahead, next = tools.Brief(ctx, d.Ahead, ahead, end.AddDate(0, 0, 7))
			text, err := weekText(tmpl, out, c.Now)
			return tools.Result{Text: text, Data: out, Source: provenance.Worst(past, next)}, err
		},
	})
}

func weekText(tmpl *minitmpl.Template, out weekOut, now time.Time) (string, error) {
	view := struct {
		From, To    string
		Past, Ahead []briefSection
	}{From: spellDay(out.From, now), To: spellDay(out.To, now)}
	view.Past, view.Ahead = weekSections(out.Past, now), weekSections(out.Ahead, now)
	var b strings.Builder
	if err := tmpl.Execute(&b, view); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

func spellDay(day string, now time.Time) string {
	at, err := time.ParseInLocation(time.DateOnly, day, now.Location())
	if err != nil {
		return day
	}
	return dayWords(at, now)
}

// weekSections converts the sections that have content for the template.
func weekSections(list []tools.BriefSection, now time.Time) (out []briefSection) {
	for _, s := range list {
		if len(s.Items) == 0 && s.Error == "" {
			continue
		}
		v := briefSection{Title: s.Title, Error: s.Error}
		for _, it := range s.Items {
			line := briefLine{Text: it.Text}
			if !it.At.IsZero() {
				line.Clock = dateparse.Format(it.At.In(now.Location()), now) + ":"
			}
			v.Lines = append(v.Lines, line)
		}
		out = append(out, v)
	}
	return out
}
