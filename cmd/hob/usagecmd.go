package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
)

func (a *cli) usageCmd() *cobra.Command {
	budget := a.addJSONFlag(&cobra.Command{
		Use: "budget", Short: "Show the costs and limits of today and this month", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				rows, err := cl.Budget(c.Context())
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(rows)
				}
				a.printBudget(rows)
				return nil
			})
		}),
	})
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "usage", Short: "Show the usage and cost of models", Args: cobra.NoArgs, SuggestFor: []string{"cost", "costs", "spend", "tokens"},
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.printUsage(c.Context()) }),
	})
	cmd.AddCommand(budget)
	return cmd
}

func (a *cli) printUsage(ctx context.Context) error {
	return a.withClient(ctx, func(c *client) error {
		days, err := c.Usage(ctx, api.Query{})
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(days)
		}
		caps, err := c.Budget(ctx)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			fmt.Fprintln(a.out, "No model calls yet.")
			return nil
		}
		share := costShares(days)
		next := 0
		printTable(a, days, "DAY|MODEL|COST|CALLS|TURNS|INPUT|OUTPUT|CACHED|", func(d api.UsageRow) []any {
			next++
			return []any{d.Day, d.Model, costText(d), d.ModelCalls, d.Turns, textnorm.FormatCount(d.Input), textnorm.FormatCount(d.Output), textnorm.FormatCount(d.CacheRead), drawBar(share[next-1], 12)}
		})
		fmt.Fprintln(a.out)
		a.printBudget(caps)
		return nil
	})
}

// costText formats the cost and mentions unknown parts.
func costText(d api.UsageRow) string {
	switch {
	case d.CostUSD == nil:
		return "unknown"
	case d.Unpriced > 0:
		return textnorm.FormatDollars(*d.CostUSD) + " + unknown"
	case d.Estimated > 0:
		return "about " + textnorm.FormatDollars(*d.CostUSD)
	}
	return textnorm.FormatDollars(*d.CostUSD)
}

// costShares returns each day's cost relative to the highest cost, or each day's tokens relative to
// the most tokens if no cost is known.
func costShares(days []api.UsageRow) []float64 {
	out, most := make([]float64, len(days)), 0.0
	for i, d := range days {
		if d.CostUSD != nil {
			out[i] = *d.CostUSD
		}
		most = max(most, out[i])
	}
	if most == 0 {
		for i, d := range days {
			out[i] = float64(d.Input + d.Output)
			most = max(most, out[i])
		}
	}
	for i := range out {
		if most > 0 {
			out[i] /= most
		}
	}
	return out
}

// drawBar returns a bar of block characters for part (0 to 1). width is the length of a full bar in
// characters; the bar is rounded to eighths of a character.
func drawBar(part float64, width int) string {
	eighths := int(max(0, min(part, 1))*float64(width)*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}

func (a *cli) printBudget(rows []api.BudgetRow) {
	asOf, unpriced := "", 0
	for _, r := range rows {
		name := map[string]string{"day": "Today", "month": "This month"}[r.Period]
		line := fmt.Sprintf("%-11s %s", name+":", textnorm.FormatDollars(r.CostUSD))
		switch {
		case r.CapUSD != nil:
			part := r.CountedUSD / *r.CapUSD
			line = fmt.Sprintf("%-11s %s of %s  %s %.0f %%", name+":", textnorm.FormatDollars(r.CountedUSD), textnorm.FormatDollars(*r.CapUSD), a.colorGauge(part), part*100)
		case r.Period == "day" && r.CapTokens == nil, r.Period == "month":
			line += ", no cap"
		}
		if r.Period == "day" && r.CapTokens != nil {
			part := float64(r.Tokens) / float64(*r.CapTokens)
			line += fmt.Sprintf("; %s of %s tokens  %s %.0f %%", textnorm.FormatCount(r.Tokens), textnorm.FormatCount(*r.CapTokens), a.colorGauge(part), part*100)
		}
		fmt.Fprintln(a.out, line)
		asOf, unpriced = r.PricesAsOf, r.Unpriced
	}
	if unpriced > 0 {
		fmt.Fprintf(a.out, "The price of %d call(s) this month is unknown. Set prices with: hob config set 'prices.\"provider/model\".input' 1 (and .output)\n", unpriced)
	}
	fmt.Fprintln(a.out, a.colorize(a.out, dim, a.wrapToWindow(fmt.Sprintf("The costs are based on list prices as of %s and are not a bill; your [prices] take precedence.", asOf), "")))
}

// colorGauge returns a bar that turns amber and red as it fills.
func (a *cli) colorGauge(part float64) string {
	const width = 12
	full := drawBar(part, width)
	style := green
	switch {
	case part >= 1:
		style = red
	case part >= 0.8:
		style = amber
	}
	return a.colorize(a.out, style, full) + a.colorize(a.out, dim, strings.Repeat("·", max(0, width-len([]rune(full)))))
}
