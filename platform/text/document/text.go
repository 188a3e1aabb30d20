package document

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	xunicode "golang.org/x/text/encoding/unicode"
)

// DecodeText converts text to UTF-8. It detects UTF-16 and UTF-8 by their byte order marks, UTF-16
// without such a mark by its zero bytes, and valid UTF-8. It decodes other text as Windows-1252, a
// superset of Latin-1 (https://encoding.spec.whatwg.org/#names-and-labels). ok is false for binary
// data.
func DecodeText(b []byte) (string, bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return utf16(b, xunicode.LittleEndian)
	case bytes.IndexByte(b, 0) >= 0:
		if big, ok := detectUTF16(b); ok {
			return utf16(b, big)
		}
		return "", false
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if utf8.Valid(dropPartialRune(b)) {
		return string(dropPartialRune(b)), true
	}
	if countControlBytes(b)*100 > len(b)*2 {
		return "", false
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(b)
	return string(out), err == nil
}

// dropPartialRune removes a truncated character at the end.
func dropPartialRune(b []byte) []byte {
	for i := 1; i <= min(3, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// countControlBytes counts the control characters that do not occur in normal text.
func countControlBytes(b []byte) (n int) {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b || c == 0x7f {
			n++
		}
	}
	return n
}

// detectUTF16 detects UTF-16 without a byte order mark: nearly every second byte is
// zero.
func detectUTF16(b []byte) (xunicode.Endianness, bool) {
	b = b[:min(len(b), 4096)]
	var at [2]int
	for i, c := range b {
		if c == 0 {
			at[i%2]++
		}
	}
	half := len(b) / 2
	switch {
	case at[1]*10 > half*8 && at[0]*20 < half:
		return xunicode.LittleEndian, true
	case at[0]*10 > half*8 && at[1]*20 < half:
		return xunicode.BigEndian, true
	}
	return xunicode.LittleEndian, false
}

func utf16(b []byte, order xunicode.Endianness) (string, bool) {
	out, err := xunicode.UTF16(order, xunicode.UseBOM).NewDecoder().Bytes(b[:len(b)&^1])
	if err != nil || bytes.Count(out, []byte("\uFFFD"))*20 > len(out) {
		return "", false
	}
	return string(out), true
}

// decodeOrError works like DecodeText, but returns an error for binary data.
func decodeOrError(b []byte) (string, error) {
	s, ok := DecodeText(b)
	if !ok {
		return "", unsupportedError("binary data")
	}
	return dropControlRunes(s), nil
}

// parseText reads plain text. A line that follows an empty line and is underlined, or is in
// capitals between empty lines, is a heading.
func (p *parser) parseText(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	b := &sectionBuilder{}
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		alone := (i == 0 || strings.TrimSpace(lines[i-1]) == "") && l != "" && len(l) < 80
		if alone && i+1 < len(lines) && isUnderline(lines[i+1], l) {
			b.startHeading(1, l)
			i++
			continue
		}
		if alone && i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == "" && isAllCaps(l) {
			b.startHeading(1, l)
			continue
		}
		b.addLine(lines[i])
	}
	d.Sections = b.finishSections()
	return d, nil
}

// isUnderline reports whether a line consists only of characters that underline a heading.
func isUnderline(l, heading string) bool {
	l = strings.TrimSpace(l)
	return len(l) >= 3 && len(l)*2 >= len(heading) && (strings.Trim(l, "=") == "" || strings.Trim(l, "-") == "")
}

// isAllCaps reports whether a line has at least four capital letters and no lower-case ones.
func isAllCaps(l string) bool {
	letters := 0
	for _, r := range l {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters >= 4
}

// sectionBuilder collects lines under headings.
type sectionBuilder struct {
	out  []Section
	path []string // headings by level, starting at 1
	b    strings.Builder
}

// startHeading starts a section under a heading of the given level, which starts at 1.
func (s *sectionBuilder) startHeading(level int, title string) {
	s.closeSection()
	level = min(max(level, 1), 6)
	for len(s.path) < level {
		s.path = append(s.path, "")
	}
	s.path = append(s.path[:level-1:level-1], strings.TrimSpace(title))
}

func (s *sectionBuilder) addLine(l string) {
	s.b.WriteString(strings.TrimRight(l, " \t"))
	s.b.WriteByte('\n')
}

func (s *sectionBuilder) closeSection() {
	text := strings.Trim(s.b.String(), "\n")
	s.b.Reset()
	if strings.TrimSpace(text) != "" {
		s.out = append(s.out, Section{Heading: append([]string(nil), s.path...), Text: text})
	}
}

func (s *sectionBuilder) finishSections() []Section {
	s.closeSection()
	return s.out
}
