package channels

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// SplitFor splits text into parts within the platform's limits. It cuts at the end of a paragraph
// if possible, otherwise at the end of a line or word, and only as a last resort inside a word. It
// never splits a user-perceived character (UAX 29, extended grapheme clusters). It does not cut a
// list item or a fenced code block that fits into one part. A longer code block is closed at the
// end of a part and reopened in the next, and the header of a table is repeated. Links, code and
// strong text are not cut between their words. White space at the cuts is dropped. A limit of 0 or
// less means no limit.
func SplitFor(text string, l Limits) []string {
	c := textCutter{limit: l.MaxText, utf16: l.UTF16}
	if c.limit <= 0 || len(text) <= c.limit || c.textLength(text) <= c.limit {
		return []string{text}
	}
	var parts []string
	for rest := text; rest != ""; {
		var part string
		part, rest = c.cutPart(rest)
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 { // the text is only white space
		parts = []string{text[:c.byteOffset(text, c.limit)]}
	}
	return parts
}

// textCutter counts characters in the same way as a platform.
type textCutter struct {
	limit int
	utf16 bool
}

// Length returns the length of text in characters as the platform counts them.
func Length(text string, l Limits) int { return textCutter{utf16: l.UTF16}.textLength(text) }

func (c textCutter) textLength(text string) (n int) {
	if !c.utf16 {
		return utf8.RuneCountInString(text)
	}
	for _, r := range text {
		n += c.runeLength(r)
	}
	return n
}

func (c textCutter) runeLength(r rune) int {
	if c.utf16 && r > 0xFFFF { // the rune needs a surrogate pair
		return 2
	}
	return 1
}

// byteOffset returns the byte offset after the last rune that fits into n characters.
func (c textCutter) byteOffset(s string, n int) int {
	for i, r := range s {
		if n -= c.runeLength(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// graphemeBoundary moves a cut to the left so that it does not divide a grapheme cluster, unless
// the cluster alone is longer than a part.
func (textCutter) graphemeBoundary(text string, end int) int {
	ahead := min(len(text), end+4*utf8.UTFMax)
	for ahead < len(text) && !utf8.RuneStart(text[ahead]) {
		ahead++
	}
	at := 0
	for g := graphemes.FromString(text[:ahead]); g.Next(); {
		if at+len(g.Value()) > end {
			break
		}
		at += len(g.Value())
	}
	if at == 0 {
		return end
	}
	return at
}

// cutPart cuts the first part off text.
func (c textCutter) cutPart(text string) (part, rest string) {
	end := c.byteOffset(text, c.limit)
	if end == len(text) {
		return text, ""
	}
	if end == 0 { // the limit is below one character
		_, end = utf8.DecodeRuneInString(text)
	}
	m := findCutMarks(text, end)
	if at := itemAt(text, end); at > 0 && m.open.mark == "" && c.itemFits(text[at:]) {
		return cutAt(text, at)
	}
	switch {
	case m.paragraph > end/2:
		return cutAt(text, m.paragraph)
	case m.line > end/4:
		return c.lineAt(text, m.line)
	case m.open.mark != "" && m.open.start == 0:
		if part, rest, ok := c.cutInFence(text, m.open); ok {
			return part, rest
		}
	}
	if m.line > 0 {
		return c.lineAt(text, m.line)
	}
	if i := c.wordAt(text, end); i > 0 {
		return cutAt(text, i)
	}
	end = c.graphemeBoundary(text, end)
	return text[:end], text[end:]
}

// cutAt cuts text at i. It drops the white space on both sides, but keeps the indent of the
// following line.
func cutAt(text string, i int) (part, rest string) {
	part, rest = strings.TrimRight(text[:i], " \t\r\n"), text[i:]
	if strings.HasPrefix(rest, " ") && !strings.HasSuffix(text[:i], "\n") {
		rest = strings.TrimLeft(rest, " \t")
	}
	return part, strings.TrimLeft(rest, "\r\n")
}

// cutInFence cuts inside a code block that begins near the start of the text.
func (c textCutter) cutInFence(text string, f fence) (part, rest string, ok bool) {
	closing := "\n" + f.mark
	room := c.limit - c.textLength(closing)
	if room < 2*c.textLength(f.opener)+8 {
		return "", "", false // the limit is too small
	}
	end := c.graphemeBoundary(text, c.byteOffset(text, room))
	body := f.start + len(f.opener) + 1 // first byte inside the block
	i := strings.LastIndexByte(text[:end], '\n')
	if i < body {
		i = end // a single line longer than a part
	}
	if i <= body {
		return "", "", false
	}
	return text[:i] + closing, f.opener + "\n" + strings.TrimPrefix(text[i:], "\n"), true
}

// fence is an open code block (CommonMark 0.31, section 4.5).
type fence struct {
	mark   string // at least three backticks or tildes
	opener string // complete first line of the code block
	start  int    // offset of that line
}

// cutMarks holds the last suitable cut positions before a limit; 0 means none.
type cutMarks struct {
	paragraph, line int
	open            fence // the code block that contains the limit
}

// findCutMarks finds cut positions in text[:end] outside code blocks.
func findCutMarks(text string, end int) cutMarks {
	var m cutMarks
	for at := 0; at < end; {
		if m.open.mark == "" && at > 0 {
			m.line = at
			if strings.HasSuffix(text[:at], "\n\n") {
				m.paragraph = at
			}
		}
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			n = len(text) - at
		}
		line := text[at : at+n]
		switch mark, info := fenceMark(line); {
		case mark == "":
		case m.open.mark == "":
			m.open = fence{mark: mark, opener: line, start: at}
		case mark[0] == m.open.mark[0] && len(mark) >= len(m.open.mark) && info == "" && at+n <= end:
			m.open = fence{}
		}
		at += n + 1
		if at == end+1 && m.open.mark == "" { // the line ends exactly at the limit
			m.line = end
		}
	}
	return m
}

// fenceMark returns the run of backticks or tildes with which a line opens or closes a code block,
// and the text after the run.
func fenceMark(line string) (mark, info string) {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || len(s) < 3 || (s[0] != '`' && s[0] != '~') {
		return "", ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	info = strings.TrimSpace(s[n:])
	if n < 3 || (s[0] == '`' && strings.Contains(info, "`")) {
		return "", ""
	}
	return s[:n], info
}
