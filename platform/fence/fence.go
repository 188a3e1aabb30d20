// Package fence marks where text from outside begins and ends, so that a model
// can tell it from what Hob and its owner say. Each text gets a border of its
// own, drawn at random when the text is taken in: nobody who wrote the text
// could know it, so nothing in it can end it. The border is kept with the text,
// which is shown the same way with each request.
//
// A fence helps a model that wants to keep to it. No decision rests on one.
package fence

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// New draws a border for a text.
func New(text string) string {
	for {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		if id := hex.EncodeToString(b[:]); !strings.Contains(text, id) {
			return id
		}
	}
}

// Wrap puts the border around a text. from says where it came from, and warning
// what it looks like; both may be empty, and neither can leave its line.
func Wrap(id, text, from, warning string) string {
	var b strings.Builder
	b.Grow(len(text) + len(from) + len(warning) + 64)
	b.WriteString("<outside-" + id)
	for _, a := range [2][2]string{{"from", from}, {"warning", warning}} {
		if a[1] != "" {
			b.WriteString(" " + a[0] + `="` + harmless(a[1]) + `"`)
		}
	}
	b.WriteString(">\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("</outside-" + id + ">")
	return b.String()
}

// harmless keeps an attribute within its quotes and its line.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '<' || r == '>' || r == '&':
			return '_'
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, s)
}
