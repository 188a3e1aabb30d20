package money

import (
	"math"
	"strings"
	"time"

	"hob/platform/text/amount"
	"hob/platform/text/plot"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// drawSpending saves a picture of expenses as PNG and SVG and returns the paths. Amounts in several
// currencies are several series.
func (d Deps) drawSpending(in spendingIn, rows []Expense, totals, sums []Total, words string) ([]string, error) {
	title := "Spending " + words
	if in.Category != "" {
		title = "Spending on " + textnorm.Ellipsize(cleanCategory(in.Category), 40) + " " + words
	}
	var p plot.Picture
	var err error
	switch strings.ToLower(strings.TrimSpace(in.Chart)) {
	case "bar", "bars":
		p = categoryBars(title, totals, sums)
	case "line":
		p, err = spendingLine(title, rows, sums)
	case "calendar":
		p, err = spendingCalendar(title, rows, sums)
	default:
		return nil, tools.Errorf(tools.InvalidArguments, "chart %q is unknown; use bar, line or calendar", tools.Clean(textnorm.Ellipsize(in.Chart, 40)))
	}
	if err != nil {
		return nil, err
	}
	pictures, err := plot.Save(d.Keep, "spending", p)
	if err != nil {
		return nil, tools.Errorf(tools.CodeOf(err), "save the picture: %w", err)
	}
	return pictures, nil
}

// toNumber converts an amount for a picture.
func toNumber(minor int64, currency string) float64 {
	return float64(minor) / math.Pow10(amount.Digits(currency))
}

// maxCategories is the maximum number of bars; the others are one bar.
const maxCategories = 12

func categoryBars(title string, totals, sums []Total) plot.Chart {
	c := plot.Chart{Title: title}
	index := map[string]int{}
	for _, t := range totals {
		label := t.Category
		if _, ok := index[label]; !ok && len(c.Labels) >= maxCategories {
			label = "others"
		}
		if _, ok := index[label]; !ok {
			index[label] = len(c.Labels)
			c.Labels = append(c.Labels, label)
		}
	}
	for _, s := range sums[:min(len(sums), plot.MaxSeries)] {
		values := make([]float64, len(c.Labels))
		for _, t := range totals {
			if t.Currency != s.Currency {
				continue
			}
			i, ok := index[t.Category]
			if !ok {
				i = index["others"]
			}
			values[i] += toNumber(t.minor, t.Currency)
		}
		c.Series = append(c.Series, plot.Series{Name: s.Currency, Values: values})
	}
	return c
}

// spendingLine shows the sums of days, or of months if there are more than 62 days.
func spendingLine(title string, rows []Expense, sums []Total) (plot.Chart, error) {
	c := plot.Chart{Title: title, Line: true}
	first, err1 := time.Parse(time.DateOnly, rows[0].Day)
	last, err2 := time.Parse(time.DateOnly, rows[len(rows)-1].Day)
	if err1 != nil || err2 != nil {
		return c, tools.Errorf(tools.Failed, "an expense has no valid day")
	}
	layout, label := time.DateOnly, "2 Jan"
	step := func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	if last.Sub(first) > 62*24*time.Hour {
		layout, label = "2006-01", "Jan 2006"
		first = time.Date(first.Year(), first.Month(), 1, 0, 0, 0, 0, time.UTC)
		step = func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
		if earliest := time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, 1-plot.MaxLabels, 0); first.Before(earliest) {
			first = earliest
		}
	}
	index := map[string]int{}
	for t := first; !t.After(last); t = step(t) {
		index[t.Format(layout)] = len(c.Labels)
		c.Labels = append(c.Labels, t.Format(label))
	}
	for _, s := range sums[:min(len(sums), plot.MaxSeries)] {
		values := make([]float64, len(c.Labels))
		for _, e := range rows {
			if i, ok := index[e.Day[:len(layout)]]; ok && e.Currency == s.Currency {
				values[i] += toNumber(e.minor, e.Currency)
			}
		}
		c.Series = append(c.Series, plot.Series{Name: s.Currency, Values: values})
	}
	return c, nil
}

// spendingCalendar shows the days of the currency in which most expenses are.
func spendingCalendar(title string, rows []Expense, sums []Total) (plot.Calendar, error) {
	currency := sums[0].Currency
	for _, s := range sums {
		if s.Count > sums[0].Count {
			currency = s.Currency
		}
	}
	c := plot.Calendar{Title: title + ", " + currency, Values: map[string]float64{}}
	for _, e := range rows {
		day, err := time.Parse(time.DateOnly, e.Day)
		if err != nil {
			return c, tools.Errorf(tools.Failed, "an expense has no valid day")
		}
		if e.Currency != currency {
			continue
		}
		if c.From.IsZero() {
			c.From = day
		}
		c.To = day
		c.Values[e.Day] += toNumber(e.minor, currency)
	}
	if earliest := c.To.AddDate(-2, 0, 1); c.From.Before(earliest) {
		c.From = earliest
	}
	return c, nil
}
