package channels

import (
	"regexp"
	"strings"
	"sync"
)

// spans matches spans that must not be cut between words (CommonMark 0.31, sections 6.1 to 6.4):
// code, links, strong text, strikethrough.
var spans = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`[^`\n]+`" + `|!?\[[^\[\]\n]+\]\([^()\n]*\)|\*\*[^*\n]+\*\*|__[^_\n]+__|~~[^~\n]+~~`)
})

// wordAt returns the last white space before end at which text can be cut. The position is not
// within a span, unless the span is very long.
func (c textCutter) wordAt(text string, end int) int {
	at := strings.LastIndexAny(text[:end+1], " \t\n")
	if at <= 0 {
		return 0
	}
	from := strings.LastIndexByte(text[:at], '\n') + 1
	to := c.byteOffset(text[at:], c.limit) + at // a span that extends beyond this position does not fit into a part
	for _, s := range spans().FindAllStringIndex(text[from:to], -1) {
		if begin := from + s[0]; begin > end/4 && begin < at && from+s[1] > at {
			return begin
		}
	}
	if at > end/4 {
		return at
	}
	// Check whether the long word that follows fits into a part.
	word := text[at+1:]
	if i := strings.IndexAny(word, " \t\n"); i >= 0 {
		word = word[:i]
	}
	if c.textLength(word) <= c.limit {
		return at
	}
	return 0
}

// lineAt cuts text at the start of a line and repeats the header of a divided table.
func (c textCutter) lineAt(text string, at int) (part, rest string) {
	head := c.headAt(text, at)
	part, rest = cutAt(text, at)
	return part, head + rest
}

// headAt returns the header (the first 2 lines) of the table that a cut at the start of a line
// would divide. It returns "" if there is no table or the header is too long to repeat.
func (c textCutter) headAt(text string, at int) string {
	next, _, _ := strings.Cut(text[at:], "\n")
	if !strings.Contains(next, "|") || strings.TrimSpace(next) == "" {
		return ""
	}
	from := 0
	if i := strings.LastIndex(text[:at], "\n\n"); i >= 0 { // start of the paragraph
		from = i + 2
	}
	for from < at {
		head, rest, _ := strings.Cut(text[from:at], "\n")
		rule, _, more := strings.Cut(rest, "\n")
		if strings.Contains(head, "|") && strings.ContainsAny(rule, "|") && strings.Contains(rule, "-") && strings.Trim(rule, " |:-\t\r") == "" {
			both := head + "\n" + rule + "\n"
			if !more || from+len(both) >= at || c.textLength(both) > c.limit/3 {
				return ""
			}
			return both
		}
		from += len(head) + 1
	}
	return ""
}
