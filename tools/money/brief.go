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
// and no items if there was none.
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
	return out, nil
}
