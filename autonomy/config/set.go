package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"hob/platform/host/system"
)

// Change describes one change made by Set.
type Change struct {
	Key     string
	Old     string // the old value as written; "" if it was not in the file
	New     string // the new value as it is written in the file
	Warning string // set if the value is valid but risky
}

// Set writes one value and leaves the rest of the file unchanged, including comments and order. The
// value is written as on a command line: text needs no quotes, and a list is [..] or separated by
// commas. Set writes nothing if the result would have a new mistake, including the Errors that a
// check returns.
func Set(path, key, value string, checks ...func(*Config) error) (Change, error) {
	ch, err := SetAll(path, []Value{{key, value}}, checks...)
	if err != nil {
		return Change{}, err
	}
	return ch[0], nil
}

// Value is a key and its new value.
type Value struct{ Key, Value string }

// SetAll is like Set, but sets several keys together: all of them or none.
func SetAll(path string, values []Value, checks ...func(*Config) error) ([]Change, error) {
	before, after, changes, err := prepareChanges(path, values, checks...)
	if err != nil || before != nil && bytes.Equal(before, after) {
		return changes, err
	}
	return changes, system.WriteFile(path, after)
}

// CanSet returns the error that SetAll would return for the values. It writes nothing.
func CanSet(path string, values []Value) error {
	_, _, _, err := prepareChanges(path, values)
	return err
}

// Preview returns the change that Set would make. It writes nothing.
func Preview(path, key, value string, checks ...func(*Config) error) (Change, error) {
	_, _, ch, err := prepareChanges(path, []Value{{key, value}}, checks...)
	if err != nil {
		return Change{}, err
	}
	return ch[0], nil
}

// prepareChanges is like SetAll, but does not write. before is nil if there is no file.
func prepareChanges(path string, values []Value, checks ...func(*Config) error) (before, after []byte, changes []Change, err error) {
	if before, _, err = readConfigFile(path); err != nil {
		return nil, nil, nil, err
	}
	if after = before; after == nil {
		after = Template()
	}
	was, had := Parse(path, after)
	for _, v := range values {
		out, ch, err := editText(path, after, v.Key, v.Value)
		if err != nil {
			return nil, nil, nil, err
		}
		after, changes = out, append(changes, ch)
	}
	c, has := Parse(path, after)
	if has != nil {
		if err := newMistakes(had, has); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, check := range checks {
		if had != nil || has != nil {
			break // checks need a valid configuration
		}
		if err := newMistakes(check(was), check(c)); err != nil {
			return nil, nil, nil, err
		}
	}
	return before, after, changes, nil
}

// editText is like Set, but edits text in memory and does not validate the resulting file.
func editText(name string, text []byte, key, value string) ([]byte, Change, error) {
	path := splitKey(key)
	root := keySchema{reflect.TypeFor[configFile]()}
	s, err := keyShape(root, path)
	if err != nil {
		return nil, Change{}, err
	}
	written, err := encodeValue(s, path[len(path)-1], value)
	if err != nil {
		return nil, Change{}, fmt.Errorf("%s: %w", key, err)
	}
	d, err := parseDocument(name, text)
	if err != nil {
		return nil, Change{}, err
	}
	out, old, err := d.putValue(path, written)
	if err != nil {
		return nil, Change{}, err
	}
	if d.bom {
		out = append([]byte(bom), out...)
	}
	ch := Change{Key: key, Old: hideSecret(path, old), New: hideSecret(path, written)}
	if isSecretPath(path) && value != "" && !system.IsReference(value) {
		ch.Warning = fmt.Sprintf("%s now contains the secret itself; move the secret to the keychain or to an encrypted file: hob secret adopt %s", key, key)
	}
	return out, ch, nil
}

// hideSecret replaces a secret, but not a reference to one.
func hideSecret(path []string, written string) string {
	if isSecretPath(path) && strings.Trim(written, `"'`) != "" && !system.IsReference(strings.Trim(written, `"'`)) {
		return "[redacted]"
	}
	return written
}

// keyShape returns the schema of the key at path. The error names the most similar key.
func keyShape(root keySchema, path []string) (keySchema, error) {
	s := root
	for i, name := range path {
		if free := s.Kind() == reflect.Map && s.Elem() == reflect.TypeFor[Price]() && oneLine(name); !free && !bareKey(name) {
			return s, fmt.Errorf("%q is not a key; write it as agent.name, with letters, digits, - and _", strings.Join(path, "."))
		}
		next, ok := s.findField(name)
		if !ok {
			return s, fmt.Errorf("%s: %s", joinKey(path[:i+1]), unknownKey(root, s, path, 0, i))
		}
		if s = next; s.isSectionList() && (!s.canStandAlone() || i == len(path)-1) {
			return s, fmt.Errorf("%s is a list of sections; edit the file by hand: hob config path", joinKey(path[:i+1]))
		}
	}
	if s.isSection() && s.Kind() != reflect.Interface {
		if s.isOpen() {
			return s, fmt.Errorf("%s is a section; set one of its keys, such as %s.enabled", joinKey(path), joinKey(path))
		}
		return s, fmt.Errorf("%s is a section; set one of its keys: %s", joinKey(path), strings.Join(s.fieldNames(), ", "))
	}
	return s, nil
}

// encodeValue encodes a value as TOML.
func encodeValue(s keySchema, last, value string) (string, error) {
	kind, ok := kindOfText(value)
	switch {
	case s.isOpen():
		if ok && plainKind(kind, value) && !strings.Contains(value, "\n") && !isSecretKey(last) {
			return value, nil
		}
		return quoteString(value), nil
	case s.Kind() == reflect.Slice:
		if ok && kind == unstable.Array {
			return value, nil
		}
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, quoteString(item))
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case s.canTakeKind(unstable.String):
		if ok && kind == unstable.String && len(value) > 1 {
			return value, nil // the user wrote the quotes
		}
		return quoteString(value), nil
	}
	if !ok || !s.canTakeKind(kind) {
		return "", fmt.Errorf("%q: must be %s", value, s.describeAccepted())
	}
	return value, nil
}

// plainKind reports whether a driver's value, written without quotes, keeps the TOML kind k. Words
// such as "nan" and dates become strings instead.
func plainKind(k unstable.Kind, value string) bool {
	switch k {
	case unstable.Bool, unstable.Integer, unstable.Array, unstable.InlineTable, unstable.String:
		return true
	case unstable.Float:
		return !strings.ContainsAny(value, "in")
	}
	return false
}

// quoteString returns s as a TOML 1.0 basic string.
func quoteString(s string) string {
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

// newMistakes returns the mistakes in after that are not in before, so that a file with two
// mistakes can be fixed one by one.
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
