package pim

import (
	"net"
	"strings"
	"sync/atomic"
	"unicode"

	"hob/platform/text/textnorm"
)

// SanitizeLine sanitizes untrusted text to one line of at most n characters.
func SanitizeLine(s string, n int) string {
	return textnorm.Ellipsize(strings.Join(strings.FieldsFunc(SanitizeText(s), unicode.IsSpace), " "), n)
}

// SanitizeText removes broken UTF-8, bidi controls and control characters except tabs
// and line breaks.
func SanitizeText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}

// Bounded is a connection that gives at most as many bytes as were allowed since
// the last Allow. A server that sends more is cut off.
type Bounded struct {
	net.Conn
	left atomic.Int64
}

// Bound wraps c; n bytes may come at first.
func Bound(c net.Conn, n int64) *Bounded {
	b := &Bounded{Conn: c}
	b.left.Store(n)
	return b
}

// Allow lets n further bytes come, counted from now.
func (b *Bounded) Allow(n int64) { b.left.Store(n) }

// Read implements net.Conn.
func (b *Bounded) Read(p []byte) (int, error) {
	left := b.left.Load()
	if left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), left)])
	b.left.Add(int64(-n))
	return n, err
}
