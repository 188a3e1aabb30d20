package offline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

func figureBuilders() map[string]builder {
	return map[string]builder{
		"figure.sum":      tellSum,
		"figure.units":    tellUnits,
		"figure.until":    tellUntil,
		"follow.until":    followUntil,
		"figure.percent":  tellPercent,
		"figure.span":     tellSpan,
		"figure.age":      tellAge,
		"figure.tip":      tellTip,
		"figure.split":    tellShare,
		"figure.several":  tellSeveral,
		"figure.check":    tellCheck,
		"figure.round":    tellRounded,
		"figure.holiday":  tellHoliday,
		"figure.rest":     tellRest,
		"figure.each":     tellEach,
		"figure.rate":     tellRate,
		"figure.week":     tellWeek,
		"figure.leap":     tellLeap,
		"figure.clocks":   tellClockChange,
		"figure.length":   tellLength,
		"figure.ago":      tellAgo,
		"figure.away":     tellAway,
		"figure.clock":    tellClock,
		"figure.zone":     tellZone,
		"follow.zone":     followZone,
		"figure.currency": convertCurrency,
	}
}

// formatFigure writes a number with at most digits decimals and without trailing zeros.
func formatFigure(v float64, digits int) string {
	scale := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}

// maxExact is the limit below which float64 holds every integer.
const maxExact = 1 << 53

func tellSum(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	c, _ := w.captureOf("sum")
	if p, ok := w.g.askShare(w.slotString("sum")); ok {
		return p, true
	}
	text, p := w.g.sumOf(w.slotString("sum"))
	if c.from == 0 && len(p.words) == 3 && strings.Contains("/-", p.words[1]) {
		return noPlan() // "12/11" and "2020-2025" may be dates
	}
	v, ok := p.evaluateSum()
	if !ok && (c.from > 0 || strings.Contains(text, "%")) {
		p = sumParser{words: w.g.dropLabels(p.words)}
		v, ok = p.evaluateSum()
	}
	if !ok {
		return noPlan()
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return planReply("That has no result: it divides by zero or takes the root of a negative number.")
	case math.Abs(v) >= maxExact:
		return planReply("That number is too large for me to calculate exactly.")
	case v != 0 && math.Abs(v) < 1e-6:
		return planReply("The result is smaller than 0.000001.")
	}
	shown := strings.Join(p.words, " ")
	if strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
		shown = upperFirst(strings.TrimRight(text, "?!.= "))
	}
	return planReply(shown + " = " + formatFigure(v, 6))
}

// figureIn parses a slot that holds one number, with or without a currency and "%".
func (w *intentDraft) figureIn(slot string) (float64, bool) {
	text := strings.ToLower(strings.TrimRight(strings.TrimSpace(w.slotString(slot)), "?!. "))
	for _, tail := range []string{"%", " percent", " per cent", "€", "$", "£", " euros", " euro", " dollars", " pounds"} {
		text = strings.TrimSuffix(text, tail)
	}
	text = strings.TrimLeft(strings.TrimPrefix(text, "a "), "€$£")
	if m, ok := w.g.lex.meaningOf("numbers", text); ok {
		text = m
	}
	if _, sum := w.g.sumOf(text); !parsesAsFigure(text) { // "96 plus 12.5% tip"
		return sum.evaluateSum()
	}
	return parseFigure(text)
}

func tellPercent(w *intentDraft) (plan, bool) {
	part, ok := w.figureIn("part")
	whole, known := w.figureIn("whole")
	if !ok || !known || whole == 0 || !w.noLead() {
		return noPlan()
	}
	return planReply(formatFigure(part, 6) + " is " + formatFigure(100*part/whole, 2) + "% of " + formatFigure(whole, 6) + ".")
}

func tellTip(w *intentDraft) (plan, bool) {
	rate, ok := w.figureIn("rate")
	bill, known := w.figureIn("bill")
	if !ok || !known || !w.noLead() {
		return noPlan()
	}
	tip := math.Round(bill*rate) / 100
	return planReply(fmt.Sprintf("A tip of %s%% on %s is %.2f, so the total is %.2f.", formatFigure(rate, 2), formatFigure(bill, 2), tip, bill+tip))
}

func tellShare(w *intentDraft) (plan, bool) {
	bill, ok := w.figureIn("bill")
	n, known := w.numberOf("number")
	if !ok || !known || n < 1 || !w.noLead() {
		return noPlan()
	}
	return planReply(formatFigure(bill, 2) + " divided by " + formatFigure(n, 0) + " is " + formatFigure(bill/n, 2) + " each.")
}

// tellEach answers "7 tickets at 12 pounds each" and "if 7 of us split 213.50, what do we each pay?".
func tellEach(w *intentDraft) (plan, bool) {
	n, ok := w.numberOf("number")
	if !ok || n < 1 || !w.noLead() {
		return noPlan()
	}
	c, priced := w.captureOf("amount")
	if !priced {
		return tellShare(w)
	}
	if w.g.classOf(w.s) != aQuestion && !w.isQuestion() { // "2 coffees at 3.60 each" may be an expense
		return noPlan()
	}
	total := strings.TrimSpace(formatFigure(n*c.value, 2) + " " + c.currency)
	return planReply(formatFigure(n, 2) + " × " + formatFigure(c.value, 2) + " = " + total + " in total.")
}

func tellSeveral(w *intentDraft) (plan, bool) {
	text := strings.NewReplacer(" and ", " ", ", ", " ", ";", " ").Replace(strings.ToLower(w.slotString("list")) + " ")
	var list []float64
	for _, f := range strings.Fields(w.g.spellFigures(text)) {
		v, ok := parseFigure(f)
		if !ok {
			return noPlan()
		}
		list = append(list, v)
	}
	if len(list) < 2 || !w.noLead() {
		return noPlan()
	}
	what := w.slotNorm("what")
	sorted := slices.Sorted(slices.Values(list))
	sum, product := 0.0, 1.0
	for _, v := range list {
		sum, product = sum+v, product*v
	}
	v := sum
	switch what {
	case "average", "mean":
		v = sum / float64(len(list))
	case "median":
		v = (sorted[(len(list)-1)/2] + sorted[len(list)/2]) / 2
	case "maximum", "largest", "biggest":
		v = sorted[len(list)-1]
	case "minimum", "smallest":
		v = sorted[0]
	case "product":
		v = product
	}
	return planReply("The " + what + " is " + formatFigure(v, 6) + ".")
}

// unit is a unit of measure in terms of the base unit of its dimension.
type unit struct {
	name, dimension string
	factor, offset  float64
}

// findUnit looks a unit up in the list "measures", whose entries are "name dimension factor
// [offset]".
func (g *grammar) findUnit(words string) (unit, bool) {
	m, ok := g.lex.meaningOf("measures", strings.TrimPrefix(strings.ToLower(strings.Trim(words, " ?.!")), "degrees "))
	f := strings.Fields(m)
	if !ok || len(f) < 3 {
		return unit{}, false
	}
	u := unit{name: strings.ReplaceAll(f[0], "_", " "), dimension: f[1]}
	var err error
	if u.factor, err = strconv.ParseFloat(f[2], 64); err != nil {
		return unit{}, false
	}
	if len(f) > 3 {
		u.offset, err = strconv.ParseFloat(f[3], 64)
	}
	return u, err == nil
}

func tellUnits(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	v, a, name, ok := w.g.parseMeasure(w.slotString("from"))
	okA := a.name != ""
	b, okB := w.g.findUnit(w.slotString("few_unit"))
	if ok && !okA { // "5 feet 11 inches"
		v, a, okA = w.g.addSmallerUnit(v, name)
	}
	if !ok || !okA || !okB {
		return noPlan()
	}
	if km, ok := w.g.findUnit("km"); ok && strings.EqualFold(name, "k") && b.dimension == km.dimension { // "5k in miles"
		a = km
	}
	if a.dimension != b.dimension {
		return planReply("I cannot convert " + a.name + " to " + b.name + ".")
	}
	result := ((v*a.factor + a.offset) - b.offset) / b.factor
	digits := 2
	if r := math.Abs(result); r > 0 && r < 1 {
		digits = 2 + int(math.Ceil(-math.Log10(r)))
	}
	return planReply(fmt.Sprintf("%s %s = %s %s", formatFigure(v, 6), a.name, formatFigure(result, min(digits, 12)), b.name))
}

// parseMeasure parses a measure such as "5 miles", "half a gallon" or "12 ounces of flour". The unit has no name if it is
// unknown, name is its text. ok is false if the text does not begin with a figure.
func (g *grammar) parseMeasure(text string) (v float64, u unit, name string, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	sign := 1.0
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		text, sign = rest, -1
	}
	if m := fractionForm.FindStringSubmatch(text); m != nil { // "half a gallon", "three quarters of a pint", "1 1/2 cups"
		whole, _ := parseFigure(m[1])
		part, known := g.lex.meaningOf("measure-parts", strings.Join(strings.Fields(m[2]), " "))
		if f, digits := parseShare(cmp.Or(part, m[2])); known || digits {
			v, ok, name = whole+f, true, strings.TrimSpace(text[len(m[0]):])
		}
	}
	if !ok {
		end := 0
		for end < len(text) && (isDigit(text[end]) || end > 0 && strings.ContainsRune(".,", rune(text[end]))) {
			end++
		}
		figure := text[:end]
		if name = strings.TrimSpace(text[end:]); figure == "" {
			figure, name, _ = strings.Cut(text, " ")
			if m, number := g.lex.meaningOf("numbers", figure); number {
				figure = m
			}
			if half, tail := strings.CutPrefix(name, "and a half "); tail {
				figure, name = figure+".5", half
			}
		}
		v, ok = parseFigure(figure)
	}
	if u, _ = g.findUnit(name); u.name == "" {
		if head, _, of := strings.Cut(name, " of "); of {
			u, _ = g.findUnit(head)
		}
	}
	return sign * v, u, name, ok
}

// fractionForm matches a fraction before a unit, with a whole number before it.
var fractionForm = lazyregexp.New(`^(?:(\d+) (?:and )?)?(\d+/\d+|½|¼|¾|a half|half|a quarter|a third|(?:three|two|one)[ -](?:quarters?|thirds?)) ?(?:of )?(?:an? )?`)

// parseShare parses a fraction such as "3/4".
func parseShare(s string) (float64, bool) {
	over, under, ok := strings.Cut(s, "/")
	a, okA := parseFigure(over)
	b, okB := parseFigure(under)
	return a / b, ok && okA && okB && b != 0
}

// addSmallerUnit parses the rest of a measure in two units, as in "feet 11 inches" or "feet 11".
func (g *grammar) addSmallerUnit(v float64, rest string) (float64, unit, bool) {
	f := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(rest, " and ", " "), "'", "feet "))
	if len(f) < 2 || len(f) > 3 {
		return 0, unit{}, false
	}
	a, ok := g.findUnit(f[0])
	more, figure := parseFigure(strings.TrimRight(f[1], `"`))
	smaller := map[string]string{"feet": "inches", "stone": "lb", "lb": "oz", "pounds": "ounces", "hours": "minutes"}[a.name]
	if len(f) == 3 {
		smaller = f[2]
	}
	b, known := g.findUnit(smaller)
	if !ok || !figure || !known || a.dimension != b.dimension || b.factor >= a.factor || a.offset != 0 {
		return 0, unit{}, false
	}
	return v + more*b.factor/a.factor, a, true
}

// parseDay parses a slot that contains exactly one day.
func (w *intentDraft) parseDay(slot string) (time.Time, bool) {
	text := strings.Trim(w.slotString(slot), " ?.!")
	for _, prefix := range []string{"", "on "} {
		m, err := dateparse.Parse(strings.TrimPrefix(text, prefix), w.s.now)
		if err == nil && m.Grain <= dateparse.Day && !m.HasClock {
			return m.Time, true
		}
	}
	return time.Time{}, false
}

func daysBetween(a, b time.Time) int {
	y, m, d := a.Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	y, m, d = b.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Sub(start) / (24 * time.Hour))
}

// followUntil handles "and til easter?" after a number of days.
func followUntil(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	m := daysInReply.FindStringSubmatch(x.reply)
	if m == nil || !w.noLead() {
		return noPlan()
	}
	unit := "days"
	if m[1] != "" {
		unit = "weeks"
	}
	p := w.g.inDialogue(nil).planRequests("how many "+unit+" until "+w.slotString("day"), w.s.now, w.depth)
	return p, p.outcome == chat
}

func tellUntil(w *intentDraft) (plan, bool) {
	day, ok := w.parseDay("day")
	if !ok || !w.noLead() {
		return noPlan()
	}
	from, to, lead := w.s.now, day, "until"
	switch {
	case w.hasSlot("other"):
		from = day
		if to, ok = w.parseDay("other"); !ok {
			return noPlan()
		}
		lead = "from " + day.Format("2 January 2006") + " to"
	case w.hasKeyword("since"):
		for range 2 {
			if day.After(w.s.now) {
				day = day.AddDate(-1, 0, 0)
			}
		}
		from, to, lead = day, w.s.now, "since"
	}
	n := daysBetween(from, to)
	if n < 0 && w.hasSlot("other") && !strings.Contains(w.slotString("other"), strconv.Itoa(to.Year())) {
		to = to.AddDate(1, 0, 0) // "from March 3rd to June 12", said in May
		n = daysBetween(from, to)
	}
	if n < 0 {
		return noPlan()
	}
	shown := to
	if lead == "since" {
		shown = from
	}
	if step := w.slotNorm("few_step"); strings.Contains(step, "work") || strings.HasPrefix(step, "business") || step == "weekdays" {
		return w.tellWorkdays(from, to)
	}
	count := fmt.Sprintf("%d days", n)
	if n == 1 {
		count = "1 day"
	}
	switch w.slotNorm("few_step") {
	case "weeks":
		count = fmt.Sprintf("%d weeks and %d days", n/7, n%7)
	case "months":
		return noPlan() // months have different lengths
	}
	return planReply(count + " " + lead + " " + dayInWords(shown) + ".")
}
