package ics

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"hob/platform/pim"
)

// node is a component that can be edited. Lines that are not edited keep their text and order.
type node struct {
	name  string
	lines []string // unfolded
	kids  []*node
}

// parseTree parses data that will be changed. It rejects data that could not be written back
// completely.
func parseTree(data []byte) (*node, error) {
	if len(data) > maxData {
		return nil, fmt.Errorf("ics: %w: %d bytes", pim.ErrTooLarge, len(data))
	}
	text, whole := normalizeLines(data)
	if !whole {
		return nil, fmt.Errorf("ics: %w: the event contains unreadable lines that a change would lose; change it in the app that created it", pim.ErrInvalid)
	}
	var open []*node
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) >= maxValue {
			return nil, fmt.Errorf("ics: %w: a value in the event is too long", pim.ErrTooLarge)
		}
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.EqualFold(name, "BEGIN"):
			n := &node{name: strings.ToUpper(strings.TrimSpace(value))}
			if len(open) > 0 {
				top := open[len(open)-1]
				top.kids = append(top.kids, n)
			}
			open = append(open, n)
		case strings.EqualFold(name, "END"):
			if len(open) == 1 {
				return open[0], nil
			}
			open = open[:max(0, len(open)-1)]
		case len(open) > 0:
			top := open[len(open)-1]
			top.lines = append(top.lines, line)
		}
	}
	return nil, fmt.Errorf("ics: %w: not calendar data", pim.ErrInvalid)
}

// encodeLines encodes the component, with lines of at most 75 bytes (RFC 5545, 3.1).
func (n *node) encodeLines() []byte {
	var b strings.Builder
	n.writeTo(&b)
	return []byte(b.String())
}

func (n *node) writeTo(b *strings.Builder) {
	foldLine(b, "BEGIN:"+n.name)
	for _, l := range n.lines {
		foldLine(b, l)
	}
	for _, k := range n.kids {
		k.writeTo(b)
	}
	foldLine(b, "END:"+n.name)
}

func foldLine(b *strings.Builder, line string) {
	for room := 75; len(line) > room; room = 74 {
		i := room
		for i > 0 && !utf8.RuneStart(line[i]) {
			i--
		}
		b.WriteString(line[:i] + "\r\n ")
		line = line[i:]
	}
	b.WriteString(line + "\r\n")
}

// nameOf returns the property name of a line.
func nameOf(line string) string {
	i := strings.IndexAny(line, ";:")
	if i < 0 {
		return ""
	}
	return strings.ToUpper(line[:i])
}

// findProp returns a line's name with parameters, and its value.
func (n *node) findProp(name string) (head, value string, ok bool) {
	for _, l := range n.lines {
		if nameOf(l) == name {
			at := valueAt(l)
			return l[:at], l[at+1:], true
		}
	}
	return "", "", false
}

// removeProps removes all lines with a name.
func (n *node) removeProps(names ...string) {
	keep := n.lines[:0:0]
	for _, l := range n.lines {
		gone := false
		for _, name := range names {
			gone = gone || nameOf(l) == name
		}
		if !gone {
			keep = append(keep, l)
		}
	}
	n.lines = keep
}

// setProp replaces all lines with that name; value "" removes them.
func (n *node) setProp(head, value string) {
	n.removeProps(nameOf(head + ":"))
	if value != "" {
		n.lines = append(n.lines, head+":"+value)
	}
}

// setText sets a property to text, escaped.
func (n *node) setText(name, text string) { n.setProp(name, escapeText(text)) }

// escapeText escapes s as a property value (RFC 5545, 3.3.11).
func escapeText(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(strings.TrimSpace(pim.SanitizeText(s)))
}

// deepCopy returns a deep copy.
func (n *node) deepCopy() *node {
	c := &node{name: n.name, lines: append([]string{}, n.lines...)}
	for _, k := range n.kids {
		c.kids = append(c.kids, k.deepCopy())
	}
	return c
}

func tzidOf(head string) string {
	m := regexp.MustCompile(`(?i);TZID="?([^";:]+)"?`).FindStringSubmatch(head)
	if m == nil {
		return ""
	}
	return m[1]
}
