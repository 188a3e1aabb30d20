// Package receipt reads the text of a receipt or a simple invoice: shop, day, currency, lines, taxes
// and total. It checks that the lines, the tax and the total add up. It invents nothing: what the
// text does not show becomes a question. It reads no files; parse_receipt calls it.
package receipt

import (
	"strings"
	"time"
	"unicode"

	"hob/platform/text/amount"
	"hob/platform/text/textnorm"
)

// Line is a line of a receipt with its amount.
type Line struct {
	Text     string `json:"text"`
	Quantity string `json:"quantity,omitempty"` // as printed: "2 x 1.20"
	Rate     string `json:"rate,omitempty"`     // of a tax, in percent
	Amount   string `json:"amount"`             // exact decimal; negative for a discount
	Minor    int64  `json:"-"`
}

// Receipt is a parsed receipt. Empty fields are unknown.
type Receipt struct {
	Vendor   string `json:"vendor,omitempty"`
	Date     string `json:"date,omitempty"` // YYYY-MM-DD
	Currency string `json:"currency"`
	// Assumed is true if no currency is printed, so that Currency is the user's own.
	Assumed  bool     `json:"currency_assumed,omitempty"`
	Items    []Line   `json:"items"`
	Subtotal *Line    `json:"subtotal,omitempty"`
	Taxes    []Line   `json:"taxes,omitempty"`
	OnTop    bool     `json:"tax_on_top,omitempty"` // the prices do not include the taxes
	Tip      *Line    `json:"tip,omitempty"`
	Total    *Line    `json:"total,omitempty"`
	AddsUp   *bool    `json:"adds_up"`          // nil: there is nothing to check the total with
	Checks   []string `json:"checks,omitempty"` // what was checked, in words
	// The user must answer Questions before the receipt can be used.
	Questions []Question `json:"questions,omitempty"`
}

// Question is a question to the user.
type Question struct {
	About string `json:"about"` // date, total or currency
	Text  string `json:"text"`
}

// Options of Parse.
type Options struct {
	Currency string    // the user's currency
	Now      time.Time // in the user's zone
}

// Limits of a receipt.
const (
	maxLines = 2_000
	maxText  = 120 // letters of a line's text
)

// Parse reads a receipt.
func Parse(text string, o Options) Receipt {
	p := &parser{Options: o}
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && len(p.lines) < maxLines {
			p.lines = append(p.lines, line)
		}
	}
	p.findCurrency()
	p.joinColumns()
	p.findDate()
	p.readLines()
	p.chooseTotal()
	p.addUp()
	p.findVendor()
	return p.out
}

type parser struct {
	Options
	lines  []string
	out    Receipt
	totals []candidateTotal
	dated  int // index of the line with the date; -1 if there is none
	names  map[int]bool
}

// candidateTotal is a line that states a total.
type candidateTotal struct {
	Line
	rank int
}

func (p *parser) addQuestion(about, question string) {
	p.out.Questions = append(p.out.Questions, Question{about, question})
}

// codes are the currencies that are recognized by their code.
const codes = " EUR USD GBP JPY CHF PLN CZK SEK NOK DKK HUF RON BGN TRY UAH RUB CAD AUD NZD SGD HKD CNY KRW INR IDR THB MYR PHP VND BRL MXN ARS CLP COP ZAR EGP MAD AED SAR QAR KWD BHD OMR JOD IQD TND ILS ISK RSD BAM MKD GEL KZT "

// findCurrency finds the currency by its sign or code. If there are several, the one on the line of
// the total counts.
func (p *parser) findCurrency() {
	seen := map[string]bool{}
	onTotal := ""
	for _, line := range p.lines {
		_, total := classifyTotal(textnorm.Fold(line))
		for _, c := range p.currenciesIn(line) {
			seen[c] = true
			if total {
				onTotal = c
			}
		}
	}
	switch {
	case onTotal != "":
		p.out.Currency = onTotal
	case len(seen) == 1:
		for c := range seen {
			p.out.Currency = c
		}
	case len(seen) == 0:
		p.out.Currency, p.out.Assumed = p.Currency, true
	default:
		p.out.Currency = p.Currency
		p.out.Assumed = true
		p.addQuestion("currency", "Several currencies are printed. In which currency is the total?")
	}
}

func (p *parser) currenciesIn(line string) (out []string) {
	for _, w := range strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()[]:;/", r) }) {
		letters := strings.TrimFunc(w, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".,-+*'", r) })
		if strings.Contains(codes, " "+letters+" ") && letters != "" {
			out = append(out, letters)
			continue
		}
		sign := strings.ToLower(letters)
		if sign == "ft" || sign == "fr" || sign == "chf" && letters != "CHF" {
			continue // also feet and words
		}
		if c, ok := amount.BySymbol(letters, p.Currency); ok {
			out = append(out, c)
		} else if r := []rune(letters); len(r) > 1 && (unicode.Is(unicode.Sc, r[0]) || unicode.Is(unicode.Sc, r[len(r)-1])) {
			for _, x := range []rune{r[0], r[len(r)-1]} {
				if c, ok := amount.BySymbol(string(x), p.Currency); ok {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// readLines finds the amount of each line and what it is.
func (p *parser) readLines() {
	p.names = map[int]bool{}
	pending := "" // a line without an amount, which may name the item on the next line
	for i, raw := range p.lines {
		if i == p.dated {
			pending = ""
			continue
		}
		l := p.splitLine(raw)
		kind, rank := p.classifyLine(l, raw)
		if len(l.amounts) == 0 {
			pending = raw
			if kind != kindItem {
				pending = ""
			}
			continue
		}
		minor := l.amounts[len(l.amounts)-1]
		line := Line{Text: textnorm.Ellipsize(l.text, maxText), Rate: l.rate, Minor: minor, Amount: amount.Format(minor, p.out.Currency)}
		switch kind {
		case kindTotal:
			p.totals = append(p.totals, candidateTotal{line, rank})
		case kindSubtotal:
			p.out.Subtotal = &line
		case kindTax:
			p.addTax(line, l.amounts)
		case kindTip:
			p.out.Tip = &line
		case kindDiscount:
			line.Minor = -absAmount(minor)
			line.Amount = amount.Format(line.Minor, p.out.Currency)
			p.addItem(line, i)
		case kindItem:
			if l.isQuantity() {
				if len(l.amounts) == 1 { // the price of a piece; the sum is on another line
					continue
				}
				line.Quantity = l.text
				line.Text = textnorm.Ellipsize(pending, maxText)
			} else {
				line.Text, line.Quantity = splitQuantity(line.Text)
			}
			if strings.IndexFunc(line.Text, unicode.IsLetter) < 0 {
				if pending == "" {
					continue
				}
				line.Text = textnorm.Ellipsize(pending, maxText)
			}
			p.addItem(line, i)
		case kindPayment, kindOther:
		}
		pending = ""
	}
}

// joinColumns joins two columns that the recognition of a picture returns one after the other: first
// the texts, then as many amounts. Whether the lines belong together shows when they are added up.
func (p *parser) joinColumns() {
	isAmount := func(line string) bool {
		l := p.splitLine(line)
		return len(l.amounts) == 1 && strings.IndexFunc(l.text, unicode.IsLetter) < 0 && strings.IndexFunc(l.text, unicode.IsDigit) < 0
	}
	for end := len(p.lines); end > 0; end-- {
		from := end
		for from > 0 && isAmount(p.lines[from-1]) {
			from--
		}
		n := end - from
		if n < 2 || from < n {
			continue
		}
		for i := range n {
			if len(p.splitLine(p.lines[from-n+i]).amounts) > 0 {
				return
			}
		}
		for i := range n {
			p.lines[from-n+i] += " " + p.lines[from+i]
		}
		p.lines = append(p.lines[:from], p.lines[end:]...)
		return
	}
}

// addItem adds an item. Lines after a total are no items, but payments, summaries of taxes or
// advertisements.
func (p *parser) addItem(l Line, at int) {
	if len(p.totals) > 0 {
		return
	}
	p.out.Items = append(p.out.Items, l)
	p.names[at] = true
}

// addTax adds a tax. A line of a summary states the net amount, the tax and the gross amount.
func (p *parser) addTax(l Line, amounts []int64) {
	if n := len(amounts); n >= 3 {
		a, b, c := amounts[n-3], amounts[n-2], amounts[n-1]
		switch {
		case a+b == c:
			l.Minor = min(a, b)
		case b+c == a: // gross, net, tax in any order
			l.Minor = min(b, c)
		case a+c == b:
			l.Minor = min(a, c)
		}
		l.Amount = amount.Format(l.Minor, p.out.Currency)
	}
	for _, t := range p.out.Taxes {
		if t.Minor == l.Minor && (t.Rate == l.Rate || t.Rate == "" || l.Rate == "") { // repeated below the total
			return
		}
	}
	p.out.Taxes = append(p.out.Taxes, l)
}

func absAmount(n int64) int64 { return max(n, -n) }
