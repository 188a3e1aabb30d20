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
	// SendDelay is how long a message to another person waits and can be canceled.
	SendDelay Duration
	// Mention reports whether group messages are processed only if they address Hob. True by
	// default.
	Mention bool
	// Debounce is the value of the key settle: how long a message waits for the next one from the
	// same person. Nil means the driver's default.
	Debounce *Duration
	// Stream shows an answer while it is being written, if the platform supports it. True by
	// default.
	Stream bool

	doc *document
}

// ofAll lists the keys that all channels have.
func ofAll() []string { return []string{"enabled", "send_delay", "mention", "settle", "stream"} }

// readSection reads the keys that all channels have. validate reports mistakes in them.
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

// Decode decodes the section into the struct that v points to. It is strict: unknown keys and
// values of the wrong type are errors (Errors) that name the line and the nearest key. Fields are
// named by their toml tags. The keys common to all channels are not decoded.
func (s Section) Decode(v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("config: decode [channels.%s]: %T is not a pointer to a struct", s.Name, v)
	}
	path := []string{"channels", s.Name}
	if errs := s.doc.checkKeys(t.Elem(), path, ofAll()...); len(errs) > 0 {
		return errs
	}
	// Decode the whole file into a struct with a field only for this section, so that errors keep
	// their line numbers.
	outer := t.Elem()
	for _, name := range slices.Backward(path) {
		outer = reflect.StructOf([]reflect.StructField{{Name: "F", Type: outer, Tag: reflect.StructTag(fmt.Sprintf("toml:%q", name))}})
	}
	whole := reflect.New(outer)
	place := whole.Elem().Field(0).Field(0)
	place.Set(reflect.ValueOf(v).Elem())
	if err := toml.Unmarshal(s.doc.text, whole.Interface()); err != nil {
		return Errors{s.doc.syntaxError(err).(*Error)} //nolint:errorlint,forcetypeassert // syntaxError returns no other type
	}
	reflect.ValueOf(v).Elem().Set(place)
	return nil
}

// Errors returns the configuration errors that err wraps. If there are none, it returns err as an
// error about the whole section.
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

// unwrapAll lists an error and all errors that it wraps.
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

// Errorf returns an error about a key of the section, with its position in the file. An empty key
// means the section itself.
func (s Section) Errorf(key, format string, args ...any) *Error {
	return (&Config{doc: s.doc}).Errorf(strings.TrimSuffix("channels."+s.Name+"."+key, "."), format, args...)
}
