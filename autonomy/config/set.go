package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"hob/platform/system"
)

// Change tells what Set did.
type Change struct {
	Key     string
	Old     string // as it was written; "" when it was not in the file
	New     string // as it is written now
	Warning string // set when the edit works but is unwise
}

// Set writes one value and leaves the rest of the file, comments and order
// included, as it is. The value is written as for a command line: text needs no
// quotes, a list is [..] or separated by commas. Nothing is written when the
// result would have a mistake that the file does not have already.
func Set(path, key, value string) (Change, error) {
	text, _, err := read(path)
	if err != nil {
		return Change{}, err
	}
	if text == nil {
		text = Template()
	}
	out, ch, err := edit(path, text, key, value)
	if err != nil {
		return Change{}, err
	}
	if bytes.Equal(out, text) {
		return ch, nil
	}
	return ch, system.WriteFile(path, out)
}

// edit is Set without the file.
func edit(name string, text []byte, key, value string) ([]byte, Change, error) {
	path := strings.Split(key, ".")
	root := shape{reflect.TypeFor[file]()}
	s, err := keyShape(root, path)
	if err != nil {
		return nil, Change{}, err
	}
	written, err := encode(s, path[len(path)-1], value)
	if err != nil {
		return nil, Change{}, fmt.Errorf("%s: %w", key, err)
	}
	d, err := parse(name, text)
	if err != nil {
		return nil, Change{}, err
	}
	_, before := Parse(name, text)
	out, old, err := d.put(path, written)
	if err != nil {
		return nil, Change{}, err
	}
	if d.bom {
		out = append([]byte(bom), out...)
	}
	if _, after := Parse(name, out); after != nil {
		if err := newMistakes(before, after); err != nil {
			return nil, Change{}, err
		}
	}
	last := path[len(path)-1]
	ch := Change{Key: key, Old: hideSecret(last, old), New: hideSecret(last, written)}
	if isSecretKey(last) && value != "" && !system.IsReference(value) {
		ch.Warning = fmt.Sprintf("%s now holds the secret itself; better keep it in the keychain (hob config secret %s) and set the key to \"keychain:%s\"",
			key, path[max(0, len(path)-2)], path[max(0, len(path)-2)])
	}
	return out, ch, nil
}

// hideSecret hides a secret, but not a reference to one.
func hideSecret(key, written string) string {
	if isSecretKey(key) && strings.Trim(written, `"'`) != "" && !system.IsReference(strings.Trim(written, `"'`)) {
		return "[redacted]"
	}
	return written
}

// keyShape finds what a key takes; the error names the nearest one.
func keyShape(root shape, path []string) (shape, error) {
	s := root
	for i, name := range path {
		if !bareKey(name) {
			return s, fmt.Errorf("%q is not a key; write it as agent.name, with letters, digits, - and _", strings.Join(path, "."))
		}
		next, ok := s.field(name)
		if !ok {
			return s, fmt.Errorf("%s: %s", join(path[:i+1]), unknownKey(root, s, path, 0, i))
		}
		s = next
	}
	if s.section() && s.Kind() != reflect.Interface {
		if s.open() {
			return s, fmt.Errorf("%s is a section; set one of its keys, such as %s.enabled", join(path), join(path))
		}
		return s, fmt.Errorf("%s is a section; set one of its keys: %s", join(path), strings.Join(s.fields(), ", "))
	}
	return s, nil
}

// encode writes the value as TOML.
func encode(s shape, last, value string) (string, error) {
	kind, ok := kindOfText(value)
	switch {
	case s.open():
		if ok && plainKind(kind, value) && !strings.Contains(value, "\n") && !isSecretKey(last) {
			return value, nil
		}
		return quote(value), nil
	case s.Kind() == reflect.Slice:
		if ok && kind == unstable.Array {
			return value, nil
		}
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, quote(item))
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case s.takes(unstable.String):
		if ok && kind == unstable.String && len(value) > 1 {
			return value, nil // the owner wrote the quotes
		}
		return quote(value), nil
	}
	if !ok || !s.takes(kind) {
		return "", fmt.Errorf("%q: it must be %s", value, s.accepts())
	}
	return value, nil
}

// plainKind reports whether the text of a driver's value means what it looks
// like in TOML; words such as "nan" and dates are taken as text.
func plainKind(k unstable.Kind, value string) bool {
	switch k {
	case unstable.Bool, unstable.Integer, unstable.Array, unstable.InlineTable, unstable.String:
		return true
	case unstable.Float:
		return !strings.ContainsAny(value, "in")
	}
	return false
}

// quote writes a basic string of TOML 1.0.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// newMistakes returns the mistakes in after that are not in before, so that a
// file with two mistakes can be mended one by one.
func newMistakes(before, after error) error {
	was, _ := errors.AsType[Errors](before)
	is, _ := errors.AsType[Errors](after)
	known := map[string]bool{}
	for _, e := range was {
		known[e.Key+"\x00"+e.Msg] = true
	}
	var fresh Errors
	for _, e := range is {
		if !known[e.Key+"\x00"+e.Msg] {
			fresh = append(fresh, e)
		}
	}
	return fresh.orNil()
}

// put splices the value into the text and returns what stood there before.
func (d *document) put(path []string, written string) ([]byte, string, error) {
	if e := d.find(path); e != nil {
		if e.header() {
			return nil, "", &Error{File: d.file, Line: e.line, Key: join(path), Msg: "it is written as a section; edit it by hand"}
		}
		return d.splice(e.value, e.end, written), string(d.text[e.value:e.end]), nil
	}
	parent, last := path[:len(path)-1], path[len(path)-1]
	if e := d.find(parent); len(parent) > 0 && e != nil && !e.header() {
		return d.putInline(e, last, written)
	}
	nl := "\n"
	if bytes.Contains(d.text, []byte("\r\n")) {
		nl = "\r\n"
	}
	if at, ok := d.endOfTable(parent, last); ok {
		return d.insert(at, quoteKey(last)+" = "+written, nl), "", nil
	}
	// Keys such as `agent.name = ..` at the top, or `b.c = ..` under [a].
	for i := len(d.entries) - 1; i >= 0; i-- {
		e := &d.entries[i]
		if e.header() || e.inline || len(e.path) <= len(parent) || !slices.Equal(e.path[:len(parent)], parent) || len(e.table) >= len(parent) {
			continue
		}
		return d.insert(d.lineEnd(e.end), join(path[len(e.table):])+" = "+written, nl), "", nil
	}
	section := "[" + join(parent) + "]" + nl + quoteKey(last) + " = " + written
	if len(bytes.TrimSpace(d.text)) > 0 {
		section = nl + section
	}
	return d.insert(len(d.text), section, nl), "", nil
}

func (d *document) splice(from, to int, s string) []byte {
	return slices.Concat(d.text[:from], []byte(s), d.text[to:])
}

// insert puts a line at an offset where a line starts, or at the end.
func (d *document) insert(at int, line, nl string) []byte {
	if at == len(d.text) && at > 0 && d.text[at-1] != '\n' {
		line = nl + line
	}
	return d.splice(at, at, line+nl)
}

// endOfTable returns where a new key of the table goes: behind the default of
// the same key that is commented out, else behind its last value.
func (d *document) endOfTable(table []string, key string) (int, bool) {
	at, next := -1, len(d.text)
	for _, e := range d.entries {
		if at >= 0 && e.header() {
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
	start := d.find(table).start
	for l := d.line(start); l < len(d.lines) && d.lines[l] < next; l++ {
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
		return nil, "", &Error{File: d.file, Line: e.line, Key: join(e.path), Msg: "its section is written in a way that cannot be edited here; edit it by hand with: hob config path"}
	}
	inner := bytes.TrimRight(value[:len(value)-1], " \t,")
	add := ", "
	if len(inner) == 1 {
		add = " "
	}
	s := string(inner) + add + quoteKey(key) + " = " + written + " }"
	return d.splice(e.value, e.end, s), "", nil
}
