package triples

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Corrects reports whether n states that the older statement o about the same subject is wrong or
// no longer true.
func Corrects(n, o Triple, now time.Time) bool {
	switch {
	case n.More, n.Past, o.Past, o.Attr == "":
		return false
	case n.Attr == Any:
		return slices.Contains([]string{When, Where, Is, "starts_at", "opens_at", "closes_at", "ends_at", "leaves_at", "arrives_at", "due_on", "costs"}, o.Attr)
	case n.Old != "" && !o.Ended && SameValue(n.Old, o.Value) && (n.Attr == o.Attr || n.Attr == "switched" || n.Attr == "replaced" || n.Attr == "" || n.Attr == Is):
		return true
	case n.Ended:
		gone := n.Attr == o.Attr || n.Attr == "owns" && o.Attr == "drives" || n.Attr == "dating" && o.Attr == "married_to"
		return gone && !o.Ended && (n.Value == "" || SameValue(n.Value, o.Value))
	case n.Attr != o.Attr:
		return n.Attr == "lives_in" && o.Attr == "lives_at" && n.Now
	case o.Ended:
		return SameValue(n.Value, o.Value)
	case n.Attr == "prefers":
		return !SameValue(n.Value, o.Value) && isSameTopic(n.Value, o.Value)
	case Refines(n.Value, o.Value), Refines(o.Value, n.Value):
		return false
	case n.One:
		return true
	}
	return isReplacement(n, o, now)
}

// isReplacement reports whether n replaces o. If the attribute can have several values, n must say
// explicitly that it replaces a value.
func isReplacement(n, o Triple, now time.Time) bool {
	if !n.Sure && !n.Now || !slices.Contains([]string{When, Where, Is, Called}, n.Attr) {
		return false
	}
	class := ClassOf(n.Value, now)
	return class == ClassOf(o.Value, now) && (n.Sure || class != Other)
}

// SameValue reports whether a and b are the same value: the same words, the same day, or the same
// measure in different units.
func SameValue(a, b string) bool {
	x, y := plainWords(a), plainWords(b)
	if len(x) == 0 || len(y) == 0 {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	if slices.Equal(x, y) {
		return true
	}
	if m, ok := parseMeasure(a); ok {
		if k, ok := parseMeasure(b); ok && m.kind == k.kind {
			return math.Abs(m.n-k.n) <= 0.01*math.Max(m.n, k.n)
		}
	}
	slices.Sort(x)
	slices.Sort(y)
	return hasDigit(a) && slices.Equal(x, y) && slices.ContainsFunc(x, isMonthName)
}

// Refines reports whether a equals b or adds detail to b: "Vilnius, Lithuania" refines "Vilnius".
func Refines(a, b string) bool {
	if SameValue(a, b) {
		return true
	}
	x, y := plainWords(a), plainWords(b)
	if len(y) == 0 || len(y) >= len(x) {
		return false
	}
	return slices.Equal(x[:len(y)], y) && !hasDigit(strings.Join(x[len(y):], " ")+" ") || slices.Equal(x[:len(y)], y) && slices.ContainsFunc(y, isMonthName)
}

func isMonthName(w string) bool {
	return len(w) >= 3 && slices.ContainsFunc([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, func(m string) bool { return strings.HasPrefix(w, m) })
}

// plainWords returns the words of a value without articles and similar words; "3rd" becomes "3".
func plainWords(s string) []string {
	w := Words(s)
	out := w[:0:0]
	for _, x := range w {
		if x == "of" || x == "the" && len(w) > 1 {
			continue
		}
		if n := strings.TrimRight(x, "stndrh"); n != x && n != "" && strings.Trim(n, "0123456789") == "" && len(x)-len(n) == 2 {
			x = n
		}
		out = append(out, x)
	}
	return out
}

// isSameTopic reports whether two preferences are about the same topic, such as "aisle seats" and
// "window seats", or "tea" and "coffee".
func isSameTopic(a, b string) bool {
	x, y := plainWords(a), plainWords(b)
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	if len(x) > 1 && len(y) > 1 && x[len(x)-1] == y[len(y)-1] {
		return true
	}
	for _, list := range known().alternatives {
		p, q := slices.IndexFunc(x, func(w string) bool { return list[w] }), slices.IndexFunc(y, func(w string) bool { return list[w] })
		if p >= 0 && q >= 0 && x[p] != y[q] && len(x) <= 3 && len(y) <= 3 {
			return true
		}
	}
	return false
}

type quantity struct {
	n    float64
	kind string
}

// measureUnits returns the quantity that a unit measures, such as length, and the size of the unit
// in the smallest unit of this quantity.
func measureUnits(u string) (kind string, factor float64) {
	switch u {
	case "mm", "millimetre", "millimetres":
		return "length", 0.001
	case "cm", "centimetre", "centimetres", "centimeters":
		return "length", 0.01
	case "m", "metre", "metres", "meter", "meters":
		return "length", 1
	case "km", "kilometre", "kilometres", "kilometers":
		return "length", 1000
	case "mile", "miles", "mi":
		return "length", 1609.34
	case "ft", "foot", "feet":
		return "length", 0.3048
	case "inch", "inches":
		return "length", 0.0254
	case "kg", "kilo", "kilos", "kilograms":
		return "mass", 1
	case "g", "grams", "gram":
		return "mass", 0.001
	case "lb", "lbs", "pound", "pounds":
		return "mass", 0.453592
	case "min", "minutes", "minute":
		return "time", 60
	case "h", "hour", "hours":
		return "time", 3600
	}
	return "", 0
}

// parseMeasure parses measures such as "180 cm", "1.80m" and "1,80 m".
func parseMeasure(s string) (quantity, bool) {
	f := strings.Fields(strings.ToLower(strings.TrimRight(strings.TrimSpace(s), ".")))
	if len(f) == 0 || len(f) > 3 {
		return quantity{}, false
	}
	i := strings.IndexFunc(f[0], func(r rune) bool { return !unicode.IsDigit(r) && r != '.' && r != ',' })
	number, unit := f[0], ""
	if i > 0 {
		number, unit = f[0][:i], f[0][i:]
	} else if i < 0 && len(f) > 1 {
		unit = f[1]
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
	kind, factor := measureUnits(unit)
	if err != nil || kind == "" || math.IsInf(n, 0) || math.IsNaN(n) {
		return quantity{}, false
	}
	return quantity{n * factor, kind}, true
}
