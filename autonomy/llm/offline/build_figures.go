package offline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func figureBuilders() map[string]builder {
	return map[string]builder{
		"figure.sum":   tellSum,
		"figure.units": tellUnits,
		"figure.until": tellUntil,
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
	p := sumParser{words: splitSum(strings.TrimPrefix(strings.ToLower(w.slotString("sum")), "the "))}
	if c.from == 0 && len(p.words) == 3 && strings.Contains("/-", p.words[1]) {
		return noPlan() // "12/11" and "2020-2025" may be dates
	}
	v, ok := p.parseSum()
	if !ok || p.at != len(p.words) || p.operators == 0 {
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
	return planReply(strings.Join(p.words, " ") + " = " + formatFigure(v, 6))
}

// splitSum splits a sum into numbers, operators and words.
func splitSum(text string) []string {
	text = strings.NewReplacer("divided by", "/", "multiplied by", "*", "times", "*", "plus", "+", "minus", "-", "over", "/",
		"to the power of", "^", "square root of", "root", "percent", "%", "per cent", "%", "×", "*", "·", "*", "÷", "/", "−", "-", "**", "^").Replace(strings.TrimRight(text, "?!.= "))
	var out []string
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && (isDigit(text[j]) || j > i && strings.ContainsRune(".,", rune(text[j]))) {
			j++
		}
		switch {
		case j > i:
		case strings.ContainsRune("+-*/^%()", rune(text[i])):
			j = i + 1
		case text[i] == ' ':
			i++
			continue
		default:
			for j < len(text) && !strings.ContainsRune(" +-*/^%()", rune(text[j])) {
				j++
			}
		}
		if w := text[i:j]; w == "x" {
			out = append(out, "*")
		} else {
			out = append(out, w)
		}
		i = j
	}
	return out
}

// sumParser evaluates a sum: terms of factors of powers.
type sumParser struct {
	words     []string
	at        int
	operators int
	depth     int
}

func (p *sumParser) takeToken(words ...string) string {
	if p.at < len(p.words) {
		for _, w := range words {
			if p.words[p.at] == w {
				p.at++
				return w
			}
		}
	}
	return ""
}

func (p *sumParser) parseSum() (float64, bool) {
	v, ok := p.parseTerm()
	for ok {
		op := p.takeToken("+", "-")
		if op == "" {
			return v, true
		}
		p.operators++
		start := p.at
		var r float64
		r, ok = p.parseTerm()
		if p.at == start+2 && p.words[p.at-1] == "%" {
			r *= v // "50 + 20%" adds 20% of 50
		}
		if op == "-" {
			r = -r
		}
		v += r
	}
	return 0, false
}

func (p *sumParser) parseTerm() (float64, bool) {
	v, ok := p.parsePower()
	for ok {
		op := p.takeToken("*", "/", "of", "off")
		if op == "" {
			return v, true
		}
		p.operators++
		var r float64
		before := p.words[p.at-2]
		if r, ok = p.parsePower(); !ok {
			break
		}
		switch op {
		case "/":
			v /= r
		case "off":
			ok = before == "%"
			v = r * (1 - v)
		case "of":
			ok = before == "%" || before == "half"
			v *= r
		default:
			v *= r
		}
	}
	return 0, false
}

func (p *sumParser) parsePower() (float64, bool) {
	v, ok := p.parseNumber()
	if !ok {
		return 0, false
	}
	if p.takeToken("%") != "" {
		v /= 100
	}
	if p.takeToken("squared") != "" {
		p.operators++
		return v * v, true
	}
	if p.takeToken("^") == "" {
		return v, true
	}
	p.operators++
	e, ok := p.parsePower()
	return math.Pow(v, e), ok
}

func (p *sumParser) parseNumber() (float64, bool) {
	if p.depth++; p.depth > 40 || p.at >= len(p.words) {
		return 0, false
	}
	defer func() { p.depth-- }()
	switch p.takeToken("(", "-", "root", "half") {
	case "(":
		v, ok := p.parseSum()
		return v, ok && p.takeToken(")") != ""
	case "-":
		v, ok := p.parseNumber()
		return -v, ok
	case "root":
		p.operators++
		p.takeToken("of")
		v, ok := p.parseNumber()
		return math.Sqrt(v), ok
	case "half":
		return 0.5, true
	}
	v, ok := parseFigure(p.words[p.at])
	p.at++
	return v, ok
}

// parseFigure parses a number in which "," groups thousands and "." is the decimal mark. A comma
// before one, two or more than three digits is a decimal mark.
func parseFigure(s string) (float64, bool) {
	groups := strings.Split(s, ",")
	for _, g := range groups[1:] {
		if whole, _, _ := strings.Cut(g, "."); len(whole) != 3 {
			if len(groups) != 2 || strings.Contains(s, ".") {
				return 0, false
			}
			v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
			return v, err == nil
		}
	}
	v, err := strconv.ParseFloat(strings.Join(groups, ""), 64)
	return v, err == nil && s != "" && isDigit(s[0])
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
	from := strings.ToLower(strings.TrimSpace(w.slotString("from")))
	end := 0
	for end < len(from) && (isDigit(from[end]) || end > 0 && strings.ContainsRune(".,", rune(from[end])) || end == 0 && from[0] == '-') {
		end++
	}
	figure, name := from[:end], strings.TrimSpace(from[end:])
	sign := 1.0
	if f, ok := strings.CutPrefix(figure, "-"); ok {
		figure, sign = f, -1
	}
	if figure == "" {
		figure, name, _ = strings.Cut(from, " ")
		if m, ok := w.g.lex.meaningOf("numbers", figure); ok {
			figure = m
		}
	}
	v, ok := parseFigure(figure)
	a, okA := w.g.findUnit(name)
	b, okB := w.g.findUnit(w.slotString("few_unit"))
	if !ok || !okA || !okB {
		return noPlan()
	}
	if a.dimension != b.dimension {
		return planReply("I cannot convert " + a.name + " to " + b.name + ".")
	}
	v *= sign
	result := ((v*a.factor + a.offset) - b.offset) / b.factor
	digits := 2
	if r := math.Abs(result); r > 0 && r < 1 {
		digits = 2 + int(math.Ceil(-math.Log10(r)))
	}
	return planReply(fmt.Sprintf("%s %s = %s %s", formatFigure(v, 6), a.name, formatFigure(result, min(digits, 12)), b.name))
}

// parseDay parses text that is one day and nothing else.
func (w *intentDraft) parseDay(slot string) (time.Time, bool) {
	text := strings.Trim(w.slotString(slot), " ?.!")
	for _, prefix := range []string{"", "on "} {
		m, err := dateparse.Parse(strings.TrimPrefix(text, prefix), w.s.now)
		if err == nil && m.Grain <= dateparse.Day {
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
	if n < 0 {
		return noPlan()
	}
	shown := to
	if lead == "since" {
		shown = from
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
