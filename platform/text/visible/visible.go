// Package visible removes characters from text that a terminal would interpret or that a reader
// cannot see: control characters, direction controls, zero-width characters, and the tag characters
// that can hide a whole message. The output of all commands passes through it.
package visible

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without hidden characters. It keeps line breaks and tabs, and joiners that scripts
// and emoji need. Invalid UTF-8 becomes U+FFFD.
func Text(s string) string {
	return rewriteHidden(s, func(*strings.Builder, rune) {})
}

// JSON returns JSON text with hidden characters written as \uXXXX. In JSON such characters occur
// only inside strings, so the values do not change.
func JSON(s string) string {
	return rewriteHidden(s, func(b *strings.Builder, r rune) {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff) // surrogate pair in UTF-16, RFC 8259 section 7
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	})
}

// Escape returns the complete text on one line. It writes line breaks, control characters, and
// characters that show nothing or change the direction of text as escape sequences such as \u202e.
// Invalid UTF-8 becomes U+FFFD.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == ' ' || unicode.IsPrint(r) && !isBlankRune(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		if q = q[1 : len(q)-1]; isBlankRune(r) {
			q = fmt.Sprintf("\\u%04x", r)
		}
		b.WriteString(q)
	}
	return b.String()
}

// isBlankRune reports whether r is a character that Unicode counts as printable but that shows
// nothing: Hangul fillers, the empty Braille pattern, unwritten Khmer vowels, joiners and variation
// selectors.
func isBlankRune(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

func rewriteHidden(s string, hidden func(b *strings.Builder, r rune)) string {
	clean := true
	prev := rune(0)
	for _, r := range s {
		if r == utf8.RuneError || Hidden(prev, r) {
			clean = false
			break
		}
		prev = r
	}
	if clean {
		return s
	}
	var b strings.Builder
	prev = 0
	for _, r := range s {
		if Hidden(prev, r) {
			hidden(&b, r)
			continue
		}
		b.WriteRune(r)
		prev = r
	}
	return b.String()
}

// Hidden reports whether r is invisible or controls a terminal. prev is the visible character
// before r, or 0 at the beginning.
func Hidden(prev, r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r): // C0, DEL and C1
		return true
	case r < 0xad:
		return false
	case unicode.Is(unicode.Bidi_Control, r):
		return true
	case r == 0x200d: // a joiner, used in emoji that consist of several parts and in scripts that join letters
		return !mayPrecedeJoiner(prev)
	case r == 0x200c:
		return !mayPrecedeJoiner(prev) || unicode.Is(unicode.So, prev)
	case r == 0xfe0e || r == 0xfe0f: // selects the text or emoji form of the previous character
		return prev == 0 || unicode.IsSpace(prev)
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) ||
		r >= 0xfff0 && r <= 0xfff8 || r >= 0xe0000 && r <= 0xe0fff
}

// mayPrecedeJoiner reports whether a joiner may follow prev, which must be an emoji or a letter of
// a script in which a joiner changes the form of letters.
func mayPrecedeJoiner(prev rune) bool {
	return unicode.Is(unicode.So, prev) || unicode.Is(unicode.Sk, prev) && prev >= 0x1f3fb || prev == 0xfe0f ||
		unicode.In(prev, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
			unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian)
}

// Writer forwards text without hidden characters. If a write ends within a character, it buffers
// the incomplete character until the next write; Flush writes it. Writer is not safe for concurrent
// use.
type Writer struct {
	W    io.Writer
	rest []byte
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	text := append(w.rest, b...)
	n := Whole(text)
	w.rest = append([]byte(nil), text[n:]...)
	if _, err := io.WriteString(w.W, Text(string(text[:n]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes the incomplete character that the last write left in the buffer.
func (w *Writer) Flush() error {
	rest := w.rest
	w.rest = nil
	_, err := io.WriteString(w.W, Text(string(rest)))
	return err
}

// Whole returns the length of the longest prefix of b that does not end within a character.
func Whole(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		at := len(b) - i
		if !utf8.RuneStart(b[at]) {
			continue
		}
		if !utf8.FullRune(b[at:]) {
			return at
		}
		break
	}
	return len(b)
}
