package health

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/plot"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type habitReportIn struct {
	Habit  string `json:"habit,omitempty" jsonschema:"empty: all"`
	Period string `json:"period,omitempty" jsonschema:"this_week, this_month (default), last_month, this_year, 2026-03 or all"`
	Chart  string `json:"chart,omitempty" jsonschema:"calendar (default), bar, line or none"`
}

// Report describes a habit in a period.
type Report struct {
	Streak
	From     string       `json:"from"` // first day
	To       string       `json:"to"`   // last day, not later than today
	Done     int          `json:"done"` // days in the period on which it was done
	Days     int          `json:"days"` // days of the period up to today
	Percent  int          `json:"percent"`
	Before   *int         `json:"before,omitempty"` // days in the period of the same length before; nil if the habit began later
	Weekdays [7]int       `json:"weekdays"`         // days done, from Monday to Sunday
	Values   []ValueStats `json:"values,omitempty"`
	Target   *TargetState `json:"target,omitempty"`
	Pictures []string     `json:"pictures,omitempty"`
}

// ValueStats sums up the values of one unit in the period.
type ValueStats struct {
	Unit  string  `json:"unit,omitempty"`
	Count int     `json:"count"`
	Sum   float64 `json:"sum"`
	Mean  float64 `json:"mean"` // per entry
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// maxPictures limits the habits of which one report draws pictures.
const maxPictures = 6

func (d Deps) habitReport() tools.Tool {
	return tools.New(tools.Def[habitReportIn]{
		Spec: tools.Spec{
			Name: "habit_report", Category: "health", Effects: tools.Read,
			Description: "Report on habits in a period: days done, streak, values, target, trend, and a calendar or chart as a picture.",
			Keywords:    "habit report progress statistics chart graph plot calendar month overview target trend",
		},
		Summary: func(in habitReportIn) string {
			return strings.TrimSpace("Report on habits " + textnorm.Ellipsize(in.Habit, 80))
		},
		Run: d.runReport,
	})
}

func (d Deps) runReport(ctx context.Context, c tools.Call, in habitReportIn) (tools.Result, error) {
	p, words, err := tools.ParsePastPeriod(in.Period, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	if !slices.Contains([]string{"", "calendar", "bar", "line", "none"}, in.Chart) {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "chart %q is unknown; use calendar, bar, line or none", tools.Clean(textnorm.Ellipsize(in.Chart, 40)))
	}
	q := d.Store.Reader(ctx)
	streaks, err := queryStreaks(q, "", c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Source: provenance.Tool, Data: map[string]any{"habits": []Report{}}}
	if len(streaks) == 0 {
		r.Text = "No habit has been logged yet."
		return r, nil
	}
	if strings.TrimSpace(in.Habit) != "" {
		one, err := findHabit(streaks, in.Habit)
		if err != nil {
			return tools.Result{}, err
		}
		streaks = []Streak{one}
	}
	targets, err := queryTargets(q)
	if err != nil {
		return tools.Result{}, err
	}
	var reports []Report
	var texts []string
	for i, s := range streaks {
		entries, err := queryEntries(q, `WHERE name = ? AND day <= ? ORDER BY day, created_at, id`, foldName(s.Habit), c.Now.Format(time.DateOnly))
		if err != nil {
			return tools.Result{}, err
		}
		report := reportOf(s, entries, p.From, p.To, c.Now)
		if t, ok := targets[foldName(s.Habit)]; ok {
			state := t.stateIn(entries, p.From, p.To, c.Now)
			report.Target = &state
			if t.Provenance.Tainted() {
				r.Source = provenance.Outside
			}
		}
		if in.Chart != "none" && d.Keep != nil && i < maxPictures && report.Days > 0 {
			if report.Pictures, err = plot.Save(d.Keep, "habit", drawHabit(report, entries, in.Chart, words, c.Now)); err != nil {
				return tools.Result{}, tools.Errorf(tools.Failed, "save the picture: %w", err)
			}
		}
		if s.Source.Tainted() {
			r.Source = provenance.Outside
		}
		reports = append(reports, report)
		texts = append(texts, reportText(report, words))
	}
	r.Text, r.Data = strings.Join(texts, "\n\n"), map[string]any{"habits": reports}
	return r, ctx.Err()
}

// dayIn reports whether a day lies in [from, to), both in the user's zone.
func dayIn(day string, from, to time.Time) bool {
	return day >= from.Format(time.DateOnly) && day < to.Format(time.DateOnly)
}

// reportOf sums up the entries of a habit in [from, to). A period without a beginning, "all", begins
// with the first entry.
func reportOf(s Streak, entries []Entry, from, to, now time.Time) Report {
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
	if to.After(tomorrow) {
		to = tomorrow
	}
	first, err := time.ParseInLocation(time.DateOnly, entries[0].Day, now.Location())
	if err == nil && from.Year() < 1900 {
		from = first
	}
	r := Report{Streak: s, From: from.Format(time.DateOnly), To: to.AddDate(0, 0, -1).Format(time.DateOnly), Days: max(0, daysBetween(from, to))}
	before := 0
	earlier := from.AddDate(0, 0, -r.Days)
	seen := map[string]bool{}
	units := map[string]int{}
	for _, e := range entries {
		if !seen[e.Day] && dayIn(e.Day, earlier, from) {
			before++
		}
		if dayIn(e.Day, from, to) {
			if day, err := time.Parse(time.DateOnly, e.Day); err == nil && !seen[e.Day] {
				r.Done++
				r.Weekdays[(int(day.Weekday())+6)%7]++
			}
			r.addValue(e, units)
		}
		seen[e.Day] = true
	}
	if err == nil && !first.After(earlier) {
		r.Before = &before
	}
	if r.Days > 0 {
		r.Percent = r.Done * 100 / r.Days
	}
	return r
}

func (r *Report) addValue(e Entry, units map[string]int) {
	if e.Value == nil {
		return
	}
	i, ok := units[strings.ToLower(e.Unit)]
	if !ok {
		i = len(r.Values)
		units[strings.ToLower(e.Unit)] = i
		r.Values = append(r.Values, ValueStats{Unit: e.Unit, Min: *e.Value, Max: *e.Value})
	}
	v := &r.Values[i]
	v.Count++
	v.Sum += *e.Value
	v.Mean = v.Sum / float64(v.Count)
	v.Min, v.Max = min(v.Min, *e.Value), max(v.Max, *e.Value)
}

func daysBetween(from, to time.Time) int {
	utc := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(utc(to).Sub(utc(from)) / (24 * time.Hour))
}

// mainUnit returns the unit with the most values; ok is false if there are no values.
func mainUnit(r Report) (unit string, ok bool) {
	most := 0
	for _, v := range r.Values {
		if v.Count > most {
			unit, most = v.Unit, v.Count
		}
	}
	return unit, most > 0
}

// drawHabit draws a calendar of the period, or a chart of its days or weeks. The pictures show the
// values if there are any, and otherwise whether the habit was done.
func drawHabit(r Report, entries []Entry, kind, words string, now time.Time) plot.Picture {
	unit, hasValues := mainUnit(r)
	title := textnorm.Ellipsize(r.Habit, 40) + ", " + words
	if hasValues && unit != "" {
		title += " (" + unit + ")"
	}
	days := map[string]float64{}
	for _, e := range entries {
		switch {
		case e.Day < r.From || e.Day > r.To:
		case !hasValues:
			days[e.Day] = 1
		case e.Value != nil && strings.EqualFold(e.Unit, unit):
			days[e.Day] += *e.Value
		}
	}
	from, _ := time.Parse(time.DateOnly, r.From)
	to, _ := time.Parse(time.DateOnly, r.To)
	if kind == "" || kind == "calendar" {
		last := time.Date(to.Year(), to.Month()+1, 0, 0, 0, 0, 0, time.UTC)
		if daysBetween(from, to) < 7 {
			last = to
		}
		if earliest := to.AddDate(-2, 0, 1); from.Before(earliest) {
			from = earliest
		}
		return plot.Calendar{Title: title, From: from, To: last, Today: now, Values: days}
	}
	c := plot.Chart{Title: title, Line: kind == "line"}
	step := 1 // days per bar; a long period has a bar for each week or for several weeks
	if n := daysBetween(from, to); n > 62 {
		step = max(7, (n/plot.MaxLabels+7)/7*7)
	}
	name := "days"
	if hasValues {
		name = unit
	}
	var values []float64
	for t := from; !t.After(to); t = t.AddDate(0, 0, step) {
		sum := 0.0
		for n := range step {
			sum += days[t.AddDate(0, 0, n).Format(time.DateOnly)]
		}
		c.Labels, values = append(c.Labels, t.Format("2 Jan")), append(values, sum)
	}
	c.Series = []plot.Series{{Name: name, Values: values}}
	return c
}

func reportText(r Report, words string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: done on %d of %s (%d %%).", textnorm.Ellipsize(r.Habit, 60), words, r.Done, countDays(r.Days), r.Percent)
	if r.Current > 0 {
		fmt.Fprintf(&b, " Streak: %s in a row", countDays(r.Current))
		if !r.Today {
			b.WriteString(", not done yet today")
		}
		b.WriteString(".")
	} else {
		b.WriteString(" There is no current streak.")
	}
	fmt.Fprintf(&b, " Longest streak: %s; %s in all.", countDays(r.Longest), countDays(r.Total))
	for _, v := range r.Values {
		fmt.Fprintf(&b, "\nValues: %s, %s on average, from %s to %s.", withUnit(v.Sum, v.Unit), withUnit(v.Mean, v.Unit), plot.FormatNumber(v.Min), plot.FormatNumber(v.Max))
	}
	if r.Before != nil {
		change := "as often as"
		switch {
		case r.Done > *r.Before:
			change = "more often than"
		case r.Done < *r.Before:
			change = "less often than"
		}
		fmt.Fprintf(&b, "\nTrend: %s in the %s before (%s).", change, countDays(r.Days), countDays(*r.Before))
	}
	if best := busiestDays(r.Weekdays); best != "" {
		b.WriteString("\nMost often on " + best + ".")
	}
	if r.Target != nil {
		b.WriteString("\n" + r.Target.statusText())
	}
	if len(r.Pictures) > 0 {
		b.WriteString("\nPictures: " + strings.Join(r.Pictures, " and "))
	}
	return b.String()
}

func withUnit(v float64, unit string) string {
	return strings.TrimSpace(strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + " " + unit)
}

// busiestDays returns the names of up to two weekdays on which a habit was done most often.
func busiestDays(days [7]int) string {
	order := []int{0, 1, 2, 3, 4, 5, 6}
	sorting.StableByFunc(order, func(a, b int) int { return days[b] - days[a] })
	if days[order[0]] < 2 || days[order[2]] == days[order[0]] {
		return ""
	}
	names := time.Weekday((order[0]+1)%7).String() + "s"
	if days[order[1]] == days[order[0]] {
		names += " and " + time.Weekday((order[1]+1)%7).String() + "s"
	}
	return names
}
