package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"hob/platform/text/lazyregexp"
)

// Check validates args against the tool's schema without running the tool.
func Check(t Tool, args json.RawMessage) error {
	if c, ok := t.(interface{ Check(json.RawMessage) error }); ok {
		return c.Check(args)
	}
	return nil
}

// Check validates args without running the tool.
func (t *typed) Check(args json.RawMessage) error {
	_, err := t.decodeArguments(args)
	return err
}

// decodeArguments unmarshals args into a pointer to the struct. It is strict: unknown, missing and
// mistyped arguments are errors that name the argument.
func (t *typed) decodeArguments(args json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(args)) == 0 || bytes.Equal(bytes.TrimSpace(args), []byte("null")) {
		args = json.RawMessage("{}")
	}
	var v map[string]any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	err := dec.Decode(&v)
	if err == nil && dec.More() {
		err = errors.New("unexpected text after the object")
	}
	if err == nil {
		err = normalizeJSON(v)
	}
	if err != nil {
		return nil, Errorf(InvalidArguments, "the arguments of %s are not a JSON object: %v", Clean(t.spec.Name), CleanErr(err))
	}
	for k := range v {
		if err := t.checkArgumentName(k); err != nil {
			return nil, err
		}
	}
	if err := t.schema().resolved.Validate(v); err != nil {
		return nil, Errorf(InvalidArguments, "%s: %s", Clean(t.spec.Name), Clean(plainSchemaError(err)))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, Errorf(InvalidArguments, "%s: %v", Clean(t.spec.Name), CleanErr(err))
	}
	dec = json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	in := reflect.New(t.args).Interface()
	if err := dec.Decode(in); err != nil {
		return nil, Errorf(InvalidArguments, "%s: %s", Clean(t.spec.Name), Clean(strings.TrimPrefix(err.Error(), "json: ")))
	}
	return in, nil
}

// normalizeJSON drops null arguments, which some models send for arguments that they omit, and
// converts number literals. Integers keep all their digits.
func normalizeJSON(v any) (err error) {
	each := func(x any, set func(any)) {
		switch x := x.(type) {
		case json.Number:
			n, nerr := convertNumber(x)
			set(n)
			err = errors.Join(err, nerr)
		default:
			err = errors.Join(err, normalizeJSON(x))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, x any) bool { return x == nil })
		for k, x := range v {
			each(x, func(n any) { v[k] = n })
		}
	case []any:
		for i, x := range v {
			each(x, func(n any) { v[i] = n })
		}
	}
	return err
}

func convertNumber(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s is too large", n)
	}
	if i := int64(f); float64(i) == f && math.Abs(f) < 1<<53 { // 2.0 counts as an integer
		return i, nil
	}
	return f, nil
}

func (t *typed) checkArgumentName(key string) error {
	if slices.Contains(t.schema().names, key) {
		return nil
	}
	return Errorf(InvalidArguments, "%s has no argument %q; it takes %s", Clean(t.spec.Name), Clean(key), Clean(orNone(strings.Join(t.schema().names, ", "))))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

var schemaPath = lazyregexp.New(`validating /?(properties/)?([^:]*): `)

// plainSchemaError converts an error such as `validating root: validating /properties/x: type: ...`
// to `x: type: ...`.
func plainSchemaError(err error) string {
	s := strings.ReplaceAll(err.Error(), "validating root: ", "")
	return schemaPath.ReplaceAllString(s, "$2: ")
}
