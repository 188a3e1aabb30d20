package evidence

import (
	_ "embed" // the units
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
)

// Year is the dimension of a year in the calendar.
const Year = "year"

// Quantity is a figure in a text: a number with its unit or with the noun that it counts.
type Quantity struct {
	Value float64 // in the base unit of Dimension
	High  float64 // upper end of a range; equal to Value for a single number
	// Dimension is "length", "USD", Year and so on, the folded noun that is counted ("bird"), or ""
	// for a bare number.
	Dimension string
	Counted   bool   // Dimension is a noun
	Text      string // as written, with the unit
	Start     int    // byte offset in the text
	End       int
	// Bound is 1 for "at least" and "more than", -1 for "at most" and "up to", and 0 otherwise.
	Bound  int
	Approx bool // "about", "nearly"
	digits int  // significant digits as written
}

type unitEntry struct {
	dimension string
	factor    float64
}

//go:embed units.txt
var unitsText string

var knownUnits = sync.OnceValue(func() map[string]unitEntry {
	m := map[string]unitEntry{}
	for line := range strings.Lines(unitsText) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "#" {
			continue
		}
		factor, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		for _, name := range f[2:] {
			m[strings.ReplaceAll(name, "-", " ")] = unitEntry{f[0], factor}
		}
	}
	return m
})

// magnitudes are the words that multiply the number before them.
var magnitudes = map[string]float64{
	"hundred": 100, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "billions": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9, "tn": 1e12,
	"tausend": 1e3, "millionen": 1e6, "mio": 1e6, "milliarde": 1e9, "milliarden": 1e9, "mrd": 1e9, "mille": 1e3, "milliard": 1e9, "milliards": 1e9,
	"millones": 1e6, "millón": 1e6, "milioni": 1e6, "miliardi": 1e9, "dozen": 12,
}

// spelled are numbers in words. A number in words counts only with a unit or a noun.
var spelled = map[string]float64{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13,
	"fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
	"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
}

var (
	number = lazyregexp.New(`(?:[$€£¥]|US\$)?\s?\d+(?:[ .,'’\x{a0}\x{202f}]\d{3}\b)*(?:[.,]\d+)?`)
	word   = lazyregexp.New(`[\pL\pM%°²³µ‰€$£¥/]+\d?`)
	spells = lazyregexp.New(`(?i)\b(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ])?(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred)\b`)
	ranges = lazyregexp.New(`^\s?(?:[-–—]|to|and|bis|à|a)\s?$`)
)

// Quantities returns the figures of a sentence in their order.
func Quantities(s string) (out []Quantity) {
	for _, m := range number.FindAllStringIndex(s, 64) {
		if q, ok := readQuantity(s, m[0], m[1]); ok {
			out = append(out, q)
		}
	}
	for _, m := range spells.FindAllStringIndex(s, 32) {
		if q, ok := readSpelled(s, m[0], m[1]); ok {
			out = append(out, q)
		}
	}
	return joinRanges(s, out)
}

// readQuantity reads the number at [from, to) with the words around it.
func readQuantity(s string, from, to int) (q Quantity, ok bool) {
	raw := strings.TrimSpace(s[from:to])
	from += strings.Index(s[from:to], raw)
	if r, _ := utf8.DecodeLastRuneInString(s[:from]); unicode.IsLetter(r) || strings.ContainsRune("_#:", r) {
		return q, false // a part of a name, such as A380, or of a time of day
	}
	if from > 1 && s[from-1] == '-' && unicode.IsLetter(rune(s[from-2])) { // COVID-19
		return q, false
	}
	sign := strings.TrimRight(raw, "0123456789., '’\u00a0\u202f")
	plain := strings.TrimSpace(raw[len(sign):])
	v, digits, ok := parseNumber(plain)
	if !ok {
		return q, false
	}
	if r, n := utf8.DecodeRuneInString(s[to:]); n > 0 && (r == ':' || unicode.IsLetter(r)) && !attachedUnit(s[to:]) {
		return q, false // a time of day, an ordinal or a part of a name
	}
	q = Quantity{Value: v, Start: from, End: to, digits: digits}
	q.readBound(s[:from])
	if sign != "" {
		q.Dimension = knownUnits()[strings.ToLower(strings.TrimSpace(sign))].dimension
	}
	q.readUnit(s, plain)
	q.Text = s[q.Start:q.End]
	q.High = q.Value
	return q, true
}

// attachedUnit reports whether the letters that directly follow a number are a unit.
func attachedUnit(rest string) bool {
	w := strings.ToLower(word.FindString(rest))
	if !strings.HasPrefix(strings.ToLower(rest), w) || w == "" {
		return false
	}
	_, unit := knownUnits()[w]
	_, factor := magnitudes[w]
	return unit || factor || w == "m" || w == "k"
}

// parseNumber reads a number with separators. "1.234" and "1,234" count as thousands; "1.23" and
// "1,5" as decimals.
func parseNumber(s string) (v float64, digits int, ok bool) {
	s = strings.Trim(s, ".,'’ \u00a0\u202f")
	for _, sep := range []string{" ", "'", "’", "\u00a0", "\u202f"} {
		s = strings.ReplaceAll(s, sep, "")
	}
	point, comma := strings.LastIndex(s, "."), strings.LastIndex(s, ",")
	switch {
	case point >= 0 && comma >= 0 && point > comma:
		s = strings.ReplaceAll(s, ",", "")
	case point >= 0 && comma >= 0:
		s = strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
	case strings.Count(s, ",") > 1 || comma >= 0 && len(s)-comma == 4 && s[0] != '0':
		s = strings.ReplaceAll(s, ",", "")
	case comma >= 0:
		s = strings.ReplaceAll(s, ",", ".")
	case strings.Count(s, ".") > 1 || point >= 0 && len(s)-point == 4 && s[0] != '0':
		s = strings.ReplaceAll(s, ".", "")
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, 0, false
	}
	plain := strings.Trim(strings.ReplaceAll(s, ".", ""), "0")
	if strings.Contains(s, ".") {
		plain = strings.TrimLeft(strings.ReplaceAll(s, ".", ""), "0")
	}
	return v, max(1, len(plain)), true
}

// readUnit reads the magnitude and the unit or noun after a number. plain is the number as written.
func (q *Quantity) readUnit(s, plain string) {
	next, end := wordAfter(s, q.End)
	lower := strings.ToLower(next)
	attached := end > 0 && end-len(next) == q.End
	if f, ok := magnitudes[lower]; ok || q.isCurrency() && attached && (lower == "m" || lower == "b" || lower == "k") {
		if !ok {
			f = map[string]float64{"m": 1e6, "b": 1e9, "k": 1e3}[lower]
		}
		q.Value, q.End = q.Value*f, end
		next, end = wordAfter(s, q.End)
		lower = strings.ToLower(next)
	}
	if q.isCurrency() {
		return
	}
	if lower == "square" || lower == "sq" || lower == "per" || lower == "nautical" || lower == "degrees" || lower == "degree" || lower == "metric" || lower == "percentage" {
		second, after := wordAfter(s, end)
		joined := map[string]string{
			"square kilometres": "km²", "square kilometers": "km²", "sq km": "km²", "square km": "km²", "square metres": "m²", "square meters": "m²", "square miles": "mi²", "sq mi": "mi²",
			"per cent": "%", "nautical miles": "nmi", "degrees celsius": "°c", "degrees fahrenheit": "°f", "degrees c": "°c", "degrees f": "°f", "metric tons": "t", "percentage points": "%",
		}[lower+" "+strings.ToLower(second)]
		if joined != "" {
			lower, end = joined, after
		}
	}
	u, ok := knownUnits()[lower]
	switch {
	case ok && lower == "m" && !attached && strings.HasPrefix(next, "M"): // initials
	case ok && end > 0:
		q.Value, q.Dimension, q.End = q.Value*u.factor, u.dimension, end
		return
	case q.isYear(s, plain, next):
		q.Dimension = Year
		return
	}
	if noun := countedNoun(s, q.End); noun != "" {
		q.Dimension, q.Counted = noun, true
	}
}

func (q *Quantity) isCurrency() bool {
	return len(q.Dimension) == 3 && q.Dimension == strings.ToUpper(q.Dimension)
}

// yearBefore are words after which a number of four digits is a year.
const yearBefore = " in since of from by until till before after around year between during and to im seit von bis jahr jahre en depuis desde nel dal january february march april may june july august september october november december januar februar märz mai juni juli oktober dezember spring summer autumn fall winter early late mid c. ca "

// isYear reports whether a number is a year of the calendar. next is the word after the number.
func (q *Quantity) isYear(s, plain, next string) bool {
	if len(plain) != 4 || strings.Trim(plain, "0123456789") != "" || q.Value < 1000 || q.Value > 2199 {
		return false
	}
	before := strings.Fields(s[:q.Start])
	last := ""
	if len(before) > 0 {
		last = strings.ToLower(strings.Trim(before[len(before)-1], "(,;"))
	}
	follows := strings.TrimLeft(s[q.End:], " ")
	return strings.Contains(yearBefore, " "+last+" ") && last != "" || strings.HasSuffix(s[:q.Start], "(") || strings.HasSuffix(strings.TrimSpace(s[:q.Start]), ",") ||
		follows == "" || strings.ContainsAny(follows[:1], ".,;:)–-") || isFinite(next)
}

// isFinite reports whether a word is an auxiliary verb, which cannot be counted.
func isFinite(w string) bool {
	return w == "" || strings.Contains(" is was were are has had will would and or the by with when that ", " "+strings.ToLower(w)+" ")
}

func isMonth(w string) bool {
	return strings.Contains(" january february march april may june july august september october november december januar februar märz mai juni juli oktober dezember ", " "+strings.ToLower(w)+" ")
}

func wordAfter(s string, at int) (w string, end int) {
	rest := s[at:]
	trimmed := strings.TrimLeft(rest, " \u00a0\u202f-")
	if len(rest)-len(trimmed) > 3 {
		return "", 0
	}
	m := word.FindStringIndex(trimmed)
	if m == nil || m[0] != 0 {
		return "", 0
	}
	start := at + len(rest) - len(trimmed)
	return trimmed[:m[1]], start + m[1]
}

// countedNoun returns the folded noun that the number before at counts: "birds" in "300,000 birds a
// day" and in "two large birds", or "".
func countedNoun(s string, at int) string {
	noun := ""
	for range 3 {
		w, end := wordAfter(s, at)
		if w == "" || isFinite(w) || isMonth(w) || strings.Contains(" of in on at to for from per more less other times a an as than ", " "+strings.ToLower(w)+" ") {
			break
		}
		at, noun = end, w
		if strings.HasSuffix(strings.ToLower(w), "s") {
			break
		}
	}
	return strings.TrimSuffix(strings.ToLower(noun), "s")
}

// readSpelled reads a number in words.
func readSpelled(s string, from, to int) (q Quantity, ok bool) {
	for part := range strings.FieldsFuncSeq(strings.ToLower(s[from:to]), func(r rune) bool { return r == '-' || r == ' ' }) {
		if part == "one" {
			q.Value++
			continue
		}
		q.Value += spelled[part]
	}
	if q.Value < 2 {
		return q, false
	}
	q.Start, q.End, q.digits = from, to, 2
	q.readBound(s[:from])
	q.readUnit(s, "")
	q.Text, q.High = s[q.Start:q.End], q.Value
	return q, q.Dimension != ""
}

var (
	atLeast = lazyregexp.New(`(?i)(more than|over|at least|above|exceed\w*|upwards of|mehr als|über|mindestens|plus de)\s*$`)
	atMost  = lazyregexp.New(`(?i)(less than|fewer than|under|at most|up to|below|no more than|weniger als|unter|höchstens|bis zu|moins de)\s*$`)
	roughly = lazyregexp.New(`(?i)(about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.?|c\.|~|rund|etwa|fast|knapp|environ|presque)\s*$`)
)

func (q *Quantity) readBound(before string) {
	before = before[max(0, len(before)-30):]
	switch {
	case atLeast.MatchString(before):
		q.Bound = 1
	case atMost.MatchString(before):
		q.Bound = -1
	case roughly.MatchString(before):
		q.Approx = true
	}
}

// joinRanges joins "5 to 7 km" and "between 5 and 7 km" to one quantity, and gives the first number
// the unit of the second.
func joinRanges(s string, list []Quantity) (out []Quantity) {
	for _, q := range list {
		if n := len(out); n > 0 {
			p := &out[n-1]
			if p.End <= q.Start && ranges.MatchString(s[p.End:q.Start]) && p.Value < q.Value && (p.Dimension == "" || p.Dimension == q.Dimension) && p.Dimension != Year && p.High == p.Value {
				scale := 1.0
				if p.Dimension == "" && q.Dimension != "" && !q.Counted {
					if v, _, ok := parseNumber(strings.Trim(number.FindString(q.Text), "$€£¥ ")); ok && v != 0 {
						scale = q.Value / v
					}
				}
				low, high := p.Value*scale, q.Value
				if low <= high && (strings.HasSuffix(strings.ToLower(strings.TrimSpace(s[:p.Start])), "between") || !strings.Contains(s[p.End:q.Start], "and")) {
					p.Value, p.High, p.Dimension, p.Counted, p.End = low, high, q.Dimension, q.Counted, q.End
					p.Text = s[p.Start:p.End]
					continue
				}
			}
		}
		out = append(out, q)
	}
	return out
}

// Equal reports whether two quantities of the same dimension agree: exactly for years, otherwise
// within the precision with which they are written.
func (q Quantity) Equal(o Quantity) bool {
	if q.Dimension == Year {
		return q.Value == o.Value
	}
	if q.High > q.Value || o.High > o.Value {
		return q.Value <= o.High*1.001 && o.Value <= q.High*1.001
	}
	a, b := q.Value, o.Value
	switch {
	case q.Bound == 1 && o.Bound == 0 && b >= a, o.Bound == 1 && q.Bound == 0 && a >= b:
		return min(a, b) >= 0.5*max(a, b) || q.Bound == 1
	case q.Bound == -1 && o.Bound == 0 && b <= a, o.Bound == -1 && q.Bound == 0 && a <= b:
		return min(a, b) >= 0.5*max(a, b) || q.Bound == -1
	}
	off := math.Abs(a-b) / max(math.Abs(a), math.Abs(b), 1e-12)
	loose := math.Pow(10, -float64(min(q.digits, o.digits))) * 0.6
	if q.Approx || o.Approx {
		loose = max(loose, 0.06)
	}
	if q.Counted && a < 20 && b < 20 && !q.Approx && !o.Approx {
		return a == b
	}
	return off <= min(max(loose, 0.006), 0.06)
}
