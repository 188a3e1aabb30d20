package money

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type budgetIn struct {
	Action   string      `json:"action,omitempty" jsonschema:"check (default), set or remove"`
	Category string      `json:"category,omitempty" jsonschema:"empty: all spending; for check: all budgets"`
	Limit    json.Number `json:"limit,omitempty" jsonschema:"for set: the most to spend in the period"`
	Currency string      `json:"currency,omitempty" jsonschema:"ISO code; default the user's"`
	Period   string      `json:"period,omitempty" jsonschema:"day, week, month (default), quarter or year"`
}

// budget is a limit for the spending on a category in each period.
type budget struct {
	Category   string            `json:"category"` // "" is all spending
	Period     string            `json:"period"`
	Currency   string            `json:"currency"`
	Limit      string            `json:"limit"` // exact decimal
	Minor      int64             `json:"minor"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
}

// BudgetState compares a budget with the spending in the current period.
type BudgetState struct {
	Category  string            `json:"category,omitempty"`
	Period    string            `json:"period"`
	Currency  string            `json:"currency"`
	Limit     string            `json:"limit"`
	Spent     string            `json:"spent"`
	Left      string            `json:"left"` // negative if the budget is exceeded
	Percent   int64             `json:"percent"`
	State     string            `json:"state"` // "ok", "near" from 80 %, or "over"
	From      string            `json:"from"`  // first day of the period
	To        string            `json:"to"`    // last day of the period
	DaysLeft  int               `json:"days_left"`
	Projected string            `json:"projected,omitempty"` // spending at the end of the period at this pace
	Count     int               `json:"count"`
	Others    []string          `json:"not_counted,omitempty"` // spending in other currencies
	Source    provenance.Source `json:"provenance"`
	spent     int64
	minor     int64
}

// budgetUndo restores the budget before a change.
type budgetUndo struct {
	Before *budget `json:"before"`
	After  *budget `json:"after"`
}

// nearPercent is the share of a limit from which a budget is nearly used up.
const nearPercent = 80

func (d Deps) budgetCheck() tools.Tool {
	return tools.New(tools.Def[budgetIn]{
		Spec: tools.Spec{
			Name: "budget_check", Category: "money", Effects: tools.Write,
			Description: "Check spending against the budgets of the current period, or set or remove a budget.",
			Keywords:    "budget limit left over remaining monthly weekly spending plan allowance overspent cap",
		},
		Summary: func(in budgetIn) string {
			switch in.Action {
			case "set":
				return strings.Join(strings.Fields(fmt.Sprintf("Set the budget for %s to %s %s per %s", budgetName(cleanCategory(in.Category)), in.Limit, in.Currency, cmp.Or(in.Period, "month"))), " ")
			case "remove":
				return "Remove the budget for " + budgetName(cleanCategory(in.Category))
			}
			return "Check the budgets"
		},
		Judge: func(_ context.Context, in budgetIn) tools.CallAssessment {
			if in.Action == "" || in.Action == "check" {
				return tools.CallAssessment{Effects: tools.Read}
			}
			return tools.CallAssessment{}
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in budgetIn) (tools.Result, error) {
			in.Category = cleanCategory(in.Category)
			period, err := parseBudgetPeriod(in.Period)
			if err != nil {
				return tools.Result{}, err
			}
			switch in.Action {
			case "", "check":
				return d.checkBudgets(tx, c, in, period)
			case "set", "remove":
				return d.changeBudget(tx, c, in, cmp.Or(period, "month"))
			}
			return tools.Result{}, tools.Errorf(tools.InvalidArguments, "action %q is unknown; use check, set or remove", tools.Clean(textnorm.Ellipsize(in.Action, 40)))
		},
		UndoTx: undoBudget,
	})
}

// parseBudgetPeriod returns "" if no period is given.
func parseBudgetPeriod(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	for period, words := range map[string]string{
		"day": "day daily today", "week": "week weekly this_week", "month": "month monthly this_month", "quarter": "quarter quarterly this_quarter", "year": "year yearly annual annually this_year",
	} {
		for _, w := range strings.Fields(words) {
			if strings.ReplaceAll(s, " ", "_") == w {
				return period, nil
			}
		}
	}
	if s == "" {
		return "", nil
	}
	return "", tools.Errorf(tools.InvalidArguments, "period %q is unknown; use day, week, month, quarter or year", tools.Clean(textnorm.Ellipsize(s, 40)))
}

// budgetName returns the name of a budget in a sentence.
func budgetName(category string) string { return cmp.Or(category, "all spending") }

func (d Deps) changeBudget(tx *store.Tx, c tools.Call, in budgetIn, period string) (tools.Result, error) {
	currency, err := parseCurrency(in.Currency, cmp.Or(d.Currency(), "EUR"))
	if err != nil {
		return tools.Result{}, err
	}
	list, err := queryBudgets(tx, `WHERE period = ? AND currency = ?`, period, currency)
	if err != nil {
		return tools.Result{}, err
	}
	var u budgetUndo
	if i := slices.IndexFunc(list, func(b budget) bool { return strings.EqualFold(b.Category, in.Category) }); i >= 0 {
		u.Before, in.Category = &list[i], list[i].Category
	}
	r := tools.Result{Source: provenance.Tool}
	if in.Action == "remove" {
		if u.Before == nil {
			return r, tools.Errorf(tools.NotFound, "there is no budget for %s per %s in %s", tools.Clean(budgetName(in.Category)), tools.Clean(period), tools.Clean(currency))
		}
		r.Text = fmt.Sprintf("Removed the budget for %s of %s %s per %s.", budgetName(in.Category), u.Before.Limit, currency, period)
		r.Data, r.Undo = u.Before, tools.NewUndo("restore the budget for "+budgetName(in.Category), u)
		return r, deleteBudget(tx, *u.Before)
	}
	if in.Limit == "" {
		return r, tools.Errorf(tools.InvalidArguments, "limit is missing; ask the user how much to spend at most")
	}
	minor, err := minorOf(in.Limit.String(), currency)
	if err != nil {
		return r, err
	}
	u.After = &budget{Category: in.Category, Period: period, Currency: currency, Limit: amount.Format(minor, currency), Minor: minor, Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond)}
	if err := insertBudget(tx, *u.After); err != nil {
		return r, err
	}
	state, err := budgetState(tx, *u.After, c.Now)
	if err != nil {
		return r, err
	}
	r.Text = fmt.Sprintf("The budget for %s is now %s %s per %s", budgetName(in.Category), u.After.Limit, currency, period)
	label := "remove the budget for "
	if u.Before != nil {
		r.Text += ", before " + u.Before.Limit + " " + currency
		label = "restore the budget for "
	}
	r.Text += ". " + budgetText(state)
	if state.Source.Tainted() {
		r.Source = provenance.Outside
	}
	r.Data, r.Undo = state, tools.NewUndo(label+budgetName(in.Category), u)
	return r, nil
}

func undoBudget(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u budgetUndo
	if err := json.Unmarshal(data, &u); err != nil || u.Before == nil && u.After == nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	b := u.Before
	if b == nil {
		b = u.After
	}
	now, err := queryBudgets(tx, `WHERE category = ? AND period = ? AND currency = ?`, b.Category, b.Period, b.Currency)
	if err != nil {
		return "", err
	}
	unchanged := len(now) == 0 && u.After == nil || len(now) == 1 && u.After != nil && now[0].Minor == u.After.Minor && now[0].CreatedAt.Equal(u.After.CreatedAt)
	if !unchanged {
		return "", tools.Errorf(tools.Conflict, "the budget was changed since")
	}
	if u.Before == nil {
		return fmt.Sprintf("Removed the budget for %s.", budgetName(b.Category)), deleteBudget(tx, *b)
	}
	return fmt.Sprintf("Restored the budget for %s of %s %s per %s.", budgetName(b.Category), b.Limit, b.Currency, b.Period), insertBudget(tx, *b)
}

func insertBudget(tx *store.Tx, b budget) error {
	_, err := tx.Exec(`INSERT INTO budgets (category, period, currency, minor, provenance, created_at) VALUES (?,?,?,?,?,?)
		ON CONFLICT (category, period, currency) DO UPDATE SET minor = excluded.minor, provenance = excluded.provenance, created_at = excluded.created_at`,
		b.Category, b.Period, b.Currency, b.Minor, string(b.Provenance), store.Millis(b.CreatedAt))
	if err != nil {
		return fmt.Errorf("budgets: set: %w", err)
	}
	return nil
}

func deleteBudget(tx *store.Tx, b budget) error {
	if _, err := tx.Exec(`DELETE FROM budgets WHERE category = ? AND period = ? AND currency = ?`, b.Category, b.Period, b.Currency); err != nil {
		return fmt.Errorf("budgets: remove: %w", err)
	}
	return nil
}

func queryBudgets(q store.Querier, tail string, args ...any) (out []budget, err error) {
	rows, err := q.Query(`SELECT category, period, currency, minor, provenance, created_at FROM budgets `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("budgets: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var b budget
		var created int64
		if err := rows.Scan(&b.Category, &b.Period, &b.Currency, &b.Minor, &b.Provenance, &created); err != nil {
			return nil, fmt.Errorf("budgets: read: %w", err)
		}
		b.Limit, b.CreatedAt = amount.Format(b.Minor, b.Currency), store.Time(created)
		out = append(out, b)
	}
	return out, rows.Err()
}

// checkBudgets compares the budgets with the spending in their current periods. A category without a
// budget is no error: the result is its spending.
func (d Deps) checkBudgets(tx *store.Tx, c tools.Call, in budgetIn, period string) (tools.Result, error) {
	states, err := budgetStates(tx, c.Now, func(b budget) bool {
		return (in.Category == "" || isSameCategory(b.Category, in.Category)) && (period == "" || b.Period == period)
	})
	if err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Source: provenance.Tool, Data: map[string]any{"budgets": states}}
	if len(states) == 0 {
		b := budget{Category: in.Category, Period: cmp.Or(period, "month"), Currency: cmp.Or(d.Currency(), "EUR")}
		s, err := budgetState(tx, b, c.Now)
		if err != nil {
			return r, err
		}
		name := ""
		if in.Category != "" {
			name = " for " + in.Category
		}
		r.Text = fmt.Sprintf("No budget is set%s. You spent %s %s%s this %s. To set one, give action set and a limit.", name, s.Spent, s.Currency, othersText(s), b.Period)
		r.Data = map[string]any{"budgets": []BudgetState{}, "spent": s.Spent, "currency": s.Currency}
		return r, nil
	}
	var lines []string
	for _, s := range states {
		if s.Source.Tainted() {
			r.Source = provenance.Outside
		}
		lines = append(lines, budgetText(s))
	}
	r.Text = strings.Join(lines, "\n")
	return r, nil
}

// budgetStates returns the states of the budgets that keep accepts; nil accepts all.
func budgetStates(q store.Querier, now time.Time, keep func(budget) bool) ([]BudgetState, error) {
	list, err := queryBudgets(q, `ORDER BY category, period, currency`)
	if err != nil {
		return nil, err
	}
	out := []BudgetState{}
	for _, b := range list {
		if keep != nil && !keep(b) {
			continue
		}
		s, err := budgetState(q, b, now)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// budgetState sums up the spending of a budget's current period.
func budgetState(q store.Querier, b budget, now time.Time) (BudgetState, error) {
	from, to := budgetDays(b.Period, now)
	rows, err := queryExpenses(q, `WHERE day >= ? AND day <= ? ORDER BY day`, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if err != nil {
		return BudgetState{}, err
	}
	s := BudgetState{
		Category: b.Category, Period: b.Period, Currency: b.Currency, Limit: amount.Format(b.Minor, b.Currency), From: from.Format(time.DateOnly), To: to.Format(time.DateOnly),
		DaysLeft: countDays(now, to), Source: provenance.Tool, minor: b.Minor,
	}
	if b.Provenance.Tainted() {
		s.Source = provenance.Outside
	}
	var others []Expense
	for _, e := range rows {
		switch {
		case b.Category != "" && !isSameCategory(e.Category, b.Category):
		case e.Currency != b.Currency:
			others = append(others, e)
		default:
			s.spent += e.minor
			s.Count++
		}
	}
	_, sums := sumTotals(others)
	for _, o := range sums {
		s.Others = append(s.Others, o.Amount+" "+o.Currency)
	}
	s.Spent, s.Left, s.State = amount.Format(s.spent, b.Currency), amount.Format(b.Minor-s.spent, b.Currency), "ok"
	if b.Minor == 0 {
		return s, nil
	}
	s.Percent = scaleInt(s.spent, 100, b.Minor)
	if elapsed, days := countDays(from, now)+1, countDays(from, to)+1; elapsed >= 3 && elapsed < days {
		s.Projected = amount.Format(scaleInt(s.spent, int64(days), int64(elapsed)), b.Currency)
	}
	switch {
	case s.spent > b.Minor:
		s.State = "over"
	case s.Percent >= nearPercent:
		s.State = "near"
	}
	return s, nil
}

// scaleInt returns n*times/by without an overflow, rounded down.
func scaleInt(n, times, by int64) int64 {
	product := new(big.Int).Mul(big.NewInt(n), big.NewInt(times))
	return product.Quo(product, big.NewInt(by)).Int64()
}

// budgetDays returns the first and the last day of the current period. Weeks begin on Monday.
func budgetDays(period string, now time.Time) (from, to time.Time) {
	y, m, day := now.Date()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, now.Location()) }
	switch period {
	case "day":
		return date(y, m, day), date(y, m, day)
	case "week":
		monday := day - (int(now.Weekday())+6)%7
		return date(y, m, monday), date(y, m, monday+6)
	case "quarter":
		first := (m-1)/3*3 + 1
		return date(y, first, 1), date(y, first+3, 0)
	case "year":
		return date(y, 1, 1), date(y, 12, 31)
	}
	return date(y, m, 1), date(y, m+1, 0)
}

// countDays returns the number of days from one date to another.
func countDays(from, to time.Time) int {
	utc := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(utc(to).Sub(utc(from)) / (24 * time.Hour))
}

// isSameCategory compares categories without regard to case and the plural.
func isSameCategory(a, b string) bool {
	have, want := strings.Fields(strings.ToLower(a)), strings.Fields(strings.ToLower(b))
	if len(have) != len(want) {
		return false
	}
	for i := range have {
		if trimPlural(have[i]) != trimPlural(want[i]) {
			return false
		}
	}
	return true
}

// budgetText describes the state of a budget in one line.
func budgetText(s BudgetState) string {
	when := map[string]string{"day": "today"}[s.Period]
	text := fmt.Sprintf("%s: %s of %s %s spent %s", budgetName(s.Category), s.Spent, s.Limit, s.Currency, cmp.Or(when, "this "+s.Period))
	if s.spent > s.minor {
		text += fmt.Sprintf(", %s over the budget (%d %%", amount.Format(s.spent-s.minor, s.Currency), s.Percent)
	} else {
		text += fmt.Sprintf(", %s left (%d %%", s.Left, s.Percent)
	}
	if s.DaysLeft > 0 {
		text += ", " + textnorm.CountNoun(s.DaysLeft, "day", "days") + " to go"
	}
	text += ")."
	if s.Projected != "" && s.State != "over" {
		text += fmt.Sprintf(" At this pace it will be %s %s.", s.Projected, s.Currency)
	}
	if more := othersText(s); more != "" {
		text += " Not counted:" + strings.TrimPrefix(more, " and") + "."
	}
	return text
}

// othersText returns the spending in other currencies for a sentence: " and 3.00 USD".
func othersText(s BudgetState) string {
	if len(s.Others) == 0 {
		return ""
	}
	return " and " + strings.Join(s.Others, " and ")
}
