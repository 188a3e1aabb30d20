package mcp

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/autonomy/api"
)

// Limits of a log.
const (
	logLines = 200
	logLine  = 500 // bytes
)

// logRing contains the last lines of a server's log, which the server and Hob wrote.
type logRing struct {
	mu    sync.Mutex
	lines []api.MCPLogLine
}

func (l *logRing) addLine(text string) {
	text = cutText(strings.TrimSpace(text), logLine)
	if text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, api.MCPLogLine{At: time.Now().UTC(), Text: text})
	if len(l.lines) > logLines {
		l.lines = append(l.lines[:0:0], l.lines[len(l.lines)-logLines:]...)
	}
}

func (l *logRing) lastLines(n int) []api.MCPLogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]api.MCPLogLine{}, l.lines[max(0, len(l.lines)-n):]...)
}

// cutText returns at most limit bytes of a server's text as valid UTF-8, without control characters
// other than line breaks and tabs.
func cutText(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if cut {
		s += "..."
	}
	return s
}

// splitLines is an io.Writer that adds complete lines to a log. It keeps only the start of a long
// line.
type splitLines struct {
	log  *logRing
	line []byte
	over bool // the rest of the line is dropped
}

func (w *splitLines) Write(b []byte) (int, error) {
	for _, c := range b {
		switch {
		case c == '\n':
			w.log.addLine(string(w.line))
			w.line, w.over = w.line[:0], false
		case len(w.line) < logLine:
			w.line = append(w.line, c)
		default:
			w.over = true
		}
	}
	return len(b), nil
}
