package config

import (
	"bytes"
	"fmt"
)

// Text edits configurations in memory, to merge settings from a template into the owner's file. It
// implements templates.Editor.
type Text struct{}

// Value returns the effective value of a key, and whether the text itself sets it.
func (Text) Value(text []byte, key string) (any, bool, error) {
	c, err := Parse("config.toml", text)
	if err != nil {
		return nil, false, err
	}
	v, err := c.Get(key)
	if err != nil {
		return nil, false, err
	}
	return v, c.doc.findEntry(splitKey(key)) != nil, nil
}

// Set sets a key to a value written as TOML. Comments and order are preserved.
func (Text) Set(text []byte, key, value string) ([]byte, error) {
	out, _, err := editText("config.toml", text, key, value)
	return out, err
}

// Unset removes the line of a key. The section stays, even if it becomes empty.
func (Text) Unset(text []byte, key string) ([]byte, error) {
	d, err := parseDocument("config.toml", text)
	if err != nil {
		return nil, err
	}
	e := d.findEntry(splitKey(key))
	switch {
	case e == nil:
		return text, nil
	case e.inline:
		return d.unsetInline(e), nil
	case e.isHeader():
		return nil, &Error{File: d.file, Line: e.line, Key: key, Msg: "written in a form that cannot be edited automatically; edit the file by hand"}
	}
	from := d.lines[e.line-1]
	to := d.lineEnd(e.end)
	if len(bytes.TrimSpace(d.text[from:e.start])) > 0 {
		return nil, fmt.Errorf("%s is not at the beginning of its line; edit the file by hand", key)
	}
	return d.restoreBOM(d.spliceText(from, to, "")), nil
}

// restoreBOM restores the byte order mark.
func (d *document) restoreBOM(text []byte) []byte {
	if d.bom {
		return append([]byte(bom), text...)
	}
	return text
}

// unsetInline removes a key from `section = { .. }`, together with the comma after or before it.
func (d *document) unsetInline(e *entry) []byte {
	from, to := e.start, e.end
	rest := bytes.TrimLeft(d.text[to:], " \t")
	if next, ok := bytes.CutPrefix(rest, []byte(",")); ok {
		to = len(d.text) - len(bytes.TrimLeft(next, " \t"))
	} else {
		head := bytes.TrimRight(d.text[:from], " \t")
		from = len(bytes.TrimSuffix(head, []byte(",")))
	}
	return d.restoreBOM(d.spliceText(from, to, ""))
}

// Check returns the mistakes in after that are not in before.
func (Text) Check(before, after []byte) error {
	_, had := Parse("config.toml", before)
	if _, has := Parse("config.toml", after); has != nil {
		return newMistakes(had, has)
	}
	return nil
}
