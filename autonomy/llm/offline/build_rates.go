package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

var (
	// amountAtRate matches an amount and a price for one unit of it: "37.5 hours at 24.60 an hour".
	amountAtRate = lazyregexp.New(`^(\d[\d.,]*) ?(\pL+) (?:at|@|times|x|for|of) ([€$£]?) ?(\d[\d.,]*) ?(\pL*?|[€$£]) ?(?:an?|per|/|each|every) ?(\pL+)$`)
	// rateForAmount matches the price before the amount: "45 an hour times 32.5 hours".
	rateForAmount = lazyregexp.New(`^([€$£]?) ?(\d[\d.,]*) ?(\pL*?|[€$£]) ?(?:an?|per|/) ?(\pL+) (?:times|x|\*|for) (\d[\d.,]*) ?(\pL+)$`)
)

// tellRate answers "what is 37.5 hours at 24.60 an hour?" and "how much is 212 km at 43 cent a km?".
func tellRate(w *intentDraft) (plan, bool) {
	text := strings.ToLower(strings.Trim(w.slotString("rate"), " ?.!="))
	var count, unitOf, sign, price, currency, per string
	if m := amountAtRate.FindStringSubmatch(text); m != nil {
		count, unitOf, sign, price, currency, per = m[1], m[2], m[3], m[4], m[5], m[6]
	} else if m := rateForAmount.FindStringSubmatch(text); m != nil {
		sign, price, currency, per, count, unitOf = m[1], m[2], m[3], m[4], m[5], m[6]
	}
	n, ok := parseFigure(count)
	rate, priced := parseFigure(price)
	if !ok || !priced || !w.noLead() {
		return noPlan()
	}
	code := sign
	if code == "" {
		code = currency
	}
	_, named := w.g.lex.meaningOf("currencies", code)
	switch {
	case w.g.lex.containsWord("cents", code):
		rate, named = rate/100, true
	case code == "" || strings.ContainsAny(code, "€$£"):
		named = true
	}
	factor := 1.0
	a, okA := w.g.findUnit(unitOf)
	b, okB := w.g.findUnit(per)
	switch {
	case !named:
		return noPlan()
	case okA && okB && a.dimension == b.dimension && a.offset == 0 && b.offset == 0:
		factor = a.factor / b.factor
	case strings.TrimSuffix(unitOf, "s") != strings.TrimSuffix(per, "s"):
		return noPlan()
	}
	said := formatFigure(n, 6)
	if factor != 1 {
		said = "(" + said + " " + a.name + " = " + formatFigure(n*factor, 4) + " " + b.name + ") " + formatFigure(n*factor, 4)
	}
	return planReply(said + " × " + formatFigure(rate, 6) + " = " + formatFigure(n*factor*rate, 2))
}
