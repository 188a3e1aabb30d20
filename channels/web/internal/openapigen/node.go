package openapigen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Object is a JSON object with a fixed member order. A value is an Object, a List or any value that
// encoding/json encodes.
type Object []Member

// Member is one member of an Object.
type Member struct {
	Name  string
	Value any
}

// List is a JSON array.
type List []any

// maxLine is the maximum width of a value that is written on one line.
const maxLine = 160

// encodeDocument encodes v as indented JSON. Short values take one line each, so that a changed
// field changes one line.
func encodeDocument(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := writeNode(&b, v, 0, 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// writeNode writes v at an indentation. used is the number of characters already on the line.
func writeNode(b *bytes.Buffer, v any, indent, used int) error {
	line, err := encodeCompact(v)
	if err != nil {
		return err
	}
	members, isObject := v.(Object)
	list, isList := v.(List)
	if indent+used+len(line) <= maxLine || !isObject && !isList {
		b.WriteString(line)
		return nil
	}
	open, end := "[", "]"
	if isObject {
		open, end = "{", "}"
	} else {
		for _, x := range list {
			members = append(members, Member{Value: x})
		}
	}
	b.WriteString(open)
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + strings.Repeat(" ", indent+2))
		name := ""
		if isObject {
			if name, err = encodeCompact(m.Name); err != nil {
				return err
			}
			name += ": "
		}
		b.WriteString(name)
		if err := writeNode(b, m.Value, indent+2, len(name)); err != nil {
			return err
		}
	}
	b.WriteString("\n" + strings.Repeat(" ", indent) + end)
	return nil
}

// encodeCompact encodes v on one line.
func encodeCompact(v any) (string, error) {
	var parts []string
	switch x := v.(type) {
	case Object:
		for _, m := range x {
			name, err := encodeCompact(m.Name)
			if err != nil {
				return "", err
			}
			value, err := encodeCompact(m.Value)
			if err != nil {
				return "", err
			}
			parts = append(parts, name+": "+value)
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	case List:
		for _, e := range x {
			value, err := encodeCompact(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, value)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
