package autonomy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// sinceOf splits a question into its subject and its start time.
func sinceOf(about string, now time.Time) (words string, since time.Time, err error) {
	about = strings.TrimSpace(about)
	before, after, ok := strings.Cut(" "+about, " since ")
	if !ok {
		return about, now.Add(-silenceSpan), nil
	}
	if d, derr := time.ParseDuration(strings.TrimSpace(after)); derr == nil && d > 0 {
		return strings.TrimSpace(before), now.Add(-d), nil
	}
	if at, terr := time.Parse(time.RFC3339, strings.TrimSpace(after)); terr == nil {
		return strings.TrimSpace(before), at, nil
	}
	if p, perr := dateparse.ParsePeriod(after, now); perr == nil && !p.From.After(now) {
		return strings.TrimSpace(before), p.From, nil
	}
	m, err := dateparse.Parse(after, now)
	if err != nil {
		return "", since, fmt.Errorf("%w: %q is not a time such as \"14:00\", \"yesterday\" or \"2h\"", ErrUnclear, after)
	}
	if m.Time.After(now) { // a time of day is the last one
		m.Time = m.Time.AddDate(0, 0, -1)
	}
	return strings.TrimSpace(before), m.Time, nil
}

// ErrUnclear is wrapped if a question cannot be parsed.
var ErrUnclear = errors.New("unclear question")

// fillers matches words without meaning for a search.
var fillers = regexp.MustCompile(`^(a|an|the|of|from|by|about|to|in|on|at|with|my|your|that|this|mail|mails|email|emails|message|messages|did|not|you|tell|told|me|why)$`)

// significantWords returns the words that are useful for a search.
func significantWords(words string) (out []string) {
	for _, w := range textnorm.FoldedWords(words) {
		if !fillers.MatchString(w) {
			out = append(out, w)
		}
	}
	return out
}
