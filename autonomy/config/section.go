package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Section is a driver's own part of the file, [channels.NAME].
type Section struct {
	Name    string
	Enabled bool // default true
	// SendDelay is how long a text to another person waits, so that it can be canceled.
	SendDelay Duration
	// Mention: in a group, only messages that address Hob count. True by default.
	Mention bool
	// Debounce is the value of the key settle: how long a message waits for the next one of the
	// same person; nil means the driver's default.
	Debounce *Duration
	// Stream shows an answer while it is being written, where the platform allows it. Default true.
	Stream bool

	doc *document
}

// ofAll lists the keys that every channel has.
func ofAll() []string { return []string{"enabled", "send_delay", "mention", "settle", "stream"} }

// readSection reads the keys that every channel has. validate reports their mistakes.
func (c *Config) readSection(name string, keys map[string]any) Section {
	s := Section{Name: name, Enabled: true, Mention: true, Stream: true, SendDelay: c.Autonomy.SendDelay, doc: c.doc}
	for key, to := range map[string]*bool{"enabled": &s.Enabled, "mention": &s.Mention, "stream": &s.Stream} {
		if v, ok := keys[key].(bool); ok {
			*to = v
		}
	}
	if text, ok := keys["send_delay"].(string); ok {
		_ = s.SendDelay.UnmarshalText([]byte(text))
	}
	if text, ok := keys["settle"].(string); ok {
		var d Duration
		if d.UnmarshalText([]byte(text)) == nil {
			s.Debounce = &d
		}
	}
	return s
}

// Decode fills the struct v points to. It is strict: unknown keys and values of the wrong type are
// errors (Errors) that name the line and the nearest key. Fields are named by their toml tags. The
// common keys of all channels are omitted.
func (s Section) Decode(v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("config: decode [channels.%s]: %T is not a pointer to a struct", s.Name, v)
	}
	path := []string{"channels", s.Name}
	if errs := s.doc.checkKeys(t.Elem(), path, ofAll()...); len(errs) > 0 {
		return errs
	}
	// Decode the whole file into a struct with a field for this section only, so that errors keep
	// their line numbers.
	outer := t.Elem()
	for _, name := range slices.Backward(path) {
		outer = reflect.StructOf([]reflect.StructField{{Name: "F", Type: outer, Tag: reflect.StructTag(fmt.Sprintf("toml:%q", name))}})
	}
	whole := reflect.New(outer)
	place := whole.Elem().Field(0).Field(0)
	place.Set(reflect.ValueOf(v).Elem())
	if err := toml.Unmarshal(s.doc.text, whole.Interface()); err != nil {
		return Errors{s.doc.syntaxError(err).(*Error)} //nolint:errorlint,forcetypeassert // malformed makes no other
	}
	reflect.ValueOf(v).Elem().Set(place)
	return nil
}

// Errors returns the errors of the file that err wraps, or err as an error of the whole section.
func (s Section) Errors(err error) (out Errors) {
	for _, e := range unwrapAll(err) {
		if x, is := e.(*Error); is { //nolint:errorlint // unwrapAll has unwrapped it
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		out = append(out, s.Errorf("", "%v", err))
	}
	return out
}

// unwrapAll lists an error and everything in it.
func unwrapAll(err error) []error {
	if err == nil {
		return nil
	}
	out := []error{err}
	switch x := err.(type) { //nolint:errorlint // the function walks the error tree itself
	case interface{ Unwrap() error }:
		out = append(out, unwrapAll(x.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			out = append(out, unwrapAll(e)...)
		}
	}
	return out
}

// Errorf returns an error about a key of the section (or "", the section itself), with its position
// in the file.
func (s Section) Errorf(key, format string, args ...any) *Error {
	return (&Config{doc: s.doc}).Errorf(strings.TrimSuffix("channels."+s.Name+"."+key, "."), format, args...)
}
