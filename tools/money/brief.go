package money

import (
	"context"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Brief is the section for spending in the daily briefing.
type Brief struct{ Store *store.Store }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Spending" }

// Brief implements tools.BriefSource. It returns the spending of the day and of the month so far,
// the budgets that are nearly used up, and the recurring costs that are due.
func (b Brief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	month := from.Format("2006-01") + "-01"
	rows, err := queryExpenses(b.Store.Reader(ctx), `WHERE day >= ? AND day < ? ORDER BY day`, month, to.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	day := from.Format(time.DateOnly)
	var today []Expense
	for _, e := range rows {
		if e.Day == day {
			today = append(today, e)
		}
	}
	_, sums := sumTotals(rows)
	_, spent := sumTotals(today)
	var out []tools.BriefItem
	for _, s := range sums {
		text := s.Amount + " " + s.Currency + " this month"
		for _, t := range spent {
			if t.Currency == s.Currency {
				text += ", " + t.Amount + " " + t.Currency + " of it on the day"
			}
		}
		out = append(out, tools.BriefItem{Text: text, Source: provenance.Tool})
	}
	more, err := b.briefPlans(ctx, from, to)
	return append(out, more...), err
}

// briefPlans returns the budgets that are nearly or fully used up, and the recurring costs of the day.
func (b Brief) briefPlans(ctx context.Context, from, to time.Time) (out []tools.BriefItem, err error) {
	q := b.Store.Reader(ctx)
	states, err := budgetStates(q, from, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		if s.State != "ok" {
			out = append(out, tools.BriefItem{Text: budgetText(s), Source: s.Source})
		}
	}
	costs, err := allRecurring(q, from)
	if err != nil {
		return nil, err
	}
	for _, r := range costs {
		if r.Next >= from.Format(time.DateOnly) && r.Next < to.Format(time.DateOnly) {
			out = append(out, tools.BriefItem{Text: "due: " + r.Name + ", " + r.Amount + " " + r.Currency, Source: r.Source})
		}
	}
	return out, nil
}
