package chatui

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// Paste is a long text that the user pasted. Mark is its placeholder in the message.
type Paste struct{ Mark, Name, Text string }

// newPaste returns paste number n.
func newPaste(n int, text string) Paste {
	name := fmt.Sprintf("%d, %s", n, textnorm.FormatLength(text))
	return Paste{Mark: "[pasted text #" + name + "]", Name: "#" + name, Text: text}
}

var pasteMark = lazyregexp.New(`\[pasted text #(\d+), [\d,]+ characters\]`)

// pastesIn returns the pastes whose placeholders are in a message, each once. A placeholder that the
// user typed is text.
func pastesIn(text string, pastes []Paste) (out []Paste) {
	for _, found := range pasteMark.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil || n < 1 || n > len(pastes) || pastes[n-1].Mark != found[0] || slices.Contains(out, pastes[n-1]) {
			continue
		}
		out = append(out, pastes[n-1])
	}
	return out
}

// IsLeaving reports whether a message leaves the chat.
func IsLeaving(text string) bool {
	switch strings.ToLower(text) {
	case "exit", "quit", "/exit", "/quit":
		return true
	}
	return false
}

// The marks that enclose a paste (xterm, "Bracketed Paste Mode").
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// terminal is a terminal as an input.
type terminal interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// terminalOf returns in as a terminal. Another reader cannot be written to and has no descriptor.
func terminalOf(in io.Reader) terminal {
	if t, ok := in.(terminal); ok {
		return t
	}
	return plainInput{in}
}

type plainInput struct{ io.Reader }

func (plainInput) Write(b []byte) (int, error) { return len(b), nil }
func (plainInput) Close() error                { return nil }
func (plainInput) Fd() uintptr                 { return ^uintptr(0) }

// pasteGuard reads a terminal and ends a paste whose end is missing when the user presses Ctrl-C.
// Otherwise everything that is typed would become part of the paste. A Ctrl-C inside a complete
// paste counts as text; otherwise the rest of the paste would be read as keys.
type pasteGuard struct {
	terminal

	pasting bool
	match   int       // number of bytes of the next mark that were read
	last    time.Time // the last read
}

// pasteIdle is the time after which a single byte does not belong to a paste. A terminal sends a paste
// without pauses.
const pasteIdle = 300 * time.Millisecond

// Read implements io.Reader. It returns fewer bytes than fit into b, so that there is room for the end
// of a paste.
func (g *pasteGuard) Read(b []byte) (int, error) {
	n, err := g.terminal.Read(b[:max(1, len(b)-len(pasteEnd))])
	idle := time.Since(g.last) >= pasteIdle
	if n > 0 {
		g.last = time.Now()
	}
	if g.pasting && idle && n == 1 && b[0] == 0x03 && len(b) > len(pasteEnd) {
		g.pasting, g.match = false, 0
		return copy(b, pasteEnd+"\x03"), err
	}
	for _, c := range b[:n] {
		mark := pasteStart
		if g.pasting {
			mark = pasteEnd
		}
		switch {
		case c == mark[g.match]:
			if g.match++; g.match == len(mark) {
				g.pasting, g.match = !g.pasting, 0
			}
		case c == mark[0]:
			g.match = 1
		default:
			g.match = 0
		}
	}
	return n, err
}
