package watchers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Decode decodes a watcher's configuration into v, a pointer to a struct. Drivers call it. It fails
// for an unknown key, a wrong type or data after the object; the error lists the allowed keys.
func Decode(config json.RawMessage, v any) error {
	if len(bytes.TrimSpace(config)) == 0 {
		config = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(config))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("configuration: %q must be %s, not %s", bad.Field, plainType(bad.Type), bad.Value)
		}
		return fmt.Errorf("configuration: %s; the allowed keys are %s", strings.TrimPrefix(err.Error(), "json: "), keysOf(v))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("configuration: must be one JSON object with nothing after it")
	}
	return nil
}

func keysOf(v any) string {
	t := reflect.TypeOf(v).Elem()
	var keys []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			keys = append(keys, name)
		}
	}
	return strings.Join(keys, ", ")
}

func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return t.String()
}
