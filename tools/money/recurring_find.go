package money

import (
	"cmp"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/amount"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// rhythm is a distance between payments: a number of days, or of months.
type rhythm struct {
	name     string
	min, max int // days between two payments
	days     int
	months   int
	least    int   // payments that show it
	yearly   int64 // payments per year
}

var rhythms = []rhythm{
	{"week", 6, 8, 7, 0, 4, 52},
	{"two weeks", 13, 15, 14, 0, 4, 26},
	{"month", 26, 35, 0, 1, 3, 12},
	{"quarter", 85, 97, 0, 3, 3, 4},
	{"half year", 176, 190, 0, 6, 2, 2},
	{"year", 355, 375, 0, 12, 2, 1},
}

func rhythmOf(period string) rhythm {
	for _, r := range rhythms {
		if r.name == period {
			return r
		}
	}
	return rhythms[2]
}

func perYear(period string) int64 { return rhythmOf(period).yearly }

// findRecurring finds series of payments to the same vendor, or for the same category if no vendor
// is given, at regular distances. rows are in the order of their days. Payments of equal amounts
// form a separate series first, because one vendor may be paid for several subscriptions.
func findRecurring(rows []Expense, now time.Time) (out []recurringCost) {
	type groupKey struct{ name, currency string }
	groups := map[groupKey][]Expense{}
	var order []groupKey
	for _, e := range rows {
		k := groupKey{strings.Join(textnorm.FoldedWords(cmp.Or(e.Vendor, e.Category)), " "), e.Currency}
		if k.name == "" || e.Vendor == "" && e.Category == "other" {
			continue
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], e)
	}
	for _, k := range order {
		byAmount := map[int64][]Expense{}
		var amounts []int64
		for _, e := range groups[k] {
			if byAmount[e.minor] == nil {
				amounts = append(amounts, e.minor)
			}
			byAmount[e.minor] = append(byAmount[e.minor], e)
		}
		whole, ok := seriesOf(groups[k], now)
		if ok { // one payment per period, with amounts that may change
			out = append(out, whole)
			continue
		}
		for _, a := range amounts {
			if r, ok := seriesOf(byAmount[a], now); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// maxChange is the largest change of the amount from one payment to the next, in percent.
const maxChange = 40

// seriesOf returns the recurring cost that payments form. A payment may be missing once.
func seriesOf(list []Expense, now time.Time) (recurringCost, bool) {
	if len(list) < 2 {
		return recurringCost{}, false
	}
	days := make([]time.Time, len(list))
	for i, e := range list {
		day, err := time.Parse(time.DateOnly, e.Day)
		if err != nil {
			return recurringCost{}, false
		}
		days[i] = day
	}
	for _, r := range rhythms {
		if len(list) < r.least || !r.fitsDays(days) || !hasSteadyAmounts(list) {
			continue
		}
		last := list[len(list)-1]
		next := r.dayAfter(days[len(days)-1], 1)
		out := recurringCost{
			Name: cmp.Or(last.Vendor, last.Category), Category: last.Category, Amount: last.Amount, Currency: last.Currency, Period: r.name, Last: last.Day, Next: next.Format(time.DateOnly),
			Count: len(list), PerYear: amount.Format(last.minor*r.yearly, last.Currency), Source: provenance.Tool, minor: last.minor,
			Missed: countDays(next, now) > r.max-r.min+3,
		}
		for _, e := range list {
			if e.Provenance.Tainted() {
				out.Source = provenance.Outside
			}
			if e.minor != last.minor {
				out.Before = e.Amount
			}
		}
		return out, true
	}
	return recurringCost{}, false
}

// fitsDays reports whether payments have this distance. One payment may be missing, but only between
// others, so that two payments are never taken for a series with a gap.
func (r rhythm) fitsDays(days []time.Time) bool {
	missing := 0
	for i := 1; i < len(days); i++ {
		switch gap := countDays(days[i-1], days[i]); {
		case gap >= r.min && gap <= r.max:
		case gap >= 2*r.min && gap <= 2*r.max && len(days) > r.least:
			if missing++; missing > 1 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// dayAfter returns the day of the payment n periods after another one. The last day of a month stays
// the last one.
func (r rhythm) dayAfter(day time.Time, n int) time.Time {
	if r.months == 0 {
		return day.AddDate(0, 0, n*r.days)
	}
	first := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, day.Location()).AddDate(0, n*r.months, 0)
	return first.AddDate(0, 0, min(day.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// hasSteadyAmounts reports whether the typical change from one amount to the next is small.
func hasSteadyAmounts(list []Expense) bool {
	var changes []int64
	for i := 1; i < len(list); i++ {
		a, b := list[i-1].minor, list[i].minor
		changes = append(changes, scaleInt(max(a, b)-min(a, b), 100, max(a, b, 1)))
	}
	sorting.ByFunc(changes, func(a, b int64) int { return cmp.Compare(a, b) })
	return changes[len(changes)/2] <= maxChange
}

// fillDates fills in the fields of a declared cost that depend on the current day.
func (x *recurringCost) fillDates(now time.Time) {
	r := rhythmOf(x.Period)
	x.PerYear = amount.Format(x.minor*r.yearly, x.Currency)
	first, err := time.ParseInLocation(time.DateOnly, x.Day, now.Location())
	if err != nil {
		return
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	n := 0
	if first.Before(today) {
		n = max(0, countDays(first, today)/max(r.max, 1)-1)
		for r.dayAfter(first, n).Before(today) {
			n++
		}
	}
	x.Next = r.dayAfter(first, n).Format(time.DateOnly)
}
