package channels

import "strings"

// item is the list item at a position in text (CommonMark 0.31, section 5.2, without the rules for
// interrupting a paragraph).
type item struct {
	start, indent int
	open          bool
	blank         bool // the last line was blank
}

// nextLine processes the line at offset at.
func (i *item) nextLine(line string, at int) {
	indent, marked := bulletIndent(line)
	switch {
	case strings.TrimSpace(line) == "":
		i.blank = true
		return
	case marked && (!i.open || indent <= i.indent):
		*i = item{start: at, indent: indent, open: true}
	case i.open && indent <= i.indent && i.blank: // without a preceding blank line, the line is a lazy continuation
		i.open = false
	}
	i.blank = false
}

// itemAt returns the start of the list item that a cut at end would divide, or 0 if there is none.
func itemAt(text string, end int) int {
	var it item
	at := 0
	for at < end {
		line, _, more := strings.Cut(text[at:], "\n")
		it.nextLine(line, at)
		at += len(line) + 1
		if !more {
			break
		}
	}
	if at == end || at == end+1 { // the cut is at the end of a line: check whether the next line belongs to the item
		was := it
		line, _, _ := strings.Cut(text[min(at, len(text)):], "\n")
		if it.nextLine(line, at); !it.open || it.start != was.start {
			return 0
		}
	}
	if !it.open {
		return 0
	}
	return it.start
}

// itemFits reports whether the list item at the start of text fits into one part.
func (c textCutter) itemFits(text string) bool {
	var it item
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		if it.nextLine(line, at); at > 0 && (!it.open || it.start > 0) {
			return true
		}
		if at += len(line) + 1; c.textLength(text[:min(at-1, len(text))]) > c.limit {
			return false
		}
	}
	return true
}

// bulletIndent returns the indent of a line, and whether it starts a list item.
func bulletIndent(line string) (indent int, marked bool) {
	s := strings.TrimLeft(line, " ")
	indent = len(line) - len(s)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case digits > 0 && digits < 10:
		s = s[digits:]
		marked = strings.HasPrefix(s, ". ") || strings.HasPrefix(s, ") ")
	default:
		marked = strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") || strings.HasPrefix(s, "+ ") || strings.HasPrefix(s, "\u2022 ")
	}
	return indent, marked
}
