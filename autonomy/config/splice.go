package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// putValue inserts the value into the text and returns the previous value.
func (d *document) putValue(path []string, written string) ([]byte, string, error) {
	if e := d.findEntry(path); e != nil {
		if e.isHeader() {
			return nil, "", &Error{File: d.file, Line: e.line, Key: joinKey(path), Msg: "written as a section; edit the file by hand"}
		}
		return d.spliceText(e.value, e.end, written), string(d.text[e.value:e.end]), nil
	}
	parent, last := path[:len(path)-1], path[len(path)-1]
	if e := d.findEntry(parent); len(parent) > 0 && e != nil && !e.isHeader() {
		return d.putInline(e, last, written)
	}
	nl := "\n"
	if bytes.Contains(d.text, []byte("\r\n")) {
		nl = "\r\n"
	}
	if at, ok := d.endOfTable(parent, last); ok {
		return d.insertLine(at, quoteKey(last)+" = "+written, nl), "", nil
	}
	// The table may consist of dotted keys, such as `agent.name = ..` at the top, or `b.c = ..`
	// below [a]. Insert the key after the last of them.
	for i := len(d.entries) - 1; i >= 0; i-- {
		e := &d.entries[i]
		if e.isHeader() || e.inline || len(e.path) <= len(parent) || !slices.Equal(e.path[:len(parent)], parent) || len(e.table) >= len(parent) {
			continue
		}
		return d.insertLine(d.lineEnd(e.end), joinKey(path[len(e.table):])+" = "+written, nl), "", nil
	}
	section := "[" + joinKey(parent) + "]" + nl + quoteKey(last) + " = " + written
	if len(bytes.TrimSpace(d.text)) > 0 {
		section = nl + section
	}
	return d.insertLine(len(d.text), section, nl), "", nil
}

func (d *document) spliceText(from, to int, s string) []byte {
	return slices.Concat(d.text[:from], []byte(s), d.text[to:])
}

// insertLine inserts a line at an offset at which a line starts, or at the end.
func (d *document) insertLine(at int, line, nl string) []byte {
	if at == len(d.text) && at > 0 && d.text[at-1] != '\n' {
		line = nl + line
	}
	return d.spliceText(at, at, line+nl)
}

// endOfTable returns the position for a new key in the table: after the commented-out default of
// the same key, or else after the last value in the table.
func (d *document) endOfTable(table []string, key string) (int, bool) {
	at, next := -1, len(d.text)
	for _, e := range d.entries {
		if at >= 0 && e.isHeader() {
			next = e.start
			break
		}
		if (e.kind == unstable.Table && slices.Equal(e.path, table)) || (at >= 0 && !e.inline) {
			at = d.lineEnd(e.end)
		}
	}
	if at < 0 {
		return 0, false
	}
	start := d.findEntry(table).start
	for l := d.lineNumber(start); l < len(d.lines) && d.lines[l] < next; l++ {
		line, _, _ := strings.Cut(string(d.text[d.lines[l]:d.lineEnd(d.lines[l])]), "=")
		if c, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok && strings.TrimSpace(c) == key {
			return d.lineEnd(d.lines[l]), true
		}
	}
	return at, true
}

// putInline adds a key to `section = { .. }`.
func (d *document) putInline(e *entry, key, written string) ([]byte, string, error) {
	value := d.text[e.value:e.end]
	if e.kind != unstable.InlineTable || bytes.ContainsAny(value, "\n") {
		return nil, "", &Error{File: d.file, Line: e.line, Key: joinKey(e.path), Msg: "its section is written in a form that this command cannot edit; edit the file by hand: hob config path"}
	}
	inner := bytes.TrimRight(value[:len(value)-1], " \t,")
	add := ", "
	if len(inner) == 1 {
		add = " "
	}
	s := string(inner) + add + quoteKey(key) + " = " + written + " }"
	return d.spliceText(e.value, e.end, s), "", nil
}
