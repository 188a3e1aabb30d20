// Package promptfence marks the beginning and end of untrusted text in a prompt, so that a model
// can distinguish it from text by Hob or the user. Each text gets a random border when it is
// ingested. Its author cannot know the border and therefore cannot end the fence. The border is
// stored with the text, so that the text looks the same in every request.
//
// A fence is effective only with a cooperative model. No decision may depend on it.
package promptfence

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// New returns a random border for text.
func New(text string) string {
	for {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		if id := hex.EncodeToString(b[:]); !strings.Contains(text, id) {
			return id
		}
	}
}

// Wrap encloses text in tags that contain id, a border from New. from names the source of the text,
// and warning states the detected signs of an attack. Both may be empty, and both are sanitized to
// one line.
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

// escapeAttribute escapes s so that it cannot close the quotes or end the line.
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
