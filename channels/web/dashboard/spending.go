package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/amount"
	"hob/platform/text/sorting"
)

// spendingMonths is the number of months that api.Spending sums.
const spendingMonths = 12

// renderSpending shows what the user spent, as logged in the expenses, and the budgets. It shows nothing
// if there are neither. Each currency has its own plot, because amounts in several are never added.
func (d *Dashboard) renderSpending(r *request) (g.Node, error) {
	all, err := d.o.Backend.Spending(r.Context())
	if err != nil || len(all.Sums)+len(all.Budgets) == 0 {
		return nil, err
	}
	counts := map[string]int{}
	for _, s := range all.Sums {
		counts[s.Currency] += s.Count
	}
	currencies := sortedNames(counts)
	sorting.StableByFunc(currencies, func(x, y string) int { return counts[y] - counts[x] })
	parts := g.Group{g.Iff(len(all.Budgets) > 0, func() g.Node {
		return cardSection("Your budgets", h.Div(h.Class("stack"), g.Map(all.Budgets, renderSpendingBudget)))
	})}
	for _, c := range currencies {
		part, err := renderCurrency(r, c, slices.DeleteFunc(slices.Clone(all.Sums), func(s api.SpendingSum) bool { return s.Currency != c }))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func renderSpendingBudget(b api.SpendingBudget) g.Node {
	name := cmp.Or(b.Category, "all spending")
	when := "this " + b.Period
	if b.Period == "day" {
		when = "today"
	}
	kind, state := badgeSoft, ""
	switch b.State {
	case "over":
		kind, state = badgeBad, "over the budget"
	case "near":
		kind, state = badgeWarn, "nearly used up"
	}
	return h.Div(
		h.P(h.Class("small"), plainText(fmt.Sprintf("%s: %s of %s %s spent %s (%d %%) ", capitalizeFirst(name), b.Spent, b.Limit, b.Currency, when, b.Percent)), g.If(state != "", stateBadge(kind, state))),
		shareBar(float64(min(b.Percent, 100)), 100, "Share of the budget for "+name),
	)
}

// categorySpending is the spending on one category, in the currency's smallest unit.
type categorySpending struct {
	name       string
	month, all int64
	count      int
}

// renderCurrency shows the spending in one currency as a plot and as a table.
func renderCurrency(r *request, currency string, sums []api.SpendingSum) (g.Node, error) {
	this := time.Date(r.now.Year(), r.now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var months []time.Time
	for n := range spendingMonths {
		months = append(months, this.AddDate(0, 1+n-spendingMonths, 0))
	}
	var usage usageTable
	var list []*categorySpending
	most := int64(0)
	for _, s := range sums {
		minor, err := amount.Parse(s.Amount, '.', currency)
		if err != nil {
			return nil, fmt.Errorf("show spending: amount %q: %w", s.Amount, err)
		}
		i := slices.IndexFunc(list, func(c *categorySpending) bool { return c.name == s.Category })
		if i < 0 {
			i, list = len(list), append(list, &categorySpending{name: s.Category})
		}
		list[i].all, list[i].count = list[i].all+minor, list[i].count+s.Count
		if s.Month == this.Format("2006-01") {
			list[i].month += minor
		}
		most = max(most, list[i].all)
		value, _ := strconv.ParseFloat(s.Amount, 64) // Parse accepted it; the plot needs no exact decimals
		usage.sumOf(s.Category).cost += value
		usage.addDay(s.Category, s.Month+"-01", 0, &value)
	}
	sorting.StableByFunc(list, func(x, y *categorySpending) int { return cmp.Compare(y.all, x.all) })
	sorting.StableByFunc(usage.sums, func(x, y *usageSum) int { return cmp.Compare(y.cost, x.cost) })
	var rows [][]g.Node
	month, all, count := int64(0), int64(0), 0
	for _, c := range list {
		month, all, count = month+c.month, all+c.all, count+c.count
		rows = append(rows, []g.Node{
			plainText(c.name), numberText(strconv.Itoa(c.count)), numberText(amount.Format(c.month, currency)), numberText(amount.Format(c.all, currency)),
			shareBar(float64(c.all), float64(most), "Share of "+c.name),
		})
	}
	rows = append(rows, []g.Node{h.Strong(g.Text("Total")), numberText(strconv.Itoa(count)), numberText(amount.Format(month, currency)), numberText(amount.Format(all, currency)), nil})
	plot := usage.plotFor(months, currency)
	plot.Step = "month"
	title := "Your spending in " + currency
	return cardSection(
		title,
		renderPlot(plot, "Your expenses by month and category, last "+strconv.Itoa(spendingMonths)+" months. The table contains the sums."),
		h.Div(h.Class("shares"), dataTable(title, strings.Split("Category|Expenses|This month|12 months|Share", "|"), rows)),
	), nil
}
