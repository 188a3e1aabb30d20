// Package promptfence marks the bounds of untrusted text in a prompt, so that a model
// can distinguish it from text of Hob and the user. Each text gets a random
// border when it is ingested: its author cannot know the border and so cannot end
// the fence. The border is stored with the text, which therefore looks the same
// in every request.
//
// A fence only helps a cooperative model. No decision depends on it.
package promptfence

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

// Wrap adds the border to a text. from names its source and warning the detected
// attack signs; both may be empty, and both are sanitized to one line.
func Wrap(id, text, from, warning string) string {
	var b strings.Builder
	b.Grow(len(text) + len(from) + len(warning) + 64)
	b.WriteString("<outside-" + id)
	for _, a := range [2][2]string{{"from", from}, {"warning", warning}} {
		if a[1] != "" {
			b.WriteString(" " + a[0] + `="` + escapeAttribute(a[1]) + `"`)
		}
	}
	b.WriteString(">\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("</outside-" + id + ">")
	return b.String()
}

// escapeAttribute keeps an attribute within its quotes and its line.
func escapeAttribute(s string) string {
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
