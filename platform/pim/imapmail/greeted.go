package imapmail

import (
	"bytes"
	"net"
	"strings"
	"sync"

	"hob/platform/pim"
)

// maxGreeting is how much of a greeting is kept, in bytes.
const maxGreeting = 500

// greeted stores the first line from the server. A server that refuses the
// connection sends it and closes at once, and go-imap may report only the closed
// connection.
type greeted struct {
	net.Conn

	mu   sync.Mutex
	line []byte
	over bool
}

// Read implements net.Conn.
func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		line, _, end := bytes.Cut(p[:n], []byte("\n"))
		g.line = append(g.line, line[:min(len(line), maxGreeting-len(g.line))]...)
		g.over = end || len(g.line) == maxGreeting
	}
	return n, err
}

// closingText returns the text of a refusing greeting, without its code.
func (g *greeted) closingText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := string(g.line)
	if len(text) < 6 || !strings.EqualFold(text[:6], "* BYE ") {
		return ""
	}
	if text = text[6:]; strings.HasPrefix(text, "[") {
		if _, after, ok := strings.Cut(text, "]"); ok {
			text = after
		}
	}
	return pim.SanitizeLine(text, 200)
}
