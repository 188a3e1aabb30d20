package ics

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"hob/platform/pim"
)

// node is a component for editing: untouched lines keep their text and order.
type node struct {
	name  string
	lines []string // unfolded
	kids  []*node
}

// tree reads data to be changed. What could not be written back whole is refused.
func tree(data []byte) (*node, error) {
	if len(data) > maxData {
		return nil, fmt.Errorf("ics: %w: %d bytes", pim.ErrTooLarge, len(data))
	}
	text, whole := clean(data)
	if !whole {
		return nil, fmt.Errorf("ics: %w: it contains unreadable lines that a change would lose; change it in the app that created it", pim.ErrInvalid)
	}
	var open []*node
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) >= maxValue {
			return nil, fmt.Errorf("ics: %w: it contains large data", pim.ErrTooLarge)
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

// bytes writes it, with lines of at most 75 bytes (RFC 5545, 3.1).
func (n *node) bytes() []byte {
	var b strings.Builder
	n.write(&b)
	return []byte(b.String())
}

func (n *node) write(b *strings.Builder) {
	fold(b, "BEGIN:"+n.name)
	for _, l := range n.lines {
		fold(b, l)
	}
	for _, k := range n.kids {
		k.write(b)
	}
	fold(b, "END:"+n.name)
}

func fold(b *strings.Builder, line string) {
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

// prop returns a line's name with parameters, and its value.
func (n *node) prop(name string) (head, value string, ok bool) {
	for _, l := range n.lines {
		if nameOf(l) == name {
			at := valueAt(l)
			return l[:at], l[at+1:], true
		}
	}
	return "", "", false
}

// del takes all lines of a name out.
func (n *node) del(names ...string) {
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

// set replaces all lines with that name; value "" removes them.
func (n *node) set(head, value string) {
	n.del(nameOf(head + ":"))
	if value != "" {
		n.lines = append(n.lines, head+":"+value)
	}
}

// setText sets a property to an escaped text.
func (n *node) setText(name, text string) { n.set(name, escaped(text)) }

// escaped returns a text as a property value (RFC 5545, 3.3.11).
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(strings.TrimSpace(pim.Clean(s)))
}

// clone returns a deep copy.
func (n *node) clone() *node {
	c := &node{name: n.name, lines: append([]string{}, n.lines...)}
	for _, k := range n.kids {
		c.kids = append(c.kids, k.clone())
	}
	return c
}

func tzid(head string) string {
	m := regexp.MustCompile(`(?i);TZID="?([^";:]+)"?`).FindStringSubmatch(head)
	if m == nil {
		return ""
	}
	return m[1]
}
