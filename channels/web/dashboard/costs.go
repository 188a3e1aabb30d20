package dashboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/platform/text/visible"
)

const (
	maxUsage  = 20000 // number of rows (days and models) that the page reads
	maxSeries = 6     // number of colors in a plot; further series are one
)

// costsPage shows what the models cost.
func (d *Dashboard) costsPage() page {
	return page{
		path: "/costs", title: "Costs", about: "What the language models used, your limits, and your own expenses.",
		icon: "M4 20h16M6 20v-7h3v7M11 20V5h3v15M16 20v-10h3v10", plots: true, file: "plots.js", show: d.showCosts,
		saves: map[string]action{"limit": d.saveLimit},
	}
}

// usageSum is the usage of one model or for one purpose.
type usageSum struct {
	name            string
	calls, tokens   int
	cost            float64
	priced, unknown bool // whether a price is known for some calls, and whether it is unknown for some
	local           bool
}

func (s *usageSum) addUsage(calls, tokens int, cost *float64, unpriced bool) {
	s.calls, s.tokens = s.calls+calls, s.tokens+tokens
	s.unknown = s.unknown || unpriced
	if cost != nil {
		s.cost, s.priced = s.cost+*cost, true
	}
}

// costText formats the cost and mentions unknown parts.
func (s *usageSum) costText() string {
	switch {
	case !s.priced:
		return "unknown"
	case s.unknown:
		return textnorm.FormatDollars(s.cost) + " + unknown"
	}
	return textnorm.FormatDollars(s.cost)
}

func (d *Dashboard) showCosts(r *request) (g.Node, error) {
	span := 30
	if v := r.queryValue("days"); v != "" {
		var err error
		if span, err = strconv.Atoi(v); err != nil || span < 1 || span > 366 {
			return nil, fmt.Errorf("%w: %q is not a number of days; use 7, 30 or 365", api.ErrInvalid, v)
		}
	}
	rows, err := d.o.Backend.Usage(r.Context(), api.Query{Limit: maxUsage})
	if err != nil {
		return nil, err
	}
	caps, err := d.o.Backend.Budget(r.Context())
	if err != nil {
		return nil, err
	}
	limits, err := d.renderLimits(r)
	if err != nil {
		return nil, err
	}
	spending, err := d.renderSpending(r)
	if err != nil {
		return nil, err
	}
	first := startOfDay(r.now).AddDate(0, 0, 1-span)
	rows = slices.DeleteFunc(rows, func(u api.UsageRow) bool { return u.Day < first.Format(time.DateOnly) })
	var models, purposes, days usageTable
	for _, u := range rows {
		tokens := u.Input + u.Output
		models.sumOf(u.Model).addUsage(u.ModelCalls, tokens, u.CostUSD, u.Unpriced > 0)
		models.sumOf(u.Model).local = u.Local
		days.sumOf(u.Day).addUsage(u.ModelCalls, tokens, u.CostUSD, u.Unpriced > 0)
		models.addDay(u.Model, u.Day, tokens, u.CostUSD)
		for _, p := range u.Purposes {
			name := purposeName(p.Purpose)
			purposes.sumOf(name).addUsage(p.ModelCalls, p.Tokens, p.CostUSD, p.CostUSD == nil)
			purposes.addDay(name, u.Day, p.Tokens, p.CostUSD)
		}
	}
	byCost := slices.ContainsFunc(models.sums, func(s *usageSum) bool { return s.cost > 0 })
	current := "/costs"
	if span != 30 {
		current = "/costs?days=" + strconv.Itoa(span)
	}
	return h.Div(
		h.Class("stack"),
		h.Div(h.Class("columns"), g.Map(caps, renderBudget)),
		limits,
		tabLinks("Period", current, tab{"7 days", "/costs?days=7"}, tab{"30 days", "/costs"}, tab{"12 months", "/costs?days=365"}),
		g.If(len(rows) == 0, cardSection("", emptyState("No model calls", "Nothing was used in this period. The built-in brain costs nothing."))),
		g.Iff(len(rows) > 0, func() g.Node {
			return h.Div(
				h.Class("stack"),
				renderUsage("By model", "Model", &models, first, span, byCost),
				renderUsage("By purpose", "Purpose", &purposes, first, span, byCost),
				renderDailyTable(r, &days),
			)
		}),
		spending,
	), nil
}

// purposeName returns the purpose of a model call in words.
func purposeName(purpose string) string {
	switch purpose {
	case "turn":
		return "answers"
	case "summary":
		return "summaries"
	case "lesson":
		return "lessons"
	case "sub-agent":
		return "delegated tasks"
	case "guardian":
		return "attack checks"
	case "check":
		return "connection checks"
	case "vectors":
		return "search vectors"
	case "urgency":
		return "urgency ratings"
	case "memory":
		return "memory search"
	}
	return cmp.Or(purpose, "other")
}

// dayUsage is the usage on one day.
type dayUsage struct {
	tokens int
	cost   float64
}

// usageTable sums usage by a name, in all and by day.
type usageTable struct {
	sums []*usageSum
	days map[[2]string]dayUsage // by name and day
}

func (t *usageTable) sumOf(name string) *usageSum {
	for _, s := range t.sums {
		if s.name == name {
			return s
		}
	}
	s := &usageSum{name: name}
	t.sums = append(t.sums, s)
	return s
}

func (t *usageTable) addDay(name, day string, tokens int, cost *float64) {
	if t.days == nil {
		t.days = map[[2]string]dayUsage{}
	}
	u := t.days[[2]string{name, day}]
	u.tokens += tokens
	if cost != nil {
		u.cost += *cost
	}
	t.days[[2]string{name, day}] = u
}

// plotData is the data of a plot, which plots.js draws: one bar per day, divided by series.
type plotData struct {
	Unit   string       `json:"unit"`           // a currency, or "tokens"
	Step   string       `json:"step,omitempty"` // "month" if each bar is a month; the days are the first ones
	Days   []int64      `json:"days"`           // seconds since 1970, at midnight UTC of each day
	Series []plotSeries `json:"series"`
}

// inTokens is the unit of a plot of tokens.
const inTokens = "tokens"

type plotSeries struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// plotFor returns the plot of some days. Small series share the last one.
func (t *usageTable) plotFor(days []time.Time, unit string) plotData {
	p := plotData{Unit: unit}
	for i, s := range t.sums {
		if i < maxSeries {
			p.Series = append(p.Series, plotSeries{Name: visible.Text(s.name), Values: make([]float64, len(days))})
		} else {
			p.Series[maxSeries-1].Name = "others"
		}
	}
	for day, at := range days {
		p.Days = append(p.Days, time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC).Unix())
		for i, s := range t.sums {
			u := t.days[[2]string{s.name, at.Format(time.DateOnly)}]
			v := u.cost
			if unit == inTokens {
				v = float64(u.tokens)
			}
			p.Series[min(i, maxSeries-1)].Values[day] += v
		}
	}
	return p
}

// renderBudget shows the use of one period and its limits.
func renderBudget(b api.BudgetRow) g.Node {
	title := "Today"
	if b.Period == "month" {
		title = "This month"
	}
	limit := func(label string, used, most float64, text string) g.Node {
		return h.Div(h.P(h.Class("small"), g.Text(text)), h.Meter(h.Class("wide"), h.Aria("label", label), h.Min("0"), h.Max(fmt.Sprintf("%g", most)), h.Value(fmt.Sprintf("%g", min(used, most))), g.Attr("high", fmt.Sprintf("%g", most*0.8))))
	}
	notes := []string{fmt.Sprintf("%s, %s tokens", textnorm.CountNoun(b.Calls, "call", "calls"), textnorm.FormatCount(b.Tokens))}
	if b.Unpriced > 0 {
		notes = append(notes, fmt.Sprintf("no price known for %d", b.Unpriced))
	}
	return cardSection(
		title,
		h.P(h.Class("figure num"), g.Text(textnorm.FormatDollars(b.CostUSD))),
		h.P(h.Class("soft small"), g.Text(strings.Join(notes, ", "))),
		g.Iff(b.CapUSD != nil, func() g.Node {
			return limit("Share of the limit", b.CountedUSD, *b.CapUSD, textnorm.FormatDollars(b.CountedUSD)+" of the limit of "+textnorm.FormatDollars(*b.CapUSD))
		}),
		g.Iff(b.CapTokens != nil, func() g.Node {
			return limit("Share of the token limit", float64(b.Tokens), float64(*b.CapTokens), textnorm.FormatCount(b.Tokens)+" of "+textnorm.FormatCount(*b.CapTokens)+" tokens")
		}),
		g.If(b.CapUSD == nil && b.CapTokens == nil, h.P(h.Class("soft small"), g.Text("No limit"))),
	)
}

// renderLimits lets the user change the limits. They are settings, so the form has the value that the
// file contains, which may differ from the one that applies until the next start.
func (d *Dashboard) renderLimits(r *request) (g.Node, error) {
	all, err := d.o.Backend.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	pending := d.renderPending(r, slices.DeleteFunc(slices.Clone(all), func(s api.Setting) bool { return sectionOf(s.Key) != "budget" }))
	var rows g.Group
	for _, key := range []string{"budget.daily_usd", "budget.monthly_usd", "budget.daily_tokens", "budget.warn_at"} {
		at := slices.IndexFunc(all, func(s api.Setting) bool { return s.Key == key })
		if at < 0 {
			continue
		}
		s := all[at]
		ch, err := d.o.Backend.PreviewSetting(r.Context(), key, s.Value)
		if errors.Is(err, api.ErrInvalid) { // the file has a mistake, which the page Health explains
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		step := "any"
		if key == "budget.daily_tokens" {
			step = "1"
		}
		rows = append(rows, h.Form(
			h.Class("row"), h.Method("post"), h.Action("/costs/limit"), h.Data("name", key), hiddenField("key", key), hiddenField("old", ch.Old), hiddenField("back", r.pageAddress()),
			labeledField(limitLabel(key), h.Input(h.Type("number"), h.Name("value"), h.Min("0"), h.Step(step), h.Value(s.Value), h.Required())),
			h.Button(h.Type("submit"), h.Aria("label", "Save: "+limitLabel(key)), g.Text("Save")),
		))
	}
	return g.Group{pending, cardSection("Limits", h.Details(
		h.Summary(g.Text("Change the limits")),
		h.P(h.Class("soft small"), g.Text("0 means no limit. Over a limit, Hob notifies you once and continues with the built-in brain. Hob restarts to apply a change.")),
		h.Div(h.Class("stack"), rows),
	))}, nil
}

func limitLabel(key string) string {
	switch key {
	case "budget.daily_usd":
		return "US dollars a day"
	case "budget.monthly_usd":
		return "US dollars a month"
	case "budget.daily_tokens":
		return "Tokens a day"
	}
	return "Warn at this share"
}

// saveLimit saves one limit.
func (d *Dashboard) saveLimit(r *request) (string, error) {
	f := r.PostForm
	key := f.Get("key")
	if sectionOf(key) != "budget" {
		return "", fmt.Errorf("%w: %q is not a limit; use the page Settings", api.ErrInvalid, key)
	}
	return d.saveValue(r, key, f.Get("old"), f.Get("value"))
}

// renderUsage shows a plot and the same sums as a table.
func renderUsage(title, heading string, t *usageTable, first time.Time, span int, byCost bool) g.Node {
	sorting.StableByFunc(t.sums, func(x, y *usageSum) int { return cmp.Or(cmp.Compare(y.cost, x.cost), cmp.Compare(y.tokens, x.tokens)) })
	measure, unit, most := inTokens, inTokens, 0.0
	if byCost {
		measure, unit = "cost", "USD"
	}
	value := func(s *usageSum) float64 {
		if byCost {
			return s.cost
		}
		return float64(s.tokens)
	}
	for _, s := range t.sums {
		most = max(most, value(s))
	}
	var days []time.Time
	for day := range span {
		days = append(days, first.AddDate(0, 0, day))
	}
	var rows [][]g.Node
	for _, s := range t.sums {
		rows = append(rows, []g.Node{
			g.Group{plainText(s.name), g.If(s.local, g.Group{g.Text(" "), stateBadge(badgeSoft, "on this machine")})},
			numberText(strconv.Itoa(s.calls)), numberText(textnorm.FormatCount(s.tokens)), numberText(s.costText()), shareBar(value(s), most, "Share of "+s.name),
		})
	}
	return cardSection(
		title,
		g.If(most == 0, h.P(h.Class("soft small"), g.Text("These calls used no tokens and cost nothing."))),
		g.Iff(most > 0, func() g.Node {
			return renderPlot(t.plotFor(days, unit), capitalizeFirst(measure)+" by day and "+strings.ToLower(heading)+", last "+strconv.Itoa(span)+" days. The tables on this page contain the same numbers.")
		}),
		h.Div(h.Class("shares"), dataTable(title, []string{heading, "Calls", "Tokens", "Cost", "Share"}, rows)),
	)
}

// renderPlot shows a plot, which plots.js draws.
func renderPlot(p plotData, caption string) g.Node {
	data, err := json.Marshal(p)
	if err != nil { // impossible: the values are finite
		data = []byte("{}")
	}
	return h.Figure(
		h.Class("plot"), h.Hidden(""), h.Data("plot", string(data)),
		h.Div(h.Class("canvas")),
		h.FigCaption(h.Class("soft small"), plainText(caption)),
	)
}

func numberText(s string) g.Node { return h.Span(h.Class("num"), g.Text(s)) }

// renderDailyTable lists the days, newest first.
func renderDailyTable(r *request, days *usageTable) g.Node {
	shown, more, last := pageOf(r, days.sums, func(s *usageSum) string { return s.name })
	var rows [][]g.Node
	for _, s := range shown {
		day := s.name
		if at, err := time.ParseInLocation(time.DateOnly, s.name, r.zone); err == nil {
			day = capitalizeFirst(formatDay(r.now, at))
		}
		rows = append(rows, []g.Node{g.Text(day), numberText(strconv.Itoa(s.calls)), numberText(textnorm.FormatCount(s.tokens)), numberText(s.costText())})
	}
	return cardSection("By day", dataTable("By day", []string{"Day", "Calls", "Tokens", "Cost"}, rows), r.pagerLinks(more, last))
}

// shareBar draws a value in proportion to the maximum.
func shareBar(v, most float64, label string) g.Node {
	return h.Meter(h.Min("0"), h.Max(fmt.Sprintf("%g", max(most, 1e-9))), h.Value(fmt.Sprintf("%g", max(v, -v))), h.Aria("label", visible.Text(label)))
}
