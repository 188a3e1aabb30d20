package guard

import (
	"bytes"
	"encoding/json"
	"slices"

	"hob/tools"
)

// maxArguments is the number of arguments of a remote read that do not count as text. The choice of
// arguments reveals a few bits to the service.
const maxArguments = 16

// assessRemote assesses a read by a remote tool (tools.Spec.Remote) while untrusted text is in
// context: it is an egress of the arguments. The guard does this itself, because it ignores the
// assessments by third-party tools.
func (r *Request) assessRemote() {
	s := r.Tool.Spec()
	if !s.Remote || !r.Tainted || !r.callEffects().ReadOnly() {
		return
	}
	r.judged.Effects = r.callEffects() | tools.Egress
	r.sent = sentTexts(s.Schema.Raw(), r.Args)
}

// sentTexts returns the texts in arguments: each value and name, except for names in the schema and
// for booleans at the top level. It is never nil.
func sentTexts(schema, args json.RawMessage) []string {
	out := []string{}
	if len(bytes.TrimSpace(args)) == 0 {
		return out
	}
	var in map[string]any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if err := dec.Decode(&in); err != nil || dec.More() || in == nil {
		return []string{string(args)}
	}
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &known) // without a schema, each name counts as text
	for name, v := range in {
		if _, ok := known.Properties[name]; !ok || len(in) > maxArguments {
			out = append(out, name)
		}
		if _, isBool := v.(bool); !isBool && v != nil {
			out = appendTexts(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// appendTexts appends the texts in a JSON value.
func appendTexts(out []string, v any) []string {
	switch v := v.(type) {
	case string:
		if foldText(v) != "" {
			out = append(out, v)
		}
	case json.Number:
		out = append(out, v.String())
	case []any:
		for _, x := range v {
			out = appendTexts(out, x)
		}
	case map[string]any:
		for name, x := range v {
			out = appendTexts(append(out, name), x)
		}
	case bool:
		out = append(out, map[bool]string{true: "true", false: "false"}[v])
	default:
		out = append(out, "null")
	}
	return out
}
