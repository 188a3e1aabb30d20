package graph

import (
	_ "embed" // embeds the calling codes
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed phones.txt
var phonesText string

// dialPlan describes how phone numbers of a country are written.
type dialPlan struct {
	code   string
	trunks []string
}

var loadDialPlans = sync.OnceValue(func() map[string]dialPlan {
	m := map[string]dialPlan{}
	for line := range strings.Lines(phonesText) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" {
			m[f[0]] = dialPlan{f[1], slices.DeleteFunc(f[2:], func(s string) bool { return s == "-" })}
		}
	}
	return m
})

// NormalizePhone converts a phone number to E.164 (ITU-T): a plus sign and at most 15 digits. A
// number without a country code is interpreted as a number of the region. NormalizePhone does not
// check whether the number is assigned.
func NormalizePhone(s, region string) (string, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 40 || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || r == '@' || r == ':' }) {
		return "", false
	}
	// in +49 (0)30 123, the digit in brackets is dialed only within the country
	s = strings.ReplaceAll(s, "(0)", "")
	plus := strings.HasPrefix(s, "+")
	d := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
	if rest, ok := strings.CutPrefix(d, "00"); ok && !plus {
		d, plus = rest, true
	}
	if !plus {
		c, ok := loadDialPlans()[region]
		if !ok || len(d) < 6 {
			return "", false
		}
		for _, t := range c.trunks {
			if rest, ok := strings.CutPrefix(d, t); ok && len(rest) >= 6 {
				d = rest
				break
			}
		}
		d = c.code + d
	}
	if len(d) < 8 || len(d) > 15 || d[0] == '0' {
		return "", false
	}
	return "+" + d, true
}
