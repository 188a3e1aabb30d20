package results

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the maximum size of a result that enters the context unchanged. If a result is
// longer, the model reads its head, its lines about errors, and its tail.
const MaxBytes = 16_000

const (
	headPart  = 9_000
	errorPart = 2_500
	tailPart  = 4_000
)

// Shorten shortens a long result at line boundaries if possible, otherwise at rune boundaries. call
// is the id of the stored full result, or "" if it is not stored.
func Shorten(s, call string) string {
	if len(s) <= MaxBytes {
		return s
	}
	head := s[:runeStart(s, headPart)]
	from := runeStart(s, len(s)-tailPart)
	if i := strings.IndexByte(s[from:], '\n'); i >= 0 && i < tailPart/4 {
		from += i + 1
	}
	if i := strings.LastIndexByte(head, '\n'); i > headPart*3/4 {
		head = head[:i+1]
	}
	rest := s[len(head):from]
	out := fmt.Sprintf("%s\n[… %d characters left out …]\n", strings.TrimSuffix(head, "\n"), utf8.RuneCountInString(rest))
	if call != "" {
		out += fmt.Sprintf("[read them with use_tool {\"name\":\"read_result\",\"arguments\":{\"id\":%q,\"offset\":%d}}, or give it \"search\"]\n", call, len(head))
	}
	if found := errorLines(rest); found != "" {
		out += "[lines about errors in what was left out]\n" + found + "[…]\n"
	}
	return out + s[from:]
}

// errorLines returns the lines of s that look like errors, up to the size limit.
func errorLines(s string) string {
	looks := regexp.MustCompile(`(?i)\b(error|fail(ed|ure)?|fatal|panic|exception|traceback|denied|refused)\b`)
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 300 {
			line = line[:runeStart(line, 300)] + "…"
		}
		if b.Len()+len(line) > errorPart {
			break
		}
		if looks.MatchString(line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
