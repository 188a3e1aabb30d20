package money

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// WeekBrief is the section for spending in the weekly review.
type WeekBrief struct{ Store *store.Store }

// BriefTitle implements tools.BriefSource.
func (WeekBrief) BriefTitle() string { return "Spent" }

// mostCategories is the number of categories that the section names per currency.
const mostCategories = 5

// Brief implements tools.BriefSource. It returns the spending of the period per currency, with the
// largest categories and the spending of the period of the same length before it.
func (b WeekBrief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	days := int(to.Sub(from).Hours()+12) / 24
	start, middle := from.AddDate(0, 0, -days).Format(time.DateOnly), from.Format(time.DateOnly)
	rows, err := queryExpenses(b.Store.Reader(ctx), `WHERE day >= ? AND day < ? ORDER BY day`, start, to.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	var before, now []Expense
	source := provenance.Tool
	for _, e := range rows {
		if e.Day < middle {
			before = append(before, e)
			continue
		}
		now = append(now, e)
		if e.Provenance.Tainted() { // the category may be untrusted
			source = provenance.Outside
		}
	}
	categories, sums := sumTotals(now)
	_, earlier := sumTotals(before)
	var out []tools.BriefItem
	for _, s := range sums {
		var parts []string
		for _, c := range categories {
			if c.Currency == s.Currency && len(parts) < mostCategories {
				parts = append(parts, c.Category+" "+c.Amount)
			}
		}
		text := fmt.Sprintf("%s %s in %s: %s", s.Amount, s.Currency, textnorm.CountNoun(s.Count, "expense", "expenses"), strings.Join(parts, ", "))
		if i := slices.IndexFunc(earlier, func(t Total) bool { return t.Currency == s.Currency }); i >= 0 {
			text += fmt.Sprintf("; %s %s in the %d days before", earlier[i].Amount, s.Currency, days)
		}
		out = append(out, tools.BriefItem{Text: text, Source: source})
	}
	return out, nil
}
