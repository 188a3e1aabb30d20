package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxSize is the maximum size of a configuration file, in bytes.
const maxSize = 256 << 10

const bom = "\ufeff"

// document is a parsed file: its text (without a byte order mark) and the position of each key.
type document struct {
	file    string
	text    []byte
	bom     bool
	lines   []int // offset at which each line starts
	entries []entry
}

// entry is a key with a value, or a table header.
type entry struct {
	path  []string
	kind  unstable.Kind // kind of the value; Table or ArrayTable for headers
	elems []unstable.Kind
	data  []byte // value of a scalar
	line  int
	// start and end are the byte offsets of the entry in the text. value is the offset of its
	// value.
	start, end, value int
	table             []string // path of the table that contains the entry
	inline            bool     // whether the entry is inside an inline table or an array
	comment           string   // the comment lines directly above the entry
}

func (e *entry) isHeader() bool { return e.kind == unstable.Table || e.kind == unstable.ArrayTable }

// parseDocument parses the text. An error is an *Error.
func parseDocument(file string, text []byte) (*document, error) {
	d := &document{file: file, text: text}
	if len(text) > maxSize {
		return nil, &Error{File: file, Msg: fmt.Sprintf("the file is larger than %d KB, which is the limit; move the file elsewhere, then run: hob init", maxSize>>10)}
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return nil, &Error{File: file, Msg: "the file is written in UTF-16; save it as UTF-8"}
	}
	if rest, ok := bytes.CutPrefix(text, []byte(bom)); ok {
		d.text, d.bom = rest, true
	}
	// The parser computes offsets from the capacity of the slice.
	d.text = slices.Clip(d.text)
	d.lines = []int{0}
	for i, c := range d.text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if i := invalidUTF8(d.text); i >= 0 {
		return nil, &Error{File: file, Line: d.lineNumber(i), Msg: "this line is not valid UTF-8; save the file as UTF-8"}
	}
	// Decoding also reports duplicate keys, which the parser alone does not detect.
	var all map[string]any
	if err := toml.Unmarshal(d.text, &all); err != nil {
		return nil, d.syntaxError(err)
	}
	d.indexEntries()
	return d, nil
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// syntaxError converts a decoder's error into an *Error.
func (d *document) syntaxError(err error) error {
	e := &Error{File: d.file, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		e.Line, _ = de.Position()
		e.Key = strings.Join(de.Key(), ".")
	}
	return e
}

// lineNumber returns the number of the line that contains the offset, starting at 1.
func (d *document) lineNumber(offset int) int {
	return sort.Search(len(d.lines), func(i int) bool { return d.lines[i] > offset })
}

// lineEnd returns the end offset of the line that contains the offset.
func (d *document) lineEnd(offset int) int {
	if n := d.lineNumber(offset); n < len(d.lines) {
		return d.lines[n]
	}
	return len(d.text)
}

func (d *document) indexEntries() {
	p := unstable.Parser{KeepComments: true}
	p.Reset(d.text)
	var table []string
	var above []string
	aboveLine := 0
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Comment:
			l := d.lineNumber(int(n.Raw.Offset))
			if l != aboveLine+1 {
				above = nil
			}
			above, aboveLine = append(above, strings.TrimSpace(strings.TrimPrefix(string(n.Data), "#"))), l
			continue
		case unstable.Table, unstable.ArrayTable:
			key, from, to := keyOf(n)
			table = key
			d.entries = append(d.entries, entry{path: key, kind: n.Kind, line: d.lineNumber(from), start: from, end: to, table: key})
		case unstable.KeyValue:
			d.keyValue(n, table, table, false)
		}
		if e := &d.entries[len(d.entries)-1]; aboveLine > 0 && aboveLine == e.line-1 {
			e.comment = strings.Join(above, "\n")
		}
		above, aboveLine = nil, 0
	}
}

// keyValue adds an entry and, if its value is an inline table, the entries in it.
func (d *document) keyValue(n *unstable.Node, prefix, table []string, inline bool) {
	key, from, keyEnd := keyOf(n)
	v := n.Value()
	e := entry{
		path: slices.Concat(prefix, key), kind: v.Kind, data: bytes.Clone(v.Data), line: d.lineNumber(from),
		start: from, end: int(n.Raw.Offset + n.Raw.Length), table: table, inline: inline,
	}
	e.value = keyEnd + bytes.IndexByte(d.text[keyEnd:], '=') + 1
	for d.text[e.value] == ' ' || d.text[e.value] == '\t' {
		e.value++
	}
	at := len(d.entries)
	d.entries = append(d.entries, e)
	d.indexChildren(v, at, e.path, table)
}

// indexChildren indexes the entries of an array or an inline table.
func (d *document) indexChildren(v *unstable.Node, at int, path, table []string) {
	if v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		c := it.Node()
		switch c.Kind {
		case unstable.Comment:
		case unstable.KeyValue:
			d.keyValue(c, path, table, true)
		default:
			d.entries[at].elems = append(d.entries[at].elems, c.Kind)
			d.indexChildren(c, at, path, table)
		}
	}
}

// keyOf returns the parts of a key and its byte range.
func keyOf(n *unstable.Node) (key []string, from, to int) {
	from = -1
	for it := n.Key(); it.Next(); {
		k := it.Node()
		if from < 0 {
			from = int(k.Raw.Offset)
		}
		to = int(k.Raw.Offset + k.Raw.Length)
		key = append(key, string(k.Data))
	}
	return key, from, to
}

// findEntry returns the entry for the key. It prefers a value to a header.
func (d *document) findEntry(path []string) *entry {
	var found *entry
	for i := range d.entries {
		e := &d.entries[i]
		if slices.Equal(e.path, path) && (found == nil || found.isHeader()) {
			found = e
		}
	}
	return found
}

// lineOf returns the line of the key, or of the innermost table that contains it, or 0 if neither
// is in the file.
func (d *document) lineOf(path []string) int {
	for n := len(path); n > 0; n-- {
		if e := d.findEntry(path[:n]); e != nil {
			return e.line
		}
	}
	return 0
}

// subsectionNames lists the names directly below a section, in order.
func (d *document) subsectionNames(section ...string) []string {
	var out []string
	n := len(section)
	for _, e := range d.entries {
		if len(e.path) > n && slices.Equal(e.path[:n], section) && !slices.Contains(out, e.path[n]) {
			out = append(out, e.path[n])
		}
	}
	return out
}

// Error is one mistake in the configuration, with its position and the remedy.
type Error struct {
	File string
	Line int    // 0 if the mistake has no position in the file
	Key  string // dotted key; "" if the file cannot be read at all
	Msg  string
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&s, ":%d", e.Line)
	}
	s.WriteString(": ")
	if e.Key != "" {
		s.WriteString(e.Key + ": ")
	}
	s.WriteString(e.Msg)
	return s.String()
}

// Errors holds all mistakes, in line order.
type Errors []*Error

func (e Errors) Error() string {
	var lines []string
	for _, x := range e {
		lines = append(lines, x.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.As check each mistake.
func (e Errors) Unwrap() []error {
	var out []error
	for _, x := range e {
		out = append(out, x)
	}
	return out
}

func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
