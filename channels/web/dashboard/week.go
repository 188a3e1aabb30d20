package dashboard

import (
	"fmt"
	"html"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
	"hob/platform/text/visible"
)

const (
	weekDays  = 7
	maxLanes  = 15 // schedules and reminders in the picture
	denseRuns = 40 // from this number of runs on, a lane is a bar
	cutRuns   = 100
	laneTop   = 26.0 // height of the names of the days
)

// weekPicture has the sizes of a picture of the week, in the units of its SVG.
type weekPicture struct {
	class      string
	label      float64 // width of the texts left of the marks; 0 puts each text above its marks
	day        float64 // width of a day
	lane       float64 // height of a lane
	dayFormat  string
	labelRunes int
}

// weekPictures returns the picture for wide windows and the one for narrow windows, such as a phone's.
// The style sheet shows one of them.
func weekPictures() []weekPicture {
	return []weekPicture{
		{class: "week wide", label: 170, day: 72, lane: 24, dayFormat: "Mon 2 Jan", labelRunes: 24},
		{class: "week narrow", day: 42, lane: 38, dayFormat: "Mon 2", labelRunes: 44},
	}
}

// weekFrom returns the beginnings of the days from today on, and the end of the last day.
func weekFrom(now time.Time) []time.Time {
	var out []time.Time
	for n := range weekDays + 1 {
		out = append(out, startOfDay(now).AddDate(0, 0, n))
	}
	return out
}

// lane is the row of one schedule or reminder.
type lane struct {
	text     string
	reminder bool
	at       []time.Time
}

// groupRuns returns the lanes in the order of their first run.
func groupRuns(runs []api.PlannedRun) []*lane {
	var out []*lane
	byID := map[string]*lane{}
	for _, x := range runs {
		l := byID[x.ID]
		if l == nil {
			l = &lane{text: x.Text, reminder: x.Reminder}
			byID[x.ID], out = l, append(out, l)
		}
		l.at = append(l.at, x.At)
	}
	return out
}

// renderWeek draws when the schedules and reminders run in the next days, and lists the same in words.
func renderWeek(r *request, f api.Forecast, days []time.Time) g.Node {
	lanes := groupRuns(f.Runs)
	more := max(len(lanes)-maxLanes, 0)
	return h.Section(
		h.Class("card"), h.ID("week"), h.Aria("labelledby", "week-title"),
		h.H2(h.ID("week-title"), g.Text("The next 7 days"), h.Span(h.Class("soft small"), g.Text(countOf(len(f.Runs), "run", "runs")))),
		g.If(len(lanes) == 0, emptyState("Nothing will run", "Schedules and reminders of the next 7 days are shown here.")),
		g.Iff(len(lanes) > 0, func() g.Node {
			return h.Figure(
				h.Div(h.Class("scroll"), h.Role("region"), h.Aria("label", "Picture of the next 7 days"), h.TabIndex("0"), g.Map(weekPictures(), func(p weekPicture) g.Node {
					return g.Raw(p.drawWeek(r, lanes[:len(lanes)-more], f.Quiet, days))
				})),
				h.FigCaption(
					h.Class("soft small"), g.Text("Each mark is a run of a schedule (round) or a reminder (square)."),
					g.If(len(f.Quiet) > 0, g.Text(" Gray: quiet hours, in which Hob defers notifications, but not your reminders.")),
					g.If(more > 0, g.Text(fmt.Sprintf(" %d more are in the list.", more))),
				),
			)
		}),
		g.Iff(len(lanes) > 0, func() g.Node { return renderRuns(r, lanes, days) }),
	)
}

// renderRuns lists the runs by day.
func renderRuns(r *request, lanes []*lane, days []time.Time) g.Node {
	var list g.Group
	for n := range len(days) - 1 {
		var lines g.Group
		for _, l := range lanes {
			if times := timesOn(l.at, days[n], days[n+1], r.zone); times != "" {
				lines = append(lines, h.Span(h.Class("meta"), plainText(times+": "+shortText(l.text))))
			}
		}
		if len(lines) > 0 {
			list = append(list, h.Li(h.Span(h.Class("what"), g.Text(capitalizeFirst(formatDay(r.now, days[n])))), lines))
		}
	}
	return h.Details(h.Summary(g.Text("List")), h.Ul(h.Class("list"), list))
}

// timesOn returns the times of day of a lane on one day.
func timesOn(at []time.Time, from, to time.Time, zone *time.Location) string {
	const most = 6
	var times []string
	n := 0
	for _, t := range at {
		if t.Before(from) || !t.Before(to) {
			continue
		}
		if n++; n <= most {
			times = append(times, t.In(zone).Format("15:04"))
		}
	}
	if n > most {
		times = append(times, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(times, ", ")
}

// drawWeek returns the picture as inline SVG. Its colors come from the style sheet.
func (p weekPicture) drawWeek(r *request, lanes []*lane, quiet []api.Period, days []time.Time) string {
	width, height := p.label+p.day*weekDays, laneTop+p.lane*float64(len(lanes))+6
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %g %g" width="%g" role="img" aria-label="%s">`, p.class, width, height, width, html.EscapeString(describeWeek(lanes)))
	for _, q := range quiet {
		from, to := p.xOf(days, q.From), p.xOf(days, q.To)
		fmt.Fprintf(&b, `<rect class="quiet" x="%.1f" y="%g" width="%.1f" height="%g"/>`, from, laneTop-4, to-from, height-laneTop)
	}
	for n, day := range days[:weekDays] {
		x := p.label + p.day*float64(n)
		fmt.Fprintf(&b, `<path class="grid" d="M%g %gV%g"/><text x="%g" y="14">%s</text>`, x, laneTop-4, height-4, x+4, day.Format(p.dayFormat))
	}
	for n, l := range lanes {
		y := laneTop + p.lane*(float64(n)+0.5)
		textY := y + 4
		if p.label == 0 {
			textY, y = y-4, y+10
		}
		fmt.Fprintf(&b, `<text class="lane" x="0" y="%.1f">%s</text>`, textY, html.EscapeString(textnorm.Ellipsize(visible.Text(l.text), p.labelRunes)))
		p.drawLane(&b, r, l, y, days)
	}
	b.WriteString("</svg>")
	return b.String()
}

// drawLane draws the runs of one lane. Many runs become a bar.
func (p weekPicture) drawLane(b *strings.Builder, r *request, l *lane, y float64, days []time.Time) {
	title := html.EscapeString(visible.Text(shortText(l.text)))
	if len(l.at) > denseRuns {
		from, to := p.xOf(days, l.at[0]), p.xOf(days, l.at[len(l.at)-1])
		if len(l.at) >= cutRuns { // the forecast has no further runs
			to = p.xOf(days, days[weekDays])
		}
		class := "run"
		if l.reminder {
			class = "reminder"
		}
		fmt.Fprintf(b, `<rect class="%s dense" x="%.1f" y="%.1f" width="%.1f" height="6" rx="3"><title>%s</title></rect>`, class, from, y-3, to-from, title)
		return
	}
	for _, at := range l.at {
		x, when := p.xOf(days, at), html.EscapeString(at.In(r.zone).Format("Mon 15:04"))
		if l.reminder {
			fmt.Fprintf(b, `<rect class="reminder" x="%.1f" y="%.1f" width="8" height="8"><title>%s: %s</title></rect>`, x-4, y-4, when, title)
			continue
		}
		fmt.Fprintf(b, `<circle class="run" cx="%.1f" cy="%.1f" r="4.5"><title>%s: %s</title></circle>`, x, y, when, title)
	}
}

// xOf returns the horizontal position of a time. A day with a clock change is as wide as the others.
func (p weekPicture) xOf(days []time.Time, at time.Time) float64 {
	for n := range len(days) - 1 {
		if at.Before(days[n+1]) {
			share := float64(at.Sub(days[n])) / float64(days[n+1].Sub(days[n]))
			return p.label + p.day*(float64(n)+max(share, 0))
		}
	}
	return p.label + p.day*float64(len(days)-1)
}

// describeWeek returns the text that replaces the picture for people who cannot see it.
func describeWeek(lanes []*lane) string {
	var parts []string
	for _, l := range lanes {
		parts = append(parts, visible.Text(shortText(l.text))+": "+countOf(len(l.at), "run", "runs"))
	}
	return "Runs of the next 7 days. " + strings.Join(parts, "; ")
}
