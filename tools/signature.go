package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Limits of the text that is shown for one tool. Foreign tools may declare text of any length.
const (
	maxDescription = 300
	maxSignature   = 1500
)

// Signature returns a one-line description of the tool for a model: name, arguments, effects and
// description. The signature has about a third of the size of the schema.
//
//	log_expense(amount: number "such as 12.50", vendor?: string) [write] Log money that was spent.
func (s *Spec) Signature() string {
	args, ok := argumentList(s.Schema.Raw())
	if !ok {
		args = oneLine(string(s.Schema.Raw()), maxSignature)
	}
	return s.Name + "(" + oneLine(args, maxSignature) + ") [" + s.Effects.String() + "] " + s.Summary()
}

// Summary returns the description as one line of limited length, so that the text of a foreign tool
// cannot imitate another line of a list.
func (s *Spec) Summary() string { return oneLine(s.Description, maxDescription) }

func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}

// schema is the part of JSON Schema that a signature can express.
type schema struct {
	Type        string          `json:"type"`
	Description string          `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Required    []string        `json:"required"`
	Enum        []any           `json:"enum"`
	Items       json.RawMessage `json:"items"`
	AnyOf       json.RawMessage `json:"anyOf"`
	OneOf       json.RawMessage `json:"oneOf"`
	AllOf       json.RawMessage `json:"allOf"`
	Ref         string          `json:"$ref"`
}

// argumentList formats the properties of an object, in order. It returns false if the schema
// contains more than a signature can express.
func argumentList(raw json.RawMessage) (string, bool) {
	var s schema
	if json.Unmarshal(raw, &s) != nil || !s.isSimple() {
		return "", false
	}
	if s.Properties == nil {
		return "", true
	}
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	var out []string
	ok := eachProperty(s.Properties, func(name string, raw json.RawMessage) bool {
		kind, note, ok := kindOf(raw)
		if !required[name] {
			name += "?"
		}
		out = append(out, name+": "+kind+note)
		return ok
	})
	return strings.Join(out, ", "), ok
}

// isSimple reports whether the schema consists only of type, properties, items and enum values.
func (s *schema) isSimple() bool {
	return s.AnyOf == nil && s.OneOf == nil && s.AllOf == nil && s.Ref == ""
}

// kindOf returns the type and the description of one value.
func kindOf(raw json.RawMessage) (kind, note string, ok bool) {
	var s schema
	if json.Unmarshal(raw, &s) != nil || !s.isSimple() {
		return "", "", false
	}
	if s.Description != "" {
		note = ` "` + s.Description + `"`
	}
	kind = s.Type
	switch {
	case len(s.Enum) > 0:
		b, err := json.Marshal(s.Enum)
		if err != nil {
			return "", "", false
		}
		kind = strings.ReplaceAll(strings.Trim(string(b), "[]"), ",", "|")
	case s.Type == "array" && s.Items != nil:
		items, more, ok := kindOf(s.Items)
		if !ok {
			return "", "", false
		}
		return items + "[]", note + more, true
	case s.Type == "object" && s.Properties != nil:
		args, ok := argumentList(raw)
		if !ok {
			return "", "", false
		}
		kind = "{" + args + "}"
	case s.Type == "":
		kind = "any"
	}
	return kind, note, true
}

// eachProperty calls f for each member of a JSON object, in the order of the text, until f returns
// false. It reports whether all members were read.
func eachProperty(raw json.RawMessage, f func(name string, raw json.RawMessage) bool) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return false
		}
		var v json.RawMessage
		if name, ok := t.(string); !ok || d.Decode(&v) != nil || !f(name, v) {
			return false
		}
	}
	return true
}
