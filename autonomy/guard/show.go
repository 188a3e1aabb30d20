package guard

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"hob/tools"
)

// maxSummary is the longest summary in characters, maxShown that of arguments
// and of what would really run.
const (
	maxSummary = 600
	maxShown   = 2000
)

func summary(t tools.Tool, args json.RawMessage) string {
	if s, ok := t.(tools.Summarizer); ok {
		return visible(s.Summary(args), maxSummary)
	}
	return t.Spec().Name
}

// visible shows a text as what it is, on one line: line breaks, characters that
// turn the direction of writing and those that cannot be seen are spelled out,
// since the model chose them; a long one loses its middle, not its end.
func visible(s string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == ' ' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	r := []rune(b.String())
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most*2/3]) + " […] " + string(r[len(r)-most/3:])
}

// Shown is the call as it would be made, tool and arguments, for an owner to
// read: bounded, with nothing in it that cannot be seen.
func (a Approval) Shown() string {
	if args := strings.TrimSpace(string(a.Arguments)); args != "" && args != "{}" && args != "null" {
		return a.Tool + " " + visible(args, maxShown)
	}
	return a.Tool
}
