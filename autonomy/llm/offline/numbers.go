package offline

import (
	"strconv"
	"strings"
)

// money is an amount in a sentence; it ends before token to.
type money struct {
	to       int
	value    float64
	currency string // ISO 4217 code; "" if not given
}

// moneyAt parses an amount such as "12.50", "€40", "40 euros" or "1,200.50 USD" at token i.
func (s *sentence) moneyAt(i int) (money, bool) {
	t := s.tokens[i]
	if t.kind != word {
		return money{}, false
	}
	digits := t.norm
	m := money{to: i + 1}
	for _, sign := range []string{"€", "$", "£", "¥", "₹", "zł", "us$", "chf", "eur", "usd", "gbp"} {
		code, _ := s.lex.meaningOf("currencies", sign)
		if d, ok := strings.CutPrefix(digits, sign); ok && d != "" {
			digits, m.currency = d, code
		} else if d, ok := strings.CutSuffix(digits, sign); ok && d != "" {
			digits, m.currency = d, code
		}
	}
	if code, ok := s.lex.meaningOf("currencies", digits); ok && i+1 < len(s.tokens) { // "€ 40", "EUR 40"
		v, ok := parseAmount(s.tokens[i+1].norm)
		return money{to: i + 2, value: v, currency: code}, ok && s.tokens[i+1].kind == word
	}
	v, ok := parseAmount(digits)
	if thousands, cut := strings.CutSuffix(digits, "k"); cut && !ok { // "1.5k"
		v, ok = parseAmount(thousands)
		v *= 1000
	} else if m.to < len(s.tokens) && ok && s.tokens[m.to].norm == "k" && s.tokens[m.to].start == t.end { // "2k"
		v *= 1000
		m.to++
	}
	if _, article := s.lex.meaningOf("articles", t.norm); !ok && !article {
		v, ok = s.numberAt(i)
	}
	if !ok {
		return money{}, false
	}
	m.value = v
	if m.currency == "" && m.to < len(s.tokens) {
		if code, ok := s.lex.meaningOf("currencies", s.tokens[m.to].norm); ok {
			m.currency = code
			m.to++
			m.addCents(s)
		}
	}
	return m, m.value > 0
}

// addCents adds the two digits after the name of a currency: "4 pounds 50", but not "4 pounds 20
// minutes ago".
func (m *money) addCents(s *sentence) {
	if m.to >= len(s.tokens) || m.value != float64(int(m.value)) {
		return
	}
	if s.tokens[m.to].norm == "and" && m.to+2 < len(s.tokens) && s.lex.containsWord("cents", s.tokens[m.to+2].norm) { // "12 euros and 50 cents"
		if cents, err := strconv.Atoi(s.tokens[m.to+1].norm); err == nil && cents > 0 && cents < 100 {
			m.value += float64(cents) / 100
			m.to += 3
		}
		return
	}
	cents, err := strconv.Atoi(s.tokens[m.to].norm)
	if err != nil || len(s.tokens[m.to].norm) != 2 || s.spanAt(m.to) != nil || m.to+1 < len(s.tokens) && s.lex.containsWord("units", s.tokens[m.to+1].norm) {
		return
	}
	m.value += float64(cents) / 100
	if m.to++; m.to < len(s.tokens) && s.lex.containsWord("cents", s.tokens[m.to].norm) {
		m.to++
	}
}

// parseAmount parses digits with separators. The last "." or "," is the decimal mark if one or two
// digits follow it; other separators group thousands.
func parseAmount(d string) (float64, bool) {
	if d == "" || strings.Trim(d, "0123456789.,") != "" || !isDigit(d[0]) || !isDigit(d[len(d)-1]) {
		return 0, false
	}
	whole, fraction := d, ""
	if i := strings.LastIndexAny(d, ".,"); i >= 0 && len(d)-i-1 != 3 {
		whole, fraction = d[:i], d[i+1:]
		if len(fraction) > 2 && strings.ContainsAny(whole, ".,") {
			return 0, false
		}
	}
	groups := strings.FieldsFunc(whole, func(r rune) bool { return r == '.' || r == ',' })
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(strings.Join(groups, "")+"."+fraction+"0", 64)
	return v, err == nil && len(d) <= 15
}

// numberAt parses digits or a number word at token i.
func (s *sentence) numberAt(i int) (float64, bool) {
	if i >= len(s.tokens) || s.tokens[i].kind != word {
		return 0, false
	}
	w := s.tokens[i].norm
	if m, ok := s.lex.meaningOf("numbers", w); ok {
		w = m
	}
	return parseAmount(w)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
