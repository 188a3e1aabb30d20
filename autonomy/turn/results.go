package turn

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"hob/tools"
)

// A result longer than maxResult bytes enters the context as its head, the
// lines about errors, and its tail.
const (
	maxResult = 16_000
	headPart  = 9_000
	errorPart = 2_500
	tailPart  = 4_000
)

// truncationMiddleware limits the part of a result that the model reads.
func (tc *toolCalls) truncationMiddleware() middleware {
	return middleware{name: "truncate", afterTool: func(ctx context.Context, s *callStep) {
		if s.err != nil {
			s.text = fmt.Sprintf("error %s: %s", tools.CodeOf(s.err), tc.shortenResult(ctx, s, tc.o.Redact.Text(s.err.Error())))
		} else {
			s.text = tc.shortenResult(ctx, s, s.result.Text)
		}
		s.text = strings.ToValidUTF8(s.text, "\uFFFD")
		s.body = len(s.text)
	}}
}

// shortenResult shortens a long result and stores the complete one, if a store is configured.
func (tc *toolCalls) shortenResult(ctx context.Context, s *callStep, text string) string {
	if len(text) <= maxResult || tc.o.Results == nil {
		return cutResult(text, "")
	}
	if _, ok := tc.o.Catalogue.Get("read_result"); !ok { // this agent may not read on
		return cutResult(text, "")
	}
	if err := tc.o.Results.Put(s.call.ID, text); err != nil {
		tc.o.Log.WarnContext(ctx, "cannot keep a long result", "call", s.call.ID, "err", err)
		return cutResult(text, "")
	}
	return cutResult(text, s.call.ID)
}

// cutResult shortens a long result at line boundaries, otherwise at rune boundaries. call is the id
// of the stored full result, "" if it is not stored.
func cutResult(s, call string) string {
	if len(s) <= maxResult {
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

// runeStart moves an index back to where a rune begins.
func runeStart(s string, i int) int {
	for j := i; j > max(0, i-utf8.UTFMax); j-- {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i // not UTF-8 at all
}

// errorLines returns the lines that look like errors, as many as fit.
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

// auditMiddleware returns the innermost middleware. Rows of calls not recorded while they ran (reads,
// refusals) are written with the next transaction.
func (tc *toolCalls) auditMiddleware() middleware {
	return middleware{name: "audit", afterTool: func(_ context.Context, s *callStep) {
		tc.hist.recordEffect(s)
		tc.hist.rememberCall(s)
		tc.rec.recordLate(s)
	}}
}
