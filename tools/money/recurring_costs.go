package money

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/dateparse"
	"hob/platform/text/shortid"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type recurringIn struct {
	Action   string      `json:"action,omitempty" jsonschema:"list (default), add or remove"`
	Name     string      `json:"name,omitempty" jsonschema:"who is paid or what for, such as Netflix"`
	Amount   json.Number `json:"amount,omitempty" jsonschema:"for add: each payment"`
	Currency string      `json:"currency,omitempty" jsonschema:"ISO code; default the user's"`
	Period   string      `json:"period,omitempty" jsonschema:"for add: week, month (default), quarter or year"`
	Due      string      `json:"due,omitempty" jsonschema:"for add: day of a payment; default today"`
	Category string      `json:"category,omitempty" jsonschema:"such as rent; default other"`
}

// recurringCost is a cost that is declared, or that regular expenses show.
type recurringCost struct {
	ID       string            `json:"id,omitempty"` // "" if it was found in the expenses
	Name     string            `json:"name"`
	Category string            `json:"category"`
	Amount   string            `json:"amount"` // exact decimal: the latest payment
	Currency string            `json:"currency"`
	Period   string            `json:"period"` // week, two weeks, month, quarter, half year or year
	Next     string            `json:"next"`   // day on which the next payment is expected
	Last     string            `json:"last,omitempty"`
	Count    int               `json:"count,omitempty"`  // payments seen
	Before   string            `json:"before,omitempty"` // the amount before it changed
	Missed   bool              `json:"missed,omitempty"` // the expected payment did not come
	PerYear  string            `json:"per_year"`
	Source   provenance.Source `json:"provenance"`
	Day      string            `json:"day,omitempty"` // a declared day of payment
	Created  time.Time         `json:"-"`
	minor    int64
}

// recurringUndo restores a declared cost that was removed, or removes one that was added.
type recurringUndo struct {
	Added   string             `json:"added,omitempty"` // id
	Removed *declaredRecurring `json:"removed,omitempty"`
}

// declaredRecurring is a stored row.
type declaredRecurring struct {
	Cost    recurringCost `json:"cost"`
	Minor   int64         `json:"minor"`
	Created int64         `json:"created"`
}

func (d Deps) recurringCosts() tools.Tool {
	return tools.New(tools.Def[recurringIn]{
		Spec: tools.Spec{
			Name: "recurring_costs", Category: "money", Effects: tools.Write,
			Description: "List recurring costs such as rent and subscriptions, found in the expenses and declared, with the next payments; or declare or remove one.",
			Keywords:    "recurring regular subscription subscriptions rent bill bills monthly fixed costs standing order direct debit upcoming payments",
		},
		Summary: func(in recurringIn) string {
			switch in.Action {
			case "add":
				return strings.Join(strings.Fields(fmt.Sprintf("Declare that %s costs %s %s per %s", textnorm.Ellipsize(in.Name, 80), in.Amount, in.Currency, cmp.Or(in.Period, "month"))), " ")
			case "remove":
				return "Remove the recurring cost " + textnorm.Ellipsize(in.Name, 80)
			}
			return "List recurring costs"
		},
		Judge: func(_ context.Context, in recurringIn) tools.CallAssessment {
			if in.Action == "" || in.Action == "list" {
				return tools.CallAssessment{Effects: tools.Read}
			}
			return tools.CallAssessment{}
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in recurringIn) (tools.Result, error) {
			switch in.Action {
			case "", "list":
				return listRecurring(tx, c)
			case "add":
				return d.addRecurring(tx, c, in)
			case "remove":
				return removeRecurring(tx, in)
			}
			return tools.Result{}, tools.Errorf(tools.InvalidArguments, "action %q is unknown; use list, add or remove", tools.Clean(textnorm.Ellipsize(in.Action, 40)))
		},
		UndoTx: undoRecurring,
	})
}

func (d Deps) addRecurring(tx *store.Tx, c tools.Call, in recurringIn) (tools.Result, error) {
	name := textnorm.Ellipsize(strings.Join(strings.Fields(in.Name), " "), 100)
	if len(textnorm.FoldedWords(name)) == 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "name is missing; say who is paid or what for")
	}
	currency, err := parseCurrency(in.Currency, cmp.Or(d.Currency(), "EUR"))
	if err != nil {
		return tools.Result{}, err
	}
	if in.Amount == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "amount is missing; ask the user how much each payment is")
	}
	minor, err := minorOf(in.Amount.String(), currency)
	if err != nil {
		return tools.Result{}, err
	}
	period, err := parseBudgetPeriod(in.Period)
	if err != nil {
		return tools.Result{}, err
	}
	if period == "day" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "period must be week, month, quarter or year")
	}
	day := c.Now
	if strings.TrimSpace(in.Due) != "" {
		m, err := dateparse.Parse(in.Due, c.Now)
		if err != nil {
			return tools.Result{}, tools.Errorf(tools.InvalidArguments, "due: %w", tools.CleanErr(err))
		}
		day = m.Time.In(c.Now.Location())
	}
	r := recurringCost{
		ID: shortid.New("r"), Name: name, Category: cmp.Or(cleanCategory(in.Category), "other"), Amount: amount.Format(minor, currency), Currency: currency,
		Period: cmp.Or(period, "month"), Day: day.Format(time.DateOnly), Source: provenance.Worst(c.Provenance), Created: c.Now.UTC(), minor: minor,
	}
	if err := insertRecurring(tx, r); err != nil {
		return tools.Result{}, err
	}
	r.fillDates(c.Now)
	next, _ := time.ParseInLocation(time.DateOnly, r.Next, c.Now.Location())
	return tools.Result{
		Source: provenance.Tool, Data: r, Undo: tools.NewUndo("remove the recurring cost "+r.Name, recurringUndo{Added: r.ID}),
		Text: fmt.Sprintf("Noted: %s costs %s %s per %s (%s per year). Next payment: %s.", r.Name, r.Amount, r.Currency, r.Period, r.PerYear, dateparse.FormatDay(next, c.Now)),
	}, nil
}

func insertRecurring(tx *store.Tx, r recurringCost) error {
	_, err := tx.Exec(`INSERT INTO recurring_costs (id, name, category, minor, currency, period, day, provenance, created_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		r.ID, r.Name, r.Category, r.minor, r.Currency, r.Period, r.Day, string(r.Source), store.Millis(r.Created))
	if err != nil {
		return fmt.Errorf("recurring costs: add: %w", err)
	}
	return nil
}

func removeRecurring(tx *store.Tx, in recurringIn) (tools.Result, error) {
	list, err := queryRecurring(tx)
	if err != nil {
		return tools.Result{}, err
	}
	var found []recurringCost
	var names []string
	src := provenance.Tool
	for _, r := range list {
		if r.ID == in.Name || textnorm.EqualFolded(r.Name, in.Name) {
			found = append(found, r)
		}
		src = provenance.Worst(src, r.Source)
		names = append(names, r.Name+" ("+r.ID+")")
	}
	switch {
	case len(found) == 0 && len(list) == 0:
		return tools.Result{}, tools.Errorf(tools.NotFound, "no recurring cost is declared")
	case len(found) != 1:
		what := "there is no declared recurring cost"
		if len(found) > 1 {
			what = "there are several recurring costs called"
		}
		err := tools.Errorf(tools.NotFound, "%s %q; declared: %s", tools.Clean(what), tools.Clean(textnorm.Ellipsize(in.Name, 60)), tools.Clean(strings.Join(names[:min(len(names), 10)], ", ")))
		return tools.Result{}, tools.Quoting(err, src)
	}
	r := found[0]
	if _, err := tx.Exec(`DELETE FROM recurring_costs WHERE id = ?`, r.ID); err != nil {
		return tools.Result{}, fmt.Errorf("recurring costs: remove: %w", err)
	}
	out := tools.Result{
		Source: provenance.Tool, Data: r, Text: fmt.Sprintf("Removed the recurring cost %s (%s %s per %s).", r.Name, r.Amount, r.Currency, r.Period),
		Undo: tools.NewUndo("restore the recurring cost "+r.Name, recurringUndo{Removed: &declaredRecurring{r, r.minor, store.Millis(r.Created)}}),
	}
	if r.Source.Tainted() {
		out.Source = provenance.Outside
	}
	return out, nil
}

func undoRecurring(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u recurringUndo
	if err := json.Unmarshal(data, &u); err != nil || u.Added == "" && u.Removed == nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	list, err := queryRecurring(tx)
	if err != nil {
		return "", err
	}
	exists := func(id string) bool {
		for _, r := range list {
			if r.ID == id {
				return true
			}
		}
		return false
	}
	if u.Removed != nil {
		r := u.Removed.Cost
		if exists(r.ID) {
			return "", tools.Errorf(tools.Conflict, "the recurring cost was restored before")
		}
		r.minor, r.Created = u.Removed.Minor, store.Time(u.Removed.Created)
		return fmt.Sprintf("Restored the recurring cost %s.", r.Name), insertRecurring(tx, r)
	}
	if !exists(u.Added) {
		return "", tools.Errorf(tools.NotFound, "the recurring cost no longer exists")
	}
	if _, err := tx.Exec(`DELETE FROM recurring_costs WHERE id = ?`, u.Added); err != nil {
		return "", fmt.Errorf("recurring costs: remove: %w", err)
	}
	return "Removed the recurring cost.", nil
}

// queryRecurring returns the declared costs.
func queryRecurring(q store.Querier) (out []recurringCost, err error) {
	rows, err := q.Query(`SELECT id, name, category, minor, currency, period, day, provenance, created_at FROM recurring_costs ORDER BY name, id`)
	if err != nil {
		return nil, fmt.Errorf("recurring costs: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r recurringCost
		var created int64
		if err := rows.Scan(&r.ID, &r.Name, &r.Category, &r.minor, &r.Currency, &r.Period, &r.Day, &r.Source, &created); err != nil {
			return nil, fmt.Errorf("recurring costs: read: %w", err)
		}
		r.Amount, r.Created = amount.Format(r.minor, r.Currency), store.Time(created)
		out = append(out, r)
	}
	return out, rows.Err()
}

// allRecurring returns the declared costs and those found in the expenses, the next payment first. A
// declared cost replaces a found one with the same name, or with the same amount and a longer or shorter
// form of the name: banks write "NETFLIX.COM" for Netflix.
func allRecurring(q store.Querier, now time.Time) ([]recurringCost, error) {
	out, err := queryRecurring(q)
	if err != nil {
		return nil, err
	}
	rows, err := queryExpenses(q, `WHERE day >= ? AND day <= ? ORDER BY day, created_at, id`, now.AddDate(-3, 0, 0).Format(time.DateOnly), now.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	found := findRecurring(rows, now)
	for i := range out {
		out[i].fillDates(now)
		for n, f := range found {
			if f.Currency == out[i].Currency && (textnorm.EqualFolded(f.Name, out[i].Name) || f.minor == out[i].minor && extendsVendor(f.Name, out[i].Name)) {
				out[i].Last, out[i].Count = f.Last, f.Count
				found = append(found[:n:n], found[n+1:]...)
				break
			}
		}
	}
	out = append(out, found...)
	sorting.StableByFunc(out, func(a, b recurringCost) int { return cmp.Or(cmp.Compare(a.Next, b.Next), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

func listRecurring(tx *store.Tx, c tools.Call) (tools.Result, error) {
	list, err := allRecurring(tx, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	r := tools.Result{Source: provenance.Tool}
	if len(list) == 0 {
		r.Text = "No recurring costs are declared, and the expenses show none. A cost counts as recurring after three regular payments."
		r.Data = map[string]any{"recurring": []recurringCost{}, "per_year": []Total{}}
		return r, nil
	}
	totals := map[string]int64{}
	var order, lines []string
	for _, x := range list {
		if x.Source.Tainted() {
			r.Source = provenance.Outside
		}
		lines = append(lines, "- "+recurringText(x, c.Now))
		if _, ok := totals[x.Currency]; !ok {
			order = append(order, x.Currency)
		}
		if x.Missed {
			totals[x.Currency] += 0 // the currency is known
			continue
		}
		totals[x.Currency] += x.minor * perYear(x.Period)
	}
	var sums []string
	var data []Total
	for _, currency := range order {
		t := Total{Currency: currency, Amount: amount.Format(totals[currency], currency)}
		data = append(data, t)
		sums = append(sums, t.Amount+" "+currency)
	}
	r.Text = fmt.Sprintf("Recurring costs, %s per year:\n%s", strings.Join(sums, " and "), strings.Join(lines, "\n"))
	r.Data = map[string]any{"recurring": list, "per_year": data}
	return r, nil
}

func recurringText(x recurringCost, now time.Time) string {
	text := fmt.Sprintf("%s: %s %s per %s", x.Name, x.Amount, x.Currency, x.Period)
	if next, err := time.ParseInLocation(time.DateOnly, x.Next, now.Location()); err == nil {
		word := "next"
		if countDays(next, now) > 0 {
			word = "expected"
		}
		text += fmt.Sprintf(", %s %s", word, dateparse.FormatDay(next, now))
	}
	switch {
	case x.Missed:
		text += " but not seen since; it may have ended"
	case x.ID != "":
		text += " (declared)"
	default:
		text += fmt.Sprintf(" (%d payments)", x.Count)
	}
	if x.Before != "" {
		text += fmt.Sprintf("; before, it was %s", x.Before)
	}
	return text
}
