package redact

import (
	"net/url"
	"slices"
	"strings"
)

// decodedReadings returns the decoded forms of a text that are searched for secrets before
// it is sent.
func decodedReadings(text string) []string {
	out := []string{text}
	plain := text
	for range 3 { // escaped again and again
		next, err := url.PathUnescape(strings.ReplaceAll(plain, "+", " "))
		if err != nil {
			next = unescapeValid(plain)
		}
		if next == plain {
			break
		}
		plain = next
		out = append(out, plain)
	}
	spread := alphanumericLower(plain)
	back := []byte(spread)
	slices.Reverse(back)
	return append(out, spread, string(back))
}

// unescapeValid reads the escapes that are whole, where one of them is not.
func unescapeValid(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
