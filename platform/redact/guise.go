package redact

import (
	"net/url"
	"slices"
	"strings"
)

// guises returns the decoded forms of a text that are searched for secrets before
// it is sent.
func guises(text string) []string {
	out := []string{text}
	plain := text
	for range 3 { // escaped again and again
		next, err := url.PathUnescape(strings.ReplaceAll(plain, "+", " "))
		if err != nil {
			next = unescape(plain)
		}
		if next == plain {
			break
		}
		plain = next
		out = append(out, plain)
	}
	spread := bare(plain)
	back := []byte(spread)
	slices.Reverse(back)
	return append(out, spread, string(back))
}

// unescape reads the escapes that are whole, where one of them is not.
func unescape(s string) string {
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
