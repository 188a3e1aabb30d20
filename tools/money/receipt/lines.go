package receipt

import (
	"strings"
	"unicode"

	"hob/platform/text/amount"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// splitText is a line that is split into its text and its amounts.
type splitText struct {
	text    string
	amounts []int64
	rate    string // a percentage
}

// splitLine finds the amounts of a line. The text ends where the last amounts begin.
func (p *parser) splitLine(line string) splitText {
	words := joinBrokenAmounts(strings.Fields(line))
	_, sum := classifyTotal(textnorm.Fold(line))
	var out splitText
	var text []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if rate, ok := rateAt(words, i); ok {
			out.rate = rate
			text = append(text, w)
			continue
		}
		if sum && i+1 < len(words) && isDigits(w) && len(w) <= 3 { // "1 234,56"; a total has no quantity
			if n, ok := p.parseAmount(w + words[i+1]); ok && len(strings.TrimRight(words[i+1][:min(4, len(words[i+1]))], ".,")) == 3 {
				out.amounts = append(out.amounts, n)
				i++
				continue
			}
		}
		if n, ok := p.parseAmount(w); ok {
			out.amounts = append(out.amounts, n)
			continue
		}
		if len(out.amounts) > 0 && isMark(w) { // the code of a tax, or the currency
			continue
		}
		text = append(text, w)
	}
	if p.out.Currency != "" && amount.Digits(p.out.Currency) == 0 && len(words) == 1 {
		out.amounts = nil // a number alone is no amount
	}
	out.text = strings.Trim(strings.Join(text, " "), " :.-_*=")
	return out
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// joinBrokenAmounts joins amounts that the recognition of a picture has split: "1, 45" and "1 .45".
func joinBrokenAmounts(words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if i+1 < len(words) {
			next := words[i+1]
			body := strings.TrimRight(w, ".,")
			switch {
			case len(body) == len(w)-1 && isDigits(body) && len(next) == 2 && isDigits(next),
				isDigits(w) && len(next) == 3 && (next[0] == '.' || next[0] == ',') && isDigits(next[1:]):
				out = append(out, w+next)
				i++
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

// rateAt returns the percentage at a word: "21%", "21 %", "(19,0%)".
func rateAt(words []string, i int) (string, bool) {
	w := strings.Trim(words[i], "()[]:;=")
	number, ok := strings.CutSuffix(w, "%")
	if !ok && i+1 < len(words) && strings.HasPrefix(words[i+1], "%") {
		number, ok = w, true
	}
	number = strings.ReplaceAll(number, ",", ".")
	if !ok || strings.Trim(number, "0123456789.") != "" || number == "" {
		return "", false
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number, true
}

// parseAmount parses a word as an amount with exactly the decimals of the currency.
func (p *parser) parseAmount(w string) (int64, bool) {
	w = strings.TrimRight(strings.Trim(w, "()[]:;=*"), "*")
	d := amount.Digits(p.out.Currency)
	digits := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsDigit(r) })
	if digits == "" {
		return 0, false
	}
	// letters may only be a currency before or after the number, or a code of a tax after it
	rest := strings.TrimFunc(strings.ReplaceAll(w, digits, ""), func(r rune) bool { return strings.ContainsRune("-+\u2212", r) })
	if _, ok := amount.BySymbol(rest, p.Currency); rest != "" && !ok && !amount.IsCode(rest) && (len(rest) != 1 || !unicode.IsUpper(rune(rest[0])) || !strings.HasSuffix(w, rest)) {
		return 0, false
	}
	last := strings.LastIndexAny(digits, ".,")
	mark := '.'
	switch {
	case d == 0:
		if last >= 0 && len(digits)-last-1 != 3 || last < 0 && len(digits) > 8 {
			return 0, false
		}
		if last >= 0 && digits[last] == '.' {
			mark = ','
		}
	case last < 0 || len(digits)-last-1 != d:
		return 0, false
	default:
		mark = rune(digits[last])
	}
	sign := ""
	if strings.ContainsAny(w, "-\u2212") {
		sign = "-"
	}
	n, err := amount.Parse(sign+digits, mark, p.out.Currency)
	return n, err == nil
}

// isMark reports whether a word after an amount is the code of a tax or a currency.
func isMark(w string) bool {
	w = strings.Trim(w, "*()#")
	return len([]rune(w)) <= 1 || amount.IsCode(w) || strings.EqualFold(w, "kr") || strings.EqualFold(w, "zł")
}

// quantityLine matches a quantity with the price of a piece, and quantityPart a quantity beside a name.
var (
	quantityLine = lazyregexp.New(`(?i)^\d+(?:[.,]\d+)?\s*(?:x|×|\*|@|kg|g|l|pcs|stk?|vnt|szt|ea)?\.?\s*(?:x|×|\*|@|à|a)?\s*(?:[€$£]?\d+[.,]\d+)?\s*(?:[€$£]|[A-Z]{3})?\s*(?:/\s*(?:kg|l|st|ea))?$`)
	quantityPart = lazyregexp.New(`(?i)(?:^|\s)(\d+(?:[.,]\d+)?\s*(?:x|×|\*|@|pcs|stk|vnt|szt)\.?)(?:\s|$)`)
)

// isQuantity reports whether the text of a line is only a quantity.
func (l splitText) isQuantity() bool {
	return l.text != "" && quantityLine.MatchString(l.text) && strings.IndexFunc(l.text, unicode.IsDigit) >= 0
}

// splitQuantity splits a quantity such as "2 x" from the name of an item.
func splitQuantity(text string) (name, quantity string) {
	m := quantityPart.FindStringSubmatchIndex(text)
	if m == nil {
		return text, ""
	}
	quantity = text[m[2]:m[3]]
	name = strings.Join(strings.Fields(text[:m[2]]+" "+text[m[3]:]), " ")
	if strings.IndexFunc(name, unicode.IsLetter) < 0 {
		return text, ""
	}
	return name, quantity
}

// lineKind is what a line of a receipt states.
type lineKind int

const (
	kindItem lineKind = iota
	kindTotal
	kindSubtotal
	kindTax
	kindTip
	kindDiscount
	kindPayment
	kindOther
)

// Words that begin or mark lines, folded. Receipts print them in the language of the shop.
var (
	bestTotals = []string{"grand total", "total due", "amount due", "balance due", "total to pay", "amount to pay", "zu zahlen", "gesamtbetrag", "endbetrag", "rechnungsbetrag", "a payer", "net a payer", "total ttc", "moketi", "moketina suma", "do zaplaty", "te betalen", "att betala", "total a pagar", "importe total", "totale complessivo", "totale documento", "к оплате"}
	totals     = []string{"total", "summe", "gesamt", "totaal", "totale", "suma", "viso", "is viso", "razem", "celkem", "summa", "yhteensa", "kokku", "kopa", "toplam", "importe", "итого", "всего", "合計", "i alt", "sum"}
	subtotals  = []string{"subtotal", "sub total", "zwischensumme", "sous total", "subtotale", "tarpine suma", "total ht", "net total", "netto", "taxable amount", "suma netto", "subtotaal", "delsumma", "小計"}
	taxes      = []string{"vat", "mwst", "ust", "mehrwertsteuer", "umsatzsteuer", "tva", "iva", "pvm", "btw", "moms", "mva", "alv", "dph", "pdv", "kdv", "ндс", "gst", "hst", "pst", "qst", "tax", "sales tax", "steuer", "ptu", "afa", "km", "内税", "消費税"}
	tips       = []string{"tip", "gratuity", "trinkgeld", "pourboire", "arbatpinigiai", "propina", "mancia"}
	discounts  = []string{"discount", "rabatt", "remise", "nuolaida", "sconto", "descuento", "korting", "coupon", "voucher", "sleva", "rabat", "скидка", "loyalty", "promotion", "nachlass"}
	payments   = []string{"cash", "card", "visa", "mastercard", "maestro", "amex", "american express", "paid", "payment", "change", "bar", "gegeben", "ruckgeld", "kartenzahlung", "ec karte", "girocard", "tendered", "carte", "cb", "especes", "rendu", "contanti", "resto", "kortele", "banko kortele", "grynais", "grynieji", "graza", "debit", "credit", "apple pay", "google pay", "gotowka", "karta", "reszta", "pin", "contant", "wisselgeld", "efectivo", "tarjeta", "cambio", "наличными", "сдача", "お預り", "お釣り", "balance", "gift card", "sumoketa"}
	otherLines = []string{"you saved", "total savings", "savings", "total items", "items sold", "item count", "number of items", "total discount", "points", "tel", "phone", "no", "nr", "receipt no", "invoice no", "rechnung nr", "bon nr", "kvito nr", "cashier", "kasse", "terminal", "auth", "ref", "id", "vat no", "vat reg", "ust id", "tax id", "total qty", "summe netto"}
)

// classifyLine returns what a line states, and the rank of a total.
func (p *parser) classifyLine(l splitText, raw string) (kind lineKind, rank int) {
	folded := textnorm.Fold(raw)
	words := " " + strings.Join(textnorm.FoldedWords(l.text), " ") + " "
	begins := func(list []string) bool {
		for _, w := range list {
			if strings.HasPrefix(words, " "+w+" ") {
				return true
			}
		}
		return false
	}
	contains := func(list []string) bool {
		for _, w := range list {
			if strings.Contains(words, " "+w+" ") {
				return true
			}
		}
		return false
	}
	rank, isTotal := classifyTotal(folded)
	switch {
	case begins(otherLines) && !isTotal, begins([]string{"total savings", "total items", "total discount", "total qty", "you saved"}):
		return kindOther, 0
	case begins(subtotals) || contains([]string{"zwischensumme", "sous total", "subtotal", "sub total"}):
		return kindSubtotal, 0
	case isTotal && !contains(taxes):
		return kindTotal, rank
	case contains(taxes) && (l.rate != "" || begins(taxes) || begins([]string{"total", "incl", "inkl", "including", "davon", "dont", "of which", "plus", "zzgl", "suma"})), l.rate != "" && len(l.amounts) >= 3:
		return kindTax, 0
	case begins(tips), begins([]string{"service charge", "servicio", "bedienung"}):
		return kindTip, 0
	case contains(discounts):
		return kindDiscount, 0
	case begins(payments), contains([]string{"paid by", "ruckgeld", "change due"}):
		return kindPayment, 0
	}
	return kindItem, 0
}

// classifyTotal reports whether a folded line states the total. Lines such as "total to pay" have a
// higher rank than "total".
func classifyTotal(folded string) (rank int, ok bool) {
	words := " " + strings.Join(textnorm.FoldedWords(folded), " ") + " "
	for _, w := range subtotals {
		if strings.HasPrefix(words, " "+w+" ") {
			return 0, false
		}
	}
	for _, w := range bestTotals {
		if strings.HasPrefix(words, " "+w+" ") || strings.HasPrefix(words, " total "+w+" ") {
			return 2, true
		}
	}
	for _, w := range totals {
		if strings.HasPrefix(words, " "+w+" ") {
			return 1, true
		}
	}
	return 0, false
}
