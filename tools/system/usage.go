package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxUsageRows limits the rows (one per day and model) that a report adds up: 5 models for 5 years.
const maxUsageRows = 10_000

type usageIn struct {
	Period string `json:"period,omitempty" jsonschema:"today (default), yesterday, this_week, this_month, 2026-03, all, or FROM:TO such as 2026-03-01:2026-03-15"`
}

// usageTotals is the usage of one model, or of all models.
type usageTotals struct {
	Model     string   `json:"model,omitempty"`
	Calls     int      `json:"model_calls"`
	Turns     int      `json:"turns"`
	Input     int      `json:"input"`
	Output    int      `json:"output"`
	CacheRead int      `json:"cache_read"`
	CostUSD   *float64 `json:"cost_usd"` // null means that no price is known
	Unpriced  int      `json:"unpriced_calls"`
	Estimated int      `json:"estimated_calls"`
}

// usageOut is the Data of get_usage_stats.
type usageOut struct {
	From string `json:"from"` // first day; "" means since the first call
	To   string `json:"to"`   // last day
	usageTotals
	Models   []usageTotals      `json:"models"`
	Purposes []api.PurposeUsage `json:"purposes"`
	Budget   []api.BudgetRow    `json:"budget"`
}

func usageStats(e Engine) tools.Tool {
	return tools.New(tools.Def[usageIn]{
		Spec: tools.Spec{
			Name: "get_usage_stats", Category: "system", Effects: tools.Read,
			Description: "Report how many model calls and tokens Hob used in a period, what they cost, and how much of the budget is left.",
			Keywords:    "usage tokens cost costs spend spending model calls budget limit price dollars statistics llm",
		},
		Summary: func(in usageIn) string { return strings.TrimSpace("Report the model usage " + in.Period) },
		Run: func(ctx context.Context, c tools.Call, in usageIn) (tools.Result, error) {
			from, to, words, err := parseUsagePeriod(in.Period, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			rows, err := e.Usage(ctx, api.Query{Limit: maxUsageRows})
			if err != nil {
				return tools.Result{}, err
			}
			budget, err := e.Budget(ctx)
			if err != nil {
				return tools.Result{}, err
			}
			out := sumUsage(rows, from, to)
			out.Budget = budget
			return tools.Result{Text: out.describeUsage(words), Data: out, Source: provenance.Tool}, nil
		},
	})
}

// parseUsagePeriod returns the first and the last day of a period as YYYY-MM-DD. "" as the first day
// means since the first call.
func parseUsagePeriod(s string, now time.Time) (from, to, words string, err error) {
	s = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", " "))
	today := now.Format(time.DateOnly)
	switch s {
	case "", "day":
		s = "today"
	case "week", "month":
		s = "this " + s
	case "all", "all time", "ever":
		return "", today, "in total", nil
	}
	if a, b, ok := strings.Cut(s, ":"); ok {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		for _, day := range []string{a, b} {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				return "", "", "", tools.Errorf(tools.InvalidArguments, "period: %q is not a day; write FROM:TO as 2026-03-01:2026-03-15", tools.Clean(textnorm.Ellipsize(day, 40)))
			}
		}
		if b < a {
			return "", "", "", tools.Errorf(tools.InvalidArguments, "period: the last day %s is before the first day %s", tools.Clean(b), tools.Clean(a))
		}
		return a, b, fmt.Sprintf("from %s to %s", a, b), nil
	}
	p, err := dateparse.ParsePeriod(s, now)
	if err != nil {
		return "", "", "", tools.Errorf(tools.InvalidArguments, "period: %w", tools.CleanErr(err))
	}
	to = today
	if !p.To.IsZero() {
		to = min(to, p.To.Add(-time.Second).Format(time.DateOnly))
	}
	if !p.From.IsZero() {
		from = p.From.Format(time.DateOnly)
	}
	if from > today {
		return "", "", "", tools.Errorf(tools.InvalidArguments, "period: %s is in the future", tools.Clean(s))
	}
	words = s
	switch {
	case s[0] >= '0' && s[0] <= '9':
		words = "in " + s
	case from == to:
		words += " (" + p.From.Format("Mon 2 Jan") + ")"
	}
	return from, to, words, nil
}

// sumUsage adds up the rows of the days from "from" to "to", per model and in total.
func sumUsage(rows []api.UsageRow, from, to string) usageOut {
	out := usageOut{From: from, To: to, Models: []usageTotals{}, Purposes: []api.PurposeUsage{}}
	for _, r := range rows {
		if r.Day < from || r.Day > to {
			continue
		}
		i := slices.IndexFunc(out.Models, func(m usageTotals) bool { return m.Model == r.Model })
		if i < 0 {
			i = len(out.Models)
			out.Models = append(out.Models, usageTotals{Model: r.Model})
		}
		out.Models[i].addRow(r)
		out.addRow(r)
		for _, p := range r.Purposes {
			j := slices.IndexFunc(out.Purposes, func(x api.PurposeUsage) bool { return x.Purpose == p.Purpose })
			if j < 0 {
				j = len(out.Purposes)
				out.Purposes = append(out.Purposes, api.PurposeUsage{Purpose: p.Purpose})
			}
			x := &out.Purposes[j]
			x.ModelCalls, x.Tokens, x.CostUSD = x.ModelCalls+p.ModelCalls, x.Tokens+p.Tokens, addCost(x.CostUSD, p.CostUSD)
		}
	}
	sorting.StableByFunc(out.Models, func(a, b usageTotals) int { return cmp.Compare(b.Input+b.Output, a.Input+a.Output) })
	sorting.StableByFunc(out.Purposes, func(a, b api.PurposeUsage) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return out
}

func (t *usageTotals) addRow(r api.UsageRow) {
	t.Calls, t.Turns, t.Input, t.Output = t.Calls+r.ModelCalls, t.Turns+r.Turns, t.Input+r.Input, t.Output+r.Output
	t.CacheRead, t.Unpriced, t.Estimated = t.CacheRead+r.CacheRead, t.Unpriced+r.Unpriced, t.Estimated+r.Estimated
	t.CostUSD = addCost(t.CostUSD, r.CostUSD)
}

// addCost adds a cost to a sum. nil means that the cost is unknown.
func addCost(sum, cost *float64) *float64 {
	switch {
	case cost == nil:
		return sum
	case sum == nil:
		return new(*cost)
	}
	return new(*sum + *cost)
}

// formatCost formats the cost and mentions unknown parts.
func (t *usageTotals) formatCost() string {
	switch {
	case t.CostUSD == nil:
		return "cost unknown"
	case t.Unpriced > 0:
		return fmt.Sprintf("%s and %s without a known price", textnorm.FormatDollars(*t.CostUSD), textnorm.CountNoun(t.Unpriced, "call", "calls"))
	case t.Estimated > 0:
		return "about " + textnorm.FormatDollars(*t.CostUSD)
	}
	return textnorm.FormatDollars(*t.CostUSD)
}

// describeUsage returns the report as text.
func (o usageOut) describeUsage(words string) string {
	var b strings.Builder
	if o.Calls == 0 {
		fmt.Fprintf(&b, "No model call %s.", words)
	} else {
		fmt.Fprintf(&b, "Model usage %s: %s in %s, %d tokens in, %d out, %s.", words, textnorm.CountNoun(o.Calls, "model call", "model calls"), textnorm.CountNoun(o.Turns, "turn", "turns"), o.Input, o.Output, o.formatCost())
	}
	for _, m := range o.Models {
		fmt.Fprintf(&b, "\n- %s: %s, %d tokens in, %d out, %s", m.Model, textnorm.CountNoun(m.Calls, "call", "calls"), m.Input, m.Output, m.formatCost())
	}
	for _, r := range o.Budget {
		name := map[string]string{"day": "today", "month": "this month"}[r.Period]
		if r.CapUSD != nil {
			fmt.Fprintf(&b, "\nLimit %s: %s of %s (%.0f %%).", name, textnorm.FormatDollars(r.CountedUSD), textnorm.FormatDollars(*r.CapUSD), 100*r.CountedUSD / *r.CapUSD)
		}
		if r.CapTokens != nil {
			fmt.Fprintf(&b, "\nLimit %s: %d of %d tokens.", name, r.Tokens, *r.CapTokens)
		}
	}
	return b.String()
}
