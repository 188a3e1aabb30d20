package notify

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/text/minitmpl"
	"hob/platform/text/textnorm"
)

// Limits for a digest. Notices beyond the maximum number of lines go into the next digest. The
// digest names the notices that it shortens.
const (
	mostLines = 50
	mostChars = 400 // per notice
)

//go:embed text/digest.tmpl
var digestText string

// line is one notice, as the template of a digest sees it.
type line struct {
	At, Text string
	Like     int // number of similar notices
}

// splitDigest returns the notices that fit into one digest, and those that do not fit.
func splitDigest(rows []Notice) (told, rest []Notice) {
	lines, has := 0, map[string]bool{}
	for _, r := range rows {
		like := r.Shape != "" && has[r.Shape]
		if !like && lines == mostLines {
			rest = append(rest, r)
			continue
		}
		if told = append(told, r); !like {
			has[r.Shape] = true
			lines++
		}
	}
	return told, rest
}

// composeDigest returns the text of a digest. more is the number of notices that a later digest
// will contain. For a single notice it returns its text, its time
// and the reason for the delay.
func (n *Notifier) composeDigest(rows []Notice, more int) (string, error) {
	if len(rows) == 0 {
		return "", nil
	}
	at := func(r Notice) string { return n.formatPast(r.CreatedAt) }
	if len(rows) == 1 {
		return fmt.Sprintf("%s\n(from %s, delayed: %s)", rows[0].Text, at(rows[0]), rows[0].Why), nil
	}
	view := struct {
		Count int
		Why   []string
		Lines []line
		Cut   bool
		More  int
	}{Count: len(rows), More: more}
	like := map[string]int{} // maps a shape to its index in Lines
	for _, r := range rows {
		if !slices.Contains(view.Why, r.Why) && len(view.Why) < 5 {
			view.Why = append(view.Why, r.Why)
		}
		if i, ok := like[r.Shape]; ok && r.Shape != "" {
			view.Lines[i].Like++
			continue
		}
		l := line{At: at(r), Text: textnorm.Ellipsize(r.Text, mostChars)}
		if utf8.RuneCountInString(strings.Join(strings.Fields(r.Text), " ")) > mostChars {
			l.Text, view.Cut = l.Text+" ("+r.ID+")", true
		}
		like[r.Shape] = len(view.Lines)
		view.Lines = append(view.Lines, l)
	}
	tmpl, err := minitmpl.Parse(digestText, minitmpl.Funcs{"join": strings.Join})
	if err != nil {
		return "", wrapError("parse the template of a digest", err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, view); err != nil {
		return "", wrapError("compose a digest", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// formatPast formats a past time as briefly as possible without ambiguity.
func (n *Notifier) formatPast(t time.Time) string {
	t, now := t.In(n.o.Zone()), time.Now().In(n.o.Zone())
	switch {
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case now.Sub(t) < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}
