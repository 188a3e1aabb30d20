package money

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/store"
)

// API sums up the expenses for users.
type API struct {
	Store *store.Store
	Zone  func() *time.Location // the user's time zone
}

// spendingMonths is the number of months of Spending, with the current one.
const spendingMonths = 12

// Spending implements api.Spending.
func (a API) Spending(ctx context.Context) (out api.SpendingOverview, err error) {
	q, now := a.Store.Reader(ctx), time.Now().In(a.Zone())
	first := time.Date(now.Year(), now.Month()+1-spendingMonths, 1, 0, 0, 0, 0, time.UTC)
	rows, err := queryExpenses(q, `WHERE day >= ? ORDER BY day DESC`, first.Format(time.DateOnly))
	if err != nil {
		return out, err
	}
	spelling := categorySpelling(rows)
	for i := range rows {
		rows[i].Category = spelling[strings.ToLower(rows[i].Category)]
	}
	out.Sums, out.Budgets = []api.SpendingSum{}, []api.SpendingBudget{}
	for len(rows) > 0 {
		month, n := rows[0].Day[:len("2006-01")], 1
		for n < len(rows) && strings.HasPrefix(rows[n].Day, month) {
			n++
		}
		totals, _ := sumTotals(rows[:n])
		for _, t := range totals {
			out.Sums = append(out.Sums, api.SpendingSum{Month: month, Category: t.Category, Currency: t.Currency, Amount: t.Amount, Count: t.Count})
		}
		rows = rows[n:]
	}
	states, err := budgetStates(q, now, nil)
	for _, s := range states {
		out.Budgets = append(out.Budgets, api.SpendingBudget{
			Category: s.Category, Period: s.Period, Currency: s.Currency, Limit: s.Limit, Spent: s.Spent, Left: s.Left, Percent: s.Percent, State: s.State,
		})
	}
	return out, err
}
