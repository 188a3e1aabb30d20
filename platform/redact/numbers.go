package redact

import "strings"

// cards redacts payment card numbers: 13 to 19 digits, alone or in groups, with a
// known issuer prefix and a valid check digit (ISO/IEC 7812).
func cards(s string) string {
	for i := 0; i < len(s); {
		if s[i] < '2' || s[i] > '6' || i > 0 && (joined(s[i-1]) || s[i-1] == '+') {
			i++
			continue
		}
		digits, end := number(s, i)
		if end < len(s) && joined(s[end]) && !(s[end] == '.' && (end+1 == len(s) || !digit(s[end+1]))) || !issued(digits) || !luhn(digits) {
			i = max(end, i+1)
			continue
		}
		s = s[:i] + Mark + s[end:]
		i += len(Mark)
	}
	return s
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// joined reports whether a character continues a number or makes it part of
// another token.
func joined(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-' || c == '.' || c == '%' || c == '#'
}

// number reads digits from i on, optionally grouped by one kind of separator, and
// returns their end.
func number(s string, i int) (digits string, end int) {
	var b strings.Builder
	sep := byte(0)
	group := 0
	for end = i; end < len(s) && b.Len() <= 19; end++ {
		switch c := s[end]; {
		case digit(c):
			b.WriteByte(c)
			group++
			continue
		case (c == ' ' || c == '-') && (sep == 0 || sep == c) && group >= 3 && end+1 < len(s) && digit(s[end+1]):
			sep, group = c, 0
			continue
		}
		break
	}
	return b.String(), end
}

// issued reports whether a number has a prefix and length of a major card
// network.
func issued(d string) bool {
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

func luhn(d string) bool {
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

// ibans takes out account numbers whose check digits are right (ISO 13616).
func ibans(s string) string {
	for i := 0; i+15 <= len(s); i++ {
		if !upper(s[i]) || !upper(s[i+1]) || !digit(s[i+2]) || i > 0 && joined(s[i-1]) {
			continue
		}
		var b strings.Builder
		end := i
		for j := i; j < len(s) && b.Len() < 34; j++ {
			if s[j] == ' ' && j+1 < len(s) && (upper(s[j+1]) || digit(s[j+1])) {
				continue
			}
			if !upper(s[j]) && !digit(s[j]) {
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

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

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
