package offline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hob/platform/text/lazyregexp"
)

// spellFigures replaces numbers and fractions in words: "two thirds of 60" becomes "(2/3) of 60".
func (g *grammar) spellFigures(text string) string {
	words := strings.Fields(text)
	var out []string
	for i := 0; i < len(words); i++ {
		word := strings.TrimRight(words[i], "?!.,")
		mark := words[i][len(word):]
		n, isNumber := g.lex.meaningOf("numbers", word)
		switch {
		case i+1 < len(words) && g.fractionOf(words[i+1]) != "" && (isNumber || parsesAsFigure(word)):
			if !isNumber {
				n = word
			}
			out = append(out, "("+n+g.fractionOf(words[i+1])+")")
			i++
		case i+1 < len(words) && words[i+1] == "of" && plainFraction.MatchString(word): // "3/8 of 560"
			out = append(out, "("+word+")")
		case isNumber && i+1 < len(words) && strings.HasSuffix(n, "0") && len(n) == 2: // "twenty five"
			if one, ok := g.lex.meaningOf("numbers", strings.TrimRight(words[i+1], "?!.,")); ok && len(one) == 1 {
				out = append(out, n[:1]+one)
				i++
				continue
			}
			out = append(out, n+mark)
		case isNumber && word != "a" && word != "an" && word != "half":
			out = append(out, n+mark)
		default:
			out = append(out, words[i])
		}
	}
	return strings.Join(out, " ")
}

// plainFraction matches a fraction in digits.
var plainFraction = lazyregexp.New(`^\d+/\d+$`)

// fractionOf returns the divisor of a fraction in words: "/3" for "thirds".
func (g *grammar) fractionOf(word string) string {
	if m, ok := g.lex.meaningOf("fractions", strings.TrimRight(word, "?!.,")); ok {
		return "/" + m
	}
	return ""
}

func parsesAsFigure(s string) bool {
	_, ok := parseFigure(s)
	return ok
}

// splitSum splits a sum into numbers, operators and words.
func splitSum(text string) []string {
	text = strings.NewReplacer("divided by", "/", "multiplied by", "*", "times", "*", "plus", "+", "minus", "-", "over", "/",
		"to the power of", "^", "square root of", "root", "sqrt of", "root", "sqrt", "root", "percent", "%", "per cent", "%", "×", "*", "·", "*", "÷", "/", "−", "-", "**", "^").Replace(strings.TrimRight(text, "?!.= "))
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

// dropUnit removes the unit of a product or quotient: "37.5 hours times 18.65", "0.9 mg divided by 0.25 mg".
func (g *grammar) dropUnit(words []string) []string {
	var out []string
	unit := ""
	for i, w := range words {
		if i > 0 && g.lex.containsWord("sum-units", w) && parsesAsFigure(words[i-1]) && (unit == "" || unit == w) {
			unit = w
			continue
		}
		out = append(out, w)
	}
	if len(out) != 3 || out[1] != "*" && out[1] != "/" {
		return words
	}
	return out
}

// maxLabel is the maximum number of words in a label.
const maxLabel = 3

// dropLabels removes the words after the figures of a sum that say what they are: "2846 less 1150 mortgage less 95 tax".
// Units are no labels, except for one in a product.
func (g *grammar) dropLabels(words []string) []string {
	var out []string
	units := 0
	for _, w := range words {
		if _, ok := g.findUnit(w); ok && isLabelWord(w) {
			units++
		}
	}
	if units > 1 || units > 0 && (slices.Contains(words, "+") || slices.Contains(words, "-") || slices.Contains(words, "less")) {
		return words
	}
	for i := 0; i < len(words); i++ {
		n := i
		for n < len(words) && isLabelWord(words[n]) && words[n] != "less" && !g.lex.containsWord("no-labels", words[n]) {
			n++
		}
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch ends := n == len(words) || strings.Contains("+-*/", words[n]) || words[n] == "less"; {
		case n > i && n-i <= maxLabel && ends && (parsesAsFigure(last) || last == "%"):
			i = n - 1
		case words[i] == "less" && i > 0:
			out = append(out, "-")
		default:
			out = append(out, words[i])
		}
	}
	return out
}

// isLabelWord reports whether a word of a sum is no figure and no operator.
func isLabelWord(s string) bool {
	return len(s) > 1 && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '.' }) < 0
}

// sumParser evaluates a sum: terms of factors of powers.
type sumParser struct {
	words     []string
	at        int
	operators int
	depth     int
}

// evaluateSum returns the value of the complete sum. The bool result is false if words remain or nothing is calculated.
func (p *sumParser) evaluateSum() (float64, bool) {
	v, ok := p.parseSum()
	return v, ok && p.at == len(p.words) && p.operators > 0
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
			ok = before == "%" || before == "half" || before == ")"
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
