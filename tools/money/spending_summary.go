package money

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/amount"
	"hob/platform/text/sorting"
	"hob/tools"
)

type spendingIn struct {
	Period   string `json:"period,omitempty" jsonschema:"today, this_week, last_month, 2026-03, all; default this_month"`
	Category string `json:"category,omitempty" jsonschema:"only this category, vendor or note"`
	Chart    string `json:"chart,omitempty" jsonschema:"draw a picture: bar (by category), line (over time) or calendar"`
}

// Total is the sum of one category in one currency.
type Total struct {
	Category string `json:"category"`
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
	Count    int    `json:"count"`
	minor    int64
}

func (d Deps) spendingSummary() tools.Tool {
	return tools.New(tools.Def[spendingIn]{
		Spec: tools.Spec{
			Name: "spending_summary", Category: "money", Effects: tools.Read,
			Description: "Sum up spending in a period, by category.",
			Keywords:    "how much spent spending expenses total budget money cost",
		},
		Summary: func(in spendingIn) string { return "Sum up spending " + in.Period },
		Run:     d.runSummary,
	})
}

func (d Deps) runSummary(ctx context.Context, c tools.Call, in spendingIn) (tools.Result, error) {
	p, words, err := tools.ParsePastPeriod(in.Period, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	from, to := p.From.Format(time.DateOnly), p.To.Format(time.DateOnly)
	rows, err := queryExpenses(d.Store.Reader(ctx), `WHERE day >= ? AND day < ? ORDER BY day`, from, to)
	if err != nil {
		return tools.Result{}, err
	}
	rows = slices.DeleteFunc(rows, func(e Expense) bool { return !isAbout(e, in.Category) })
	totals, sums := sumTotals(rows)
	source := provenance.Tool
	if slices.ContainsFunc(rows, func(e Expense) bool { return e.Provenance.Tainted() }) {
		source = provenance.Outside
	}
	data := map[string]any{"from": from, "to": to, "by_category": totals, "total": sums, "count": len(rows), "expenses": rows}
	r := tools.Result{Source: source, Text: summaryText(totals, sums, len(rows), words, cleanCategory(in.Category)), Data: data}
	if in.Chart == "" || len(rows) == 0 {
		return r, nil
	}
	pictures, err := d.drawSpending(in, rows, totals, sums, words)
	if err != nil {
		return tools.Result{}, err
	}
	data["pictures"] = pictures
	r.Text += "\nPictures: " + strings.Join(pictures, " and ")
	return r, nil
}

// isAbout reports whether the category of an expense contains all words of a category, in the singular or the
// plural, so that "presents" includes "present for Lily", or whether its vendor or note contains the category.
func isAbout(e Expense, category string) bool {
	want := strings.ToLower(cleanCategory(category))
	if strings.Contains(strings.ToLower(e.Vendor), want) || strings.Contains(strings.ToLower(e.Note), want) {
		return true
	}
	have := strings.Fields(strings.ToLower(e.Category))
	return !slices.ContainsFunc(strings.Fields(want), func(w string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return trimPlural(h) == trimPlural(w) })
	})
}

// trimPlural returns a word without the ending of the plural: "taxes" gives "tax".
func trimPlural(word string) string {
	switch stem, ok := strings.CutSuffix(word, "ies"); {
	case len(word) < 4 || strings.HasSuffix(word, "ss"):
		return word
	case ok && len(stem) > 2:
		return stem + "y"
	}
	for _, end := range []string{"ches", "shes", "xes", "sses"} {
		if strings.HasSuffix(word, end) {
			return strings.TrimSuffix(word, "es")
		}
	}
	return strings.TrimSuffix(word, "s")
}

// categorySpelling returns the spelling of each category, by its lower-case form: the one with capitals if
// it was written with and without them.
func categorySpelling(rows []Expense) map[string]string {
	spelling := map[string]string{}
	for _, e := range rows {
		key := strings.ToLower(e.Category)
		spelling[key] = min(cmp.Or(spelling[key], e.Category), e.Category)
	}
	return spelling
}

func sumTotals(rows []Expense) (byCategory, sums []Total) {
	add := func(list []Total, category string, e Expense) []Total {
		i := slices.IndexFunc(list, func(t Total) bool { return t.Category == category && t.Currency == e.Currency })
		if i < 0 {
			list, i = append(list, Total{Category: category, Currency: e.Currency}), len(list)
		}
		list[i].minor += e.minor
		list[i].Count++
		list[i].Amount = amount.Format(list[i].minor, e.Currency)
		return list
	}
	spelling := categorySpelling(rows)
	byCategory, sums = []Total{}, []Total{}
	for _, e := range rows {
		byCategory = add(byCategory, spelling[strings.ToLower(e.Category)], e)
		sums = add(sums, "", e)
	}
	order := func(x, y Total) int {
		return cmp.Or(cmp.Compare(y.minor, x.minor), cmp.Compare(x.Category, y.Category))
	}
	sorting.ByFunc(byCategory, order)
	sorting.ByFunc(sums, order)
	return byCategory, sums
}

func summaryText(totals, sums []Total, n int, words, category string) string {
	about := ""
	if category != "" {
		about = " on " + category
	}
	if n == 0 {
		return fmt.Sprintf("No spending%s was logged %s.", about, words)
	}
	var amounts []string
	for _, s := range sums {
		amounts = append(amounts, s.Amount+" "+s.Currency)
	}
	entries := "1 entry"
	if n > 1 {
		entries = fmt.Sprintf("%d entries", n)
	}
	text := fmt.Sprintf("You spent %s%s %s (%s).", strings.Join(amounts, " and "), about, words, entries)
	if category == "" && len(totals) > 1 {
		for _, t := range totals {
			text += fmt.Sprintf("\n- %s: %s %s (%d)", t.Category, t.Amount, t.Currency, t.Count)
		}
	}
	return text
}
