package offline

import (
	"fmt"
	"math"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// bankHoliday is a day off in England and Wales.
type bankHoliday struct {
	day  time.Time
	name string
}

// bankHolidays lists the bank holidays of England and Wales in a year, in order. The rules are those of
// https://www.gov.uk/bank-holidays; a holiday that a proclamation adds for one year is not in them.
func bankHolidays(year int, now time.Time) []bankHoliday {
	date := func(month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	}
	monday := func(from time.Time) time.Time { return from.AddDate(0, 0, (8-int(from.Weekday()))%7) }
	substitute := func(day time.Time, sunday int) time.Time { // of a holiday at the weekend
		switch day.Weekday() {
		case time.Saturday:
			return day.AddDate(0, 0, 2)
		case time.Sunday:
			return day.AddDate(0, 0, sunday)
		}
		return day
	}
	out := []bankHoliday{
		{substitute(date(time.January, 1), 1), "New Year's Day"},
		{monday(date(time.May, 1)), "the early May bank holiday"},
		{monday(date(time.May, 25)), "the spring bank holiday"},
		{monday(date(time.August, 25)), "the summer bank holiday"},
		{substitute(date(time.December, 25), 2), "Christmas Day"},
		{substitute(date(time.December, 26), 2), "Boxing Day"},
	}
	if easter, err := dateparse.Parse(fmt.Sprintf("easter %d", year), now); err == nil {
		out = append(out, bankHoliday{easter.Time.AddDate(0, 0, -2), "Good Friday"}, bankHoliday{easter.Time.AddDate(0, 0, 1), "Easter Monday"})
	}
	sorting.ByFunc(out, func(a, b bankHoliday) int { return a.day.Compare(b.day) })
	return out
}

// tellHoliday answers "when is the next bank holiday?" and "is 25 December a bank holiday?".
func tellHoliday(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	where, other := "in England and Wales", "" // as in most of the UK
	if zone := w.s.now.Location().String(); zone != "Europe/London" && zone != "Europe/Belfast" && zone != "GB" {
		other = " I do not know those of other countries."
	}
	today := startOfDay(w.s.now)
	if w.hasSlot("day") {
		day, ok := w.parseDay("day")
		if !ok {
			return noPlan()
		}
		for _, h := range bankHolidays(day.Year(), w.s.now) {
			if sameDay(h.day, day) {
				return planReply("Yes, " + where + ": " + dayInWords(day) + " is the holiday for " + h.name + "." + other)
			}
		}
		return planReply("No, " + dayInWords(day) + " is not a bank holiday " + where + "." + other)
	}
	for _, h := range append(bankHolidays(today.Year(), w.s.now), bankHolidays(today.Year()+1, w.s.now)...) {
		if h.day.Before(today) {
			continue
		}
		when := "today"
		if n := daysBetween(today, h.day); n > 0 {
			when = fmt.Sprintf("in %d days", n)
		}
		return planReply("The next bank holiday " + where + " is " + dayInWords(h.day) + " (" + h.name + "), " + when + "." + other)
	}
	return noPlan()
}

// countWorkdays counts the days from Monday to Friday after from, up to and including to.
func countWorkdays(from, to time.Time) (n int) {
	for day := from.AddDate(0, 0, 1); !day.After(to); day = day.AddDate(0, 0, 1) {
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			n++
		}
	}
	return n
}

// tellWorkdays answers "how many working days until 18 December?" and "how many working days are left this year?".
func (w *intentDraft) tellWorkdays(from, to time.Time) (plan, bool) {
	n := countWorkdays(startOfDay(from), to)
	count := fmt.Sprintf("%d working days", n)
	if n == 1 {
		count = "1 working day"
	}
	return planReply(fmt.Sprintf("%s from %s to %s, counted from Monday to Friday. Holidays are not subtracted.", count, dayInWords(from.AddDate(0, 0, 1)), dayInWords(to)))
}

// tellRest answers "how many days are left this year?".
func tellRest(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	today := startOfDay(w.s.now)
	var last time.Time
	switch w.slotNorm("few_span") {
	case "year":
		last = time.Date(today.Year(), time.December, 31, 0, 0, 0, 0, today.Location())
	case "month":
		last = time.Date(today.Year(), today.Month()+1, 0, 0, 0, 0, 0, today.Location())
	default:
		last = today.AddDate(0, 0, (7-int(today.Weekday()))%7)
	}
	n := daysBetween(today, last)
	switch step := w.slotNorm("few_step"); {
	case strings.Contains(step, "work") || strings.HasPrefix(step, "business") || step == "weekdays":
		return w.tellWorkdays(today, last)
	case step == "weeks":
		return planReply(fmt.Sprintf("%d weeks and %d days after today until %s.", n/7, n%7, dayInWords(last)))
	}
	return planReply(fmt.Sprintf("%d days after today until %s.", n, dayInWords(last)))
}

// tellCheck answers "does 7 times 68 equal 476?".
func tellCheck(w *intentDraft) (plan, bool) {
	text, sum := w.g.sumOf(w.slotString("sum"))
	v, ok := sum.evaluateSum()
	slot := "result"
	if w.hasSlot("number_result") {
		slot = "number_result"
	}
	claimed, known := w.figureIn(slot)
	if !ok || !known || !w.noLead() || math.IsNaN(v) || math.Abs(v) >= maxExact {
		return noPlan()
	}
	answer := "Yes: "
	if math.Abs(v-claimed) > 1e-9 {
		answer = "No: "
	}
	return planReply(answer + text + " = " + formatFigure(v, 6) + ".")
}

// tellRounded answers "round 17.386 to 2 decimal places".
func tellRounded(w *intentDraft) (plan, bool) {
	v, ok := w.figureIn("figure")
	digits, _ := w.numberOf("number")
	step := 1.0
	if near, found := w.g.lex.meaningOf("round-steps", w.slotNorm("near")); found {
		step, _ = parseFigure(near)
	}
	if !ok || !w.noLead() || digits < 0 || digits > 10 {
		return noPlan()
	}
	if w.hasSlot("number") {
		return planReply(fmt.Sprintf("%s rounded is %.*f.", formatFigure(v, 12), int(digits), math.Round(v*math.Pow(10, digits))/math.Pow(10, digits)))
	}
	return planReply(formatFigure(v, 12) + " rounded is " + formatFigure(math.Round(v/step)*step, 6) + ".")
}

// taxForm matches a tax or a tip on a sum: "plus vat at 20%", "plus 12.5% tip", "and 20 percent vat".
var taxForm = lazyregexp.New(`(?:plus|\+|with|and|add) (?:a )?(?:(?:vat|tax|gst|tip|service(?: charge)?)(?: at| of)? ([\d.]+) ?(?:%|percent|per cent)|([\d.]+) ?(?:%|percent|per cent) (?:for )?(?:vat|tax|gst|tip|service(?: charge)?))`)

// moneyForm matches a currency in a sum.
var moneyForm = lazyregexp.New(`[€$£]|\b(?:euros?|dollars?|pounds?|quid)\b`)

// sumOf returns a sum as text for the answer, and its parser. A currency is left out if the sum has only one.
func (g *grammar) sumOf(said string) (text string, sum sumParser) {
	text = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(said)), "the ")
	plain := strings.ReplaceAll(taxForm.ReplaceAllString(text, "plus $1$2%"), " lots of ", " times ")
	marks := map[string]bool{}
	for _, m := range moneyForm.FindAllString(plain, -1) {
		marks[strings.TrimSuffix(m, "s")] = true
	}
	if len(marks) == 1 {
		plain = strings.Join(strings.Fields(moneyForm.ReplaceAllString(plain, " ")), " ")
	}
	return text, sumParser{words: g.dropUnit(splitSum(g.spellFigures(plain)))}
}
