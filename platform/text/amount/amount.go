// Package amount parses and formats exact amounts of money as integers in the currency's smallest
// unit. It knows the number of decimals of each currency and finds out whether a comma or a point
// separates them. It never rounds and never guesses.
package amount

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Digits returns the number of decimals of a currency (ISO 4217, list one). Most have two.
func Digits(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	}
	return 2
}

// Format formats an amount in the smallest unit as an exact decimal: "12.50".
func Format(minor int64, currency string) string {
	d := Digits(currency)
	sign, s := "", strconv.FormatInt(minor, 10)
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if d == 0 {
		return sign + s
	}
	if len(s) <= d {
		s = strings.Repeat("0", d+1-len(s)) + s
	}
	return sign + s[:len(s)-d] + "." + s[len(s)-d:]
}

// Reasons why a text is not an amount. They are wrapped with the text.
var (
	ErrNoAmount = errors.New("not an amount")
	ErrDecimals = errors.New("more decimals than the currency has")
)

// symbols maps signs to currencies. A sign that several currencies share maps to the best-known one.
var symbols = map[string]string{
	"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "円": "JPY", "zł": "PLN", "kč": "CZK", "₹": "INR", "₴": "UAH", "₺": "TRY", "₩": "KRW", "₽": "RUB", "ft": "HUF", "chf": "CHF", "fr.": "CHF",
}

// shared maps a currency to the better-known currency with the same sign.
var shared = map[string]string{
	"CAD": "USD", "AUD": "USD", "NZD": "USD", "SGD": "USD", "HKD": "USD", "TWD": "USD", "MXN": "USD", "EGP": "GBP", "CNY": "JPY",
}

// BySymbol returns the currency of a sign such as "€". The user's own currency takes precedence over
// the best-known currency with the same sign.
func BySymbol(sign, own string) (string, bool) {
	c, ok := symbols[strings.ToLower(sign)]
	if ok && shared[own] == c {
		return own, true
	}
	return c, ok
}

// IsCode reports whether s has the form of an ISO 4217 code.
func IsCode(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// signs are the characters of a negative amount, besides a pair of parentheses.
const signs = "-\u2212\u2013"

// Parse parses an amount as banks write it: "1.234,56", "(12.50)", "12.50-", "€ 7". mark is the
// decimal separator, '.' or ','. The other one, spaces and apostrophes separate thousands.
func Parse(s string, mark rune, currency string) (int64, error) {
	number, negative, err := splitSign(s)
	if err != nil {
		return 0, err
	}
	whole, frac, found := strings.Cut(number, string(mark))
	if found && strings.ContainsAny(frac, ".,") {
		return 0, fmt.Errorf("%q: %w", s, ErrNoAmount)
	}
	whole, ok := joinThousands(whole)
	if !ok || whole+frac == "" {
		return 0, fmt.Errorf("%q: %w", s, ErrNoAmount)
	}
	d := Digits(currency)
	if frac = strings.TrimRight(frac, "0"); len(frac) > d {
		return 0, fmt.Errorf("%q: %w (%s: %d)", s, ErrDecimals, currency, d)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", d-len(frac)), 10, 64)
	if err != nil || n == math.MinInt64 {
		return 0, fmt.Errorf("%q: %w", s, ErrNoAmount)
	}
	if negative {
		n = -n
	}
	return n, nil
}

// splitSign returns the digits and separators of an amount, and whether it is negative. It drops one
// currency sign or code.
func splitSign(s string) (number string, negative bool, err error) {
	bad := fmt.Errorf("%q: %w", s, ErrNoAmount)
	rest := strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(rest, "("); ok {
		if rest, ok = strings.CutSuffix(inner, ")"); !ok {
			return "", false, bad
		}
		negative = true
	}
	var letters strings.Builder
	var digits strings.Builder
	signed := false
	for _, r := range rest {
		switch {
		case r >= '0' && r <= '9', r == '.', r == ',':
			digits.WriteRune(r)
		case unicode.IsSpace(r), r == '\'', r == '\u2019': // separates thousands
		case strings.ContainsRune(signs, r), r == '+':
			if signed || negative {
				return "", false, bad
			}
			signed, negative = true, r != '+'
		case unicode.IsLetter(r), unicode.Is(unicode.Sc, r):
			letters.WriteRune(r)
		default:
			return "", false, bad
		}
	}
	if l := letters.String(); l != "" && !IsCode(l) && symbols[strings.ToLower(l)] == "" {
		return "", false, bad
	}
	if strings.Trim(digits.String(), ".,") == "" {
		return "", false, bad
	}
	return digits.String(), negative, nil
}

// joinThousands removes the separators of thousands. The last group must have three digits and the
// others two or three (Indian numbers have groups of two).
func joinThousands(s string) (string, bool) {
	groups := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ',' })
	if len(groups) < 2 {
		return s, !strings.ContainsAny(s, ".,")
	}
	for i, g := range groups[1:] {
		if len(g) != 3 && (len(g) != 2 || i == len(groups)-2) {
			return "", false
		}
	}
	if strings.Count(s, ".")+strings.Count(s, ",") != len(groups)-1 {
		return "", false
	}
	return strings.Join(groups, ""), true
}

// Reasons why the decimal separator of a column is unknown.
var (
	ErrAmbiguous = errors.New("the amounts do not show whether the comma or the point separates the decimals")
	ErrMixed     = errors.New("some amounts use a comma for the decimals, and some a point")
)

// DetectMark returns the decimal separator of a column of amounts.
func DetectMark(values []string) (rune, error) {
	var point, comma, unclear bool
	for _, v := range values {
		switch mark, known := detectOneMark(v); {
		case !known:
			unclear = true
		case mark == '.':
			point = true
		case mark == ',':
			comma = true
		}
	}
	switch {
	case point && comma:
		return 0, ErrMixed
	case comma:
		return ',', nil
	case unclear && !point:
		return 0, ErrAmbiguous
	}
	return '.', nil
}

// detectOneMark returns the decimal separator that one amount shows, 0 if it has none. known is
// false for "1.234", which is either.
func detectOneMark(v string) (mark rune, known bool) {
	number, _, err := splitSign(v)
	last := strings.LastIndexAny(number, ".,")
	if err != nil || last < 0 {
		return 0, true
	}
	mark = rune(number[last])
	other := '.'
	if mark == '.' {
		other = ','
	}
	whole, frac := number[:last], number[last+1:]
	switch {
	case strings.ContainsRune(whole, other):
		return mark, true
	case strings.ContainsRune(whole, mark): // only thousands occur twice
		return other, true
	case len(frac) != 3, whole == "" || whole == "0" || len(whole) > 3:
		return mark, true
	}
	return 0, false
}
