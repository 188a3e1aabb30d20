package command

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the command output that is kept, in bytes.
const (
	keepHead = 12_000
	keepTail = 12_000
)

// outputBuffer keeps the beginning and the end of a command's output. It may be used
// concurrently.
type outputBuffer struct {
	mu     sync.Mutex
	head   []byte
	tail   []byte
	length int64
}

func (o *outputBuffer) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	o.length += int64(n)
	if room := keepHead - len(o.head); room > 0 {
		take := min(room, len(b))
		o.head = append(o.head, b[:take]...)
		b = b[take:]
	}
	o.tail = append(o.tail, b...)
	if len(o.tail) > 2*keepTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keepTail:]...)
	}
	return n, nil
}

// keptText returns the kept output as text, and the number of bytes that were dropped in the
// middle.
func (o *outputBuffer) keptText() (string, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.tail
	if len(tail) > keepTail {
		tail = tail[len(tail)-keepTail:]
	}
	missing := o.length - int64(len(o.head)) - int64(len(tail))
	if missing <= 0 {
		return stripTerminalCodes(string(o.head) + string(tail)), 0
	}
	return stripTerminalCodes(string(o.head)) + fmt.Sprintf("\n[%d bytes left out]\n", missing) + stripTerminalCodes(string(tail)), missing
}

// totalSize returns the total number of bytes that were printed.
func (o *outputBuffer) totalSize() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.length
}

// stripTerminalCodes converts a program's output to valid UTF-8 without colors and cursor movement.
func stripTerminalCodes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			i += escapeLength(s[i:])
			continue
		case r == utf8.RuneError && n <= 1:
			b.WriteRune('\uFFFD')
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n' || r == '\t' || !isHiddenRune(r) || r > 0x9f && r < 0x2000:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// escapeLength returns the length of a terminal control sequence (ECMA-48).
func escapeLength(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return min(2, len(s))
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}

// checkText rejects text that a user cannot read the way the shell interprets it, because it
// contains invisible characters or characters that change the text direction.
func checkText(text string) error {
	bad := func(message, remedy string) error {
		return &Refusal{Err: ErrInvalid, Message: message, Remedy: remedy}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return bad("the command is empty", "name a program")
	case !utf8.ValidString(text):
		return bad("the command is not valid UTF-8", "encode the command in UTF-8")
	case utf8.RuneCountInString(text) > MaxText:
		return bad(fmt.Sprintf("the command is longer than %d characters", MaxText), "put long text into a file, or split the command")
	}
	for _, r := range text {
		if isHiddenRune(r) {
			return bad(fmt.Sprintf("the command contains an invisible character (%U)", r), "remove the character")
		}
	}
	return nil
}

func isHiddenRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return true
	case unicode.Is(unicode.Zs, r) && r != ' ', unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r == 0x3164, r == 0x115F, r == 0x1160, r == 0xFFA0, r == 0x2800:
		return true
	}
	return false
}

// parseBash parses a command as Bash does.
func parseBash(text string) (*syntax.File, error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, &Refusal{Err: ErrInvalid, Message: "the command is not valid shell syntax: " + err.Error(), Remedy: "correct the syntax"}
	}
	return f, nil
}
