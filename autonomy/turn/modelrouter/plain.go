package modelrouter

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Limits of a plain message.
const (
	maxRunes    = 160
	maxWords    = 28
	maxNewlines = 1
)

//go:embed keywords.txt
var keywordText string

// keywords are words that indicate a task for the better model.
var keywords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(keywordText) {
		out[w] = true
	}
	return out
})

// IsPlainMessage reports whether a small model suffices for text. A plain message is short and
// contains no code, addresses or keywords of a demanding task. why is the reason if the message is
// not plain.
func IsPlainMessage(text string) (plain bool, why string) {
	text = strings.TrimSpace(text)
	words := strings.Fields(text)
	lower := strings.ToLower(text)
	switch {
	case len(words) == 0:
		return false, "it is empty"
	case utf8.RuneCountInString(text) > maxRunes || len(words) > maxWords:
		return false, "it is long"
	case strings.Count(text, "\n") > maxNewlines:
		return false, "it has several lines"
	case strings.Contains(text, "`"):
		return false, "it contains code"
	case strings.Contains(lower, "://") || strings.Contains(lower, "www."):
		return false, "it contains an address"
	}
	known := keywords()
	parts := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	if i := slices.IndexFunc(parts, func(w string) bool { return known[w] }); i >= 0 {
		return false, `it contains the word "` + parts[i] + `"`
	}
	return true, ""
}
