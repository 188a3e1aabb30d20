package chatdb

import (
	"strings"
	"unicode"

	"hob/platform/text/lazyregexp"
)

// smsMark matches the suffix that macOS appends to the number of an SMS sender.
var smsMark = lazyregexp.New(`\((?:sms\w*|filtered)\)$`)

// Handle normalizes an address: a telephone number to E.164 if possible, and the ASCII letters of
// an email address to lower case. It leaves other addresses (short codes, sender names) unchanged.
// country is the two-letter code that Messages stores for numbers without a country prefix, or "".
func Handle(id, country string) string {
	id = strings.TrimSpace(id)
	for _, scheme := range []string{"tel:", "mailto:", "sms:"} {
		if len(id) > len(scheme) && strings.EqualFold(id[:len(scheme)], scheme) {
			id = id[len(scheme):]
		}
	}
	id = smsMark.ReplaceAllString(id, "")
	if strings.Contains(id, "@") { // change only A to Z, because lower-casing must not turn any other letter into an ASCII letter
		return strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, id)
	}
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -.()/\u00a0\u2011\u2010\u202a\u202c", r) {
			return -1
		}
		return r
	}, id)
	bare := strings.TrimPrefix(digits, "+")
	if bare == "" || strings.ContainsFunc(bare, func(r rune) bool { return r < '0' || r > '9' }) {
		return id
	}
	north := strings.EqualFold(country, "us") || strings.EqualFold(country, "ca")
	switch {
	case bare != digits:
		return digits
	case strings.HasPrefix(digits, "00") && len(digits) > 9:
		return "+" + digits[2:]
	case north && len(digits) == 10:
		return "+1" + digits
	case north && len(digits) == 11 && digits[0] == '1':
		return "+" + digits
	}
	return digits
}

// parseAccount parses one of the user's own addresses, which accounts store as
// "E:me@example.org" or "P:+15550100".
func parseAccount(s string) string {
	if len(s) > 2 && s[1] == ':' && unicode.IsLetter(rune(s[0])) {
		s = s[2:]
	}
	if !strings.ContainsAny(s, "@+0123456789") {
		return ""
	}
	return Handle(s, "")
}
