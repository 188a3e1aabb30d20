package channels

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Split cuts a text into parts of at most limit characters (runes). See SplitFor.
func Split(text string, limit int) []string { return SplitFor(text, Limits{MaxText: limit}) }

// SplitFor splits a text within the platform's limits, at the end of a paragraph if possible,
// else of a line, else of a word, and only then inside a word, but never inside a
// user-perceived character (UAX 29, extended grapheme clusters). A list item or a fenced code
// block that fits into one part is not cut; a longer block is closed at the end of a part and
// reopened in the next, and the head of a table is repeated. Links, code and strong words are
// not cut between their words. White space at the cuts is dropped. A limit of 0 or less means
// none.
func SplitFor(text string, l Limits) []string {
	c := cutter{limit: l.MaxText, utf16: l.UTF16}
	if c.limit <= 0 || len(text) <= c.limit || c.length(text) <= c.limit {
		return []string{text}
	}
	var parts []string
	for rest := text; rest != ""; {
		var part string
		part, rest = c.part(rest)
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 { // only white
		parts = []string{text[:c.offset(text, c.limit)]}
	}
	return parts
}

// cutter counts characters like a platform does.
type cutter struct {
	limit int
	utf16 bool
}

// Length returns the length of a text in characters of a platform.
func Length(text string, l Limits) int { return cutter{utf16: l.UTF16}.length(text) }

func (c cutter) length(text string) (n int) {
	if !c.utf16 {
		return utf8.RuneCountInString(text)
	}
	for _, r := range text {
		n += c.of(r)
	}
	return n
}

func (c cutter) of(r rune) int {
	if c.utf16 && r > 0xFFFF { // a surrogate pair
		return 2
	}
	return 1
}

// offset returns the byte offset after the last rune that fits into n characters.
func (c cutter) offset(s string, n int) int {
	for i, r := range s {
		if n -= c.of(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// whole moves a cut to the left so that it divides no grapheme cluster, unless the cluster
// alone is longer than a part.
func (cutter) whole(text string, end int) int {
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

// part cuts the first part off a text.
func (c cutter) part(text string) (part, rest string) {
	end := c.offset(text, c.limit)
	if end == len(text) {
		return text, ""
	}
	if end == 0 { // a limit below one character of the text
		_, end = utf8.DecodeRuneInString(text)
	}
	m := scan(text, end)
	if at := itemAt(text, end); at > 0 && m.open.mark == "" && c.itemFits(text[at:]) {
		return cutAt(text, at)
	}
	switch {
	case m.paragraph > end/2:
		return cutAt(text, m.paragraph)
	case m.line > end/4:
		return c.lineAt(text, m.line)
	case m.open.mark != "" && m.open.start == 0:
		if part, rest, ok := c.fence(text, m.open); ok {
			return part, rest
		}
	}
	if m.line > 0 {
		return c.lineAt(text, m.line)
	}
	if i := c.wordAt(text, end); i > 0 {
		return cutAt(text, i)
	}
	end = c.whole(text, end)
	return text[:end], text[end:]
}

// cutAt cuts a text and drops the white space on both sides, but keeps the indent of the
// following line.
func cutAt(text string, i int) (part, rest string) {
	part, rest = strings.TrimRight(text[:i], " \t\r\n"), text[i:]
	if strings.HasPrefix(rest, " ") && !strings.HasSuffix(text[:i], "\n") {
		rest = strings.TrimLeft(rest, " \t")
	}
	return part, strings.TrimLeft(rest, "\r\n")
}

// fence cuts inside a code block that begins near the start of the text.
func (c cutter) fence(text string, f fence) (part, rest string, ok bool) {
	closing := "\n" + f.mark
	room := c.limit - c.length(closing)
	if room < 2*c.length(f.opener)+8 {
		return "", "", false // the limit is too small
	}
	end := c.whole(text, c.offset(text, room))
	body := f.start + len(f.opener) + 1 // first byte inside the block
	i := strings.LastIndexByte(text[:end], '\n')
	if i < body {
		i = end // one line longer than a part
	}
	if i <= body {
		return "", "", false
	}
	return text[:i] + closing, f.opener + "\n" + strings.TrimPrefix(text[i:], "\n"), true
}

// fence is an open code block (CommonMark 0.31, section 4.5).
type fence struct {
	mark   string // "```" or longer, or tildes
	opener string // its whole first line
	start  int    // offset of that line
}

// marks holds the last good places to cut before a limit, 0 for none.
type marks struct {
	paragraph, line int
	open            fence // the block that contains the limit
}

// scan finds places to cut in text[:end] outside of code blocks.
func scan(text string, end int) marks {
	var m marks
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

// fenceMark returns the run of back-ticks or tildes with which a line opens or
// closes a code block, and what follows it.
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
