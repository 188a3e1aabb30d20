package redact

import "strings"

// redactCards redacts payment card numbers: 13 to 19 digits, alone or in groups, with a
// known issuer prefix and a valid check digit (ISO/IEC 7812).
func redactCards(s string) string {
	for i := 0; i < len(s); {
		if s[i] < '2' || s[i] > '6' || i > 0 && (isNumberJoiner(s[i-1]) || s[i-1] == '+') {
			i++
			continue
		}
		digits, end := readNumber(s, i)
		if end < len(s) && isNumberJoiner(s[end]) && !(s[end] == '.' && (end+1 == len(s) || !isDigit(s[end+1]))) || !isIssuedCard(digits) || !isLuhnValid(digits) {
			i = max(end, i+1)
			continue
		}
		s = s[:i] + Mark + s[end:]
		i += len(Mark)
	}
	return s
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNumberJoiner reports whether c continues a number or makes the number part of another token.
func isNumberJoiner(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-' || c == '.' || c == '%' || c == '#'
}

// readNumber reads the number that starts at s[i]. Its digits may be grouped by one kind of
// separator. readNumber returns the digits and the end of the number.
func readNumber(s string, i int) (digits string, end int) {
	var b strings.Builder
	sep := byte(0)
	group := 0
	for end = i; end < len(s) && b.Len() <= 19; end++ {
		switch c := s[end]; {
		case isDigit(c):
			b.WriteByte(c)
			group++
			continue
		case (c == ' ' || c == '-') && (sep == 0 || sep == c) && group >= 3 && end+1 < len(s) && isDigit(s[end+1]):
			sep, group = c, 0
			continue
		}
		break
	}
	return b.String(), end
}

// isIssuedCard reports whether d has the prefix and length of a major card network's numbers.
func isIssuedCard(d string) bool {
	n := len(d)
	if n < 13 || n > 19 {
		return false
	}
	two, four := d[:2], d[:4]
	switch {
	case d[0] == '4':
		return n == 16
	case two >= "51" && two <= "55", four >= "2221" && four <= "2720":
		return n == 16
	case two == "34", two == "37":
		return n == 15
	case two == "36", two == "38", two == "30":
		return n == 14 || n == 16
	case four == "6011", two == "65", two == "64", two == "62", two == "35", two == "50", two >= "56" && two <= "58", two == "63", two == "67":
		return n == 16 || n == 19 && two == "62"
	}
	return false
}

func isLuhnValid(d string) bool {
	sum := 0
	same := true
	for i := range len(d) {
		x := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if x *= 2; x > 9 {
				x -= 9
			}
		}
		sum += x
		same = same && d[i] == d[0]
	}
	return sum%10 == 0 && !same
}

// redactIBANs redacts bank account numbers with valid check digits (ISO 13616).
func redactIBANs(s string) string {
	for i := 0; i+15 <= len(s); i++ {
		if !isUpper(s[i]) || !isUpper(s[i+1]) || !isDigit(s[i+2]) || i > 0 && isNumberJoiner(s[i-1]) {
			continue
		}
		var b strings.Builder
		end := i
		for j := i; j < len(s) && b.Len() < 34; j++ {
			if s[j] == ' ' && j+1 < len(s) && (isUpper(s[j+1]) || isDigit(s[j+1])) {
				continue
			}
			if !isUpper(s[j]) && !isDigit(s[j]) {
				break
			}
			b.WriteByte(s[j])
			if b.Len() >= 15 && mod97(b.String()) {
				end = j + 1
			}
		}
		if end > i {
			s = s[:i] + Mark + s[end:]
			i += len(Mark) - 1
		}
	}
	return s
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func mod97(s string) bool {
	m := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			m = (m*100 + int(c-'A') + 10) % 97
		} else {
			m = (m*10 + int(c-'0')) % 97
		}
	}
	return m == 1
}

// HasCard reports whether text contains a payment card number.
func HasCard(text string) bool { return redactCards(text) != text }

// HasIBAN reports whether text contains a bank account number, in upper or lower case.
func HasIBAN(text string) bool {
	text = strings.ToUpper(text)
	return redactIBANs(text) != text
}
