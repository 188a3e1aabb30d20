package receipt

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/amount"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
)

// chooseTotal chooses the total with the highest rank. If several of them differ, the one that adds
// up counts.
func (p *parser) chooseTotal() {
	best := 0
	for _, t := range p.totals {
		best = max(best, t.rank)
	}
	var different []candidateTotal
	for _, t := range p.totals {
		known := false
		for _, d := range different {
			known = known || d.Minor == t.Minor
		}
		if t.rank == best && !known {
			different = append(different, t)
		}
	}
	switch {
	case len(different) == 0:
		p.addQuestion("total", "No total is printed. What is the total?")
		return
	case len(different) > 1:
		var right []candidateTotal
		for _, d := range different {
			if ok, _ := p.matchTotal(d.Minor); ok {
				right = append(right, d)
			}
		}
		if len(right) != 1 {
			var list []string
			for _, d := range different {
				list = append(list, d.Amount)
			}
			p.addQuestion("total", "Several totals are printed: "+strings.Join(list, ", ")+". Which one is right?")
			return
		}
		different = right
	}
	p.out.Total = &different[0].Line
	if p.out.Total.Minor <= 0 {
		p.addQuestion("total", "The total is "+p.out.Total.Amount+". Is this a refund?")
	}
}

// matchTotal reports whether the lines add up to a total, and whether the tax is added on top.
func (p *parser) matchTotal(total int64) (ok, onTop bool) {
	tip := int64(0)
	if p.out.Tip != nil {
		tip = p.out.Tip.Minor
	}
	sum, tax := sumLines(p.out.Items), sumLines(p.out.Taxes)
	switch {
	case len(p.out.Items) > 0 && (sum == total || sum+tip == total):
		return true, false
	case len(p.out.Items) > 0 && len(p.out.Taxes) > 0 && (sum+tax == total || sum+tax+tip == total):
		return true, true
	}
	return false, false
}

func sumLines(list []Line) (n int64) {
	for _, l := range list {
		n += l.Minor
	}
	return n
}

// addUp checks the lines, the subtotal, the tax and the total against each other.
func (p *parser) addUp() {
	r := &p.out
	show := func(n int64) string { return amount.Format(n, r.Currency) }
	if r.Total == nil {
		return
	}
	total, sum, tax := r.Total.Minor, sumLines(r.Items), sumLines(r.Taxes)
	right := true
	switch ok, onTop := p.matchTotal(total); {
	case ok:
		r.OnTop = onTop
		what := fmt.Sprintf("%s add up to the total of %s", textnorm.CountNoun(len(r.Items), "line", "lines"), r.Total.Amount)
		if len(r.Items) == 1 {
			what = "the line equals the total of " + r.Total.Amount
		}
		if onTop {
			what += " together with the tax of " + show(tax)
		}
		r.Checks = append(r.Checks, what)
	case len(r.Items) == 0 && r.Subtotal != nil && len(r.Taxes) > 0 && r.Subtotal.Minor+tax == total:
		r.OnTop = true
		r.Checks = append(r.Checks, fmt.Sprintf("the subtotal of %s and the tax of %s add up to the total of %s", r.Subtotal.Amount, show(tax), r.Total.Amount))
	case len(r.Items) == 0:
		r.Checks = append(r.Checks, "no lines with prices were recognized, so the total was not checked")
		return
	default:
		right = false
		r.Checks = append(r.Checks, fmt.Sprintf("the lines add up to %s, but the total is %s (difference %s)", show(sum), r.Total.Amount, show(total-sum)))
		p.addQuestion("total", fmt.Sprintf("The lines add up to %s, but the total says %s. Which amount is right?", show(sum), r.Total.Amount))
	}
	if s := r.Subtotal; s != nil && len(r.Items) > 0 && right && s.Minor != sum && s.Minor != sum-tax && s.Minor != total-tax {
		right = false
		r.Checks = append(r.Checks, fmt.Sprintf("the subtotal says %s, but the lines add up to %s", s.Amount, show(sum)))
		p.addQuestion("total", fmt.Sprintf("The subtotal of %s does not fit the lines, which add up to %s. Is the total of %s right?", s.Amount, show(sum), r.Total.Amount))
	}
	if why := p.impossibleTax(total, sum); why != "" && right {
		right = false
		r.Checks = append(r.Checks, why)
		p.addQuestion("total", "The tax does not fit the total: "+why+". Is the total of "+r.Total.Amount+" right?")
	}
	r.AddsUp = &right
}

// impossibleTax returns why the taxes are too high for their rates. They may be lower, because some
// lines may be free of tax.
func (p *parser) impossibleTax(total, sum int64) string {
	if sumLines(p.out.Taxes) > absAmount(total) {
		return fmt.Sprintf("the tax is higher than the total of %s", p.out.Total.Amount)
	}
	base := total
	if p.out.OnTop {
		base = max(sum, total-sumLines(p.out.Taxes))
	}
	for _, t := range p.out.Taxes {
		rate, ok := new(big.Rat).SetString(t.Rate)
		if t.Rate == "" || !ok {
			continue
		}
		per := big.NewRat(100, 1)
		if !p.out.OnTop {
			per.Add(per, rate)
		}
		most := new(big.Rat).Mul(big.NewRat(base, 1), rate)
		most.Quo(most, per)
		most.Add(most, big.NewRat(int64(len(p.out.Items))+1, 1)) // each line may have been rounded
		if big.NewRat(t.Minor, 1).Cmp(most) > 0 {
			return fmt.Sprintf("%s %% of %s is less than %s", t.Rate, amount.Format(base, p.out.Currency), t.Amount)
		}
	}
	return ""
}

// date matches dates in a line.
var (
	numericDate = lazyregexp.New(`(?:^|[^\d.,/-])(\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2}))(?:$|[^\d/-])`)
	namedDate   = lazyregexp.New(`(?i)(\d{1,2}(?:st|nd|rd|th)?\.?[ -]\pL{3,9}\.?,?[ -]\d{4}|\pL{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})`)
	clockTime   = lazyregexp.New(`\b\d{1,2}:\d{2}\b`)
)

// findDate finds the day of the receipt. A day with a time of day takes precedence over another.
func (p *parser) findDate() {
	type candidate struct {
		day      time.Time
		at       int
		hasClock bool
	}
	var list []candidate
	p.dated = -1
	question := ""
	for i, line := range p.lines {
		for _, found := range append(firstGroups(numericDate.FindAllStringSubmatch(line, 4)), firstGroups(namedDate.FindAllStringSubmatch(line, 4))...) {
			days := p.readingsOf(found)
			if len(days) == 0 {
				continue
			}
			if p.dated < 0 {
				p.dated = i
			}
			if len(days) > 1 {
				question = cmp.Or(question, fmt.Sprintf("Is %s %s or %s?", found, days[0].Format("2 January 2006"), days[1].Format("2 January 2006")))
				continue
			}
			list = append(list, candidate{days[0], i, clockTime.MatchString(line)})
		}
	}
	var best []candidate
	for _, withClock := range []bool{true, false} {
		for _, c := range list {
			if c.hasClock == withClock && (len(best) == 0 || !best[0].day.Equal(c.day)) {
				best = append(best, c)
			}
		}
		if len(best) > 0 {
			break
		}
	}
	switch {
	case len(best) == 1:
		p.out.Date, p.dated = best[0].day.Format(time.DateOnly), best[0].at
	case len(best) > 1:
		p.addQuestion("date", fmt.Sprintf("Several dates are printed: %s and %s. Which one is the day of the purchase?", best[0].day.Format("2 January 2006"), best[1].day.Format("2 January 2006")))
	case question != "":
		p.addQuestion("date", question)
	default:
		p.addQuestion("date", "No date is printed. On which day was the purchase?")
	}
}

func firstGroups(list [][]string) (out []string) {
	for _, m := range list {
		out = append(out, m[1])
	}
	return out
}

// readingsOf returns the days that a date may mean. A receipt is not from the future.
func (p *parser) readingsOf(s string) (out []time.Time) {
	orders := []tabular.Order{tabular.DayFirst, tabular.MonthFirst}
	if order, err := tabular.DetectOrder([]string{s}); err == nil {
		orders = []tabular.Order{order}
	}
	for _, o := range orders {
		day, ok := tabular.ParseDay(s, o)
		if ok && day.Format(time.DateOnly) <= p.Now.Format(time.DateOnly) && day.After(p.Now.AddDate(-30, 0, 0)) {
			out = append(out, day)
		}
	}
	return out
}

// findVendor returns the first line that can be the name of a shop.
func (p *parser) findVendor() {
	if p.out.Total == nil && len(p.out.Items) == 0 { // the text is no receipt
		return
	}
	for i, line := range p.lines[:min(len(p.lines), 8)] {
		if i == p.dated || p.names[i] {
			continue
		}
		l := p.splitLine(line)
		words := textnorm.FoldedWords(line)
		kind, _ := p.classifyLine(l, line)
		if len(l.amounts) > 0 || kind != kindItem || len(words) == 0 || countLetters(line) < 2 || isGreeting(words) {
			continue
		}
		p.out.Vendor = textnorm.Ellipsize(strings.Trim(line, " *-=_.:#"), 100)
		return
	}
}

func countLetters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// isGreeting reports whether a line is a heading of a receipt and not the name of a shop.
func isGreeting(words []string) bool {
	line := " " + strings.Join(words, " ") + " "
	for _, w := range []string{"receipt", "invoice", "tax invoice", "rechnung", "quittung", "kassenbon", "beleg", "kvitas", "saskaita faktura", "ticket", "facture", "recu", "ricevuta", "scontrino", "documento commerciale", "paragon", "paragon fiskalny", "bon", "welcome", "thank you", "customer copy", "copy", "duplicate", "www", "http", "https", "tel"} {
		if line == " "+w+" " || (w == "www" || w == "http" || w == "https" || w == "tel" || w == "welcome" || w == "thank you" || w == "customer copy") && strings.HasPrefix(line, " "+w+" ") {
			return true
		}
	}
	return false
}
