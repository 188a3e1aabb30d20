// Package config reads and edits config.toml: the typed core settings, and the raw sections of
// channel drivers, which a driver decodes strictly with Section.
//
// Unknown keys and invalid values are errors that include the file, the line and the accepted
// values. Edits preserve comments and order. The defaults and their descriptions come from
// default.toml; the short file that `hob init` writes comes from initial.toml. The package does not
// resolve secrets and does not know the drivers. The commands and the composition root call it.
package config

import (
	"bytes"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

//go:embed default.toml
var defaultText []byte

//go:embed initial.toml
var initialText []byte

// placeholder stands for the name of a section in default.toml.
const placeholder = "NAME"

// accountsTemplate is the section of an account in default.toml.
const accountsTemplate = "accounts." + placeholder

// Key describes one configuration key.
type Key struct {
	Name    string // dotted key; NAME stands for a name that the user chooses
	Accepts string // for example "text in quotes", "true or false"
	Default string // the default as written in the file
	Doc     string // one or more sentences
	Many    bool   // whether its section may occur several times, or under names that the user chooses
}

// Keys lists all core keys in documentation order. Channel keys other than "enabled" belong to the
// drivers.
func Keys() []Key {
	d, err := parseDocument("default.toml", defaultText)
	if err != nil { // cannot happen: the tests parse the template
		panic(err)
	}
	var out []Key
	for i := range d.entries {
		e := &d.entries[i]
		if e.isHeader() && joinKey(e.path) == accountsTemplate {
			out = append(out, serverKeys(accountsTemplate)...)
		}
		if e.isHeader() || e.inline {
			continue
		}
		s := keySchema{reflect.TypeFor[configFile]()}
		many := slices.Contains(e.path, placeholder)
		for _, p := range e.path {
			s, _ = s.findField(p)
			many = many || s.isSectionList()
		}
		accepts := s.describeAccepted()
		if s.isOpen() {
			accepts = shapeOf(reflect.TypeFor[bool]()).describeAccepted()
		}
		out = append(out, Key{
			Name: joinKey(e.path), Accepts: accepts, Default: string(d.text[e.value:e.end]),
			Doc: strings.ReplaceAll(e.comment, "\n", " "), Many: many,
		})
	}
	return out
}

// Template returns the short file that `hob init` writes: the most used keys with
// their defaults, commented out.
func Template() []byte { return bytes.Clone(initialText) }

// Get returns the effective value of a dotted key, or of a complete section as a map. It returns
// secrets in the file as "[redacted]".
func (c *Config) Get(key string) (any, error) {
	v := reflect.ValueOf(c.effectiveFile())
	path := splitKey(key)
	for i, name := range path {
		next, err := c.descendValue(v, path, i, name)
		if err != nil {
			return nil, err
		}
		v = next
	}
	return plainValue(v, path), nil
}

// effectiveFile returns the file with all values expanded.
func (c *Config) effectiveFile() configFile {
	f := c.file
	f.Files = c.Files
	return f
}

func (c *Config) descendValue(v reflect.Value, path []string, i int, name string) (reflect.Value, error) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid: // quiet hours that are not set
		return v, fmt.Errorf("%s is not set in %s", joinKey(path[:i+1]), c.Path())
	case reflect.Map:
		if x := v.MapIndex(reflect.ValueOf(name)); x.IsValid() {
			return x, nil
		}
		return v, fmt.Errorf("%s is not set in %s", joinKey(path[:i+1]), c.Path())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if fieldName(f) == name {
				return v.FieldByIndex(f.Index), nil
			}
		}
	}
	root := keySchema{reflect.TypeFor[configFile]()}
	s := root
	for _, p := range path[:i] {
		s, _ = s.findField(p)
	}
	return v, fmt.Errorf("%s: %s", joinKey(path[:i+1]), unknownKey(root, s, path, 0, i))
}

// plainValue converts a value into maps, lists and scalars.
func plainValue(v reflect.Value, path []string) any {
	at := func(name string) []string { return append(slices.Clone(path), name) }
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return []any{}
	}
	if d, ok := v.Interface().(Duration); ok {
		b, _ := d.MarshalText()
		return string(b)
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			if n := fieldName(f); n != "" {
				out[n] = plainValue(v.FieldByIndex(f.Index), at(n))
			}
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = plainValue(it.Value(), at(it.Key().String()))
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, plainValue(v.Index(i), at("")))
		}
		return out
	case reflect.String:
		return hideSecret(path, v.String())
	}
	return v.Interface()
}

// splitKey splits a dotted key into its path. A part in double quotes may contain dots:
// prices."work/gpt-4.1".input.
func splitKey(key string) []string {
	var out []string
	var part strings.Builder
	quoted := false
	for _, r := range key {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '.' && !quoted:
			out = append(out, part.String())
			part.Reset()
		default:
			part.WriteRune(r)
		}
	}
	return append(out, part.String())
}

// joinKey formats a path as a dotted key.
func joinKey(path []string) string {
	var out []string
	for _, p := range path {
		out = append(out, quoteKey(p))
	}
	return strings.Join(out, ".")
}

// quoteKey returns one part of a key, quoted if necessary.
func quoteKey(k string) string {
	if bareKey(k) {
		return k
	}
	return quoteString(k)
}

func bareKey(k string) bool {
	for i := range len(k) {
		c := k[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return k != ""
}

// kindOfText returns the kind of a TOML value. It returns false if text is not exactly one value.
func kindOfText(text string) (unstable.Kind, bool) {
	d, err := parseDocument("", []byte("v = "+text))
	if err != nil || len(d.entries) == 0 || d.entries[0].end != len(d.text) || len(d.entries[0].path) != 1 {
		return 0, false
	}
	if len(d.entries) > 1 && !d.entries[1].inline {
		return 0, false
	}
	return d.entries[0].kind, true
}
