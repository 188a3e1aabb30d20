package gemini

import (
	"encoding/json"
	"slices"
	"strings"
)

// reduceSchema converts a JSON Schema to the OpenAPI 3.0 subset for servers that do not support
// parametersJsonSchema (https://ai.google.dev/api/caching#Schema). It drops keywords without a
// counterpart, which makes the schema more general, never narrower. It returns nil for an object
// without properties, because those servers reject such objects.
func reduceSchema(raw json.RawMessage) json.RawMessage {
	var in map[string]any
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	r := schemaReducer{root: in}
	out := r.convertSchema(in, 0)
	if props, _ := out["properties"].(map[string]any); out["type"] == "object" && len(props) == 0 {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

// maxDepth and maxNodes limit recursive schemas.
const (
	maxDepth = 12
	maxNodes = 2000
)

type schemaReducer struct {
	root  map[string]any
	nodes int
}

func (r *schemaReducer) convertSchema(in map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return map[string]any{"type": "object"}
	}
	if ref, ok := in["$ref"].(string); ok {
		if target, ok := r.resolveRef(ref); ok {
			return r.convertSchema(target, depth+1)
		}
	}
	in = mergeAllOf(in)
	for _, k := range []string{"description", "title", "nullable", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern", "required"} {
		if v, ok := in[k]; ok {
			out[k] = v
		}
	}
	r.convertTypes(in, out)
	r.convertEnum(in, out)
	if f, _ := in["format"].(string); slices.Contains([]string{"date-time", "enum", "int32", "int64", "float", "double"}, f) {
		out["format"] = f
	}
	r.convertInner(in, out, depth)
	return out
}

// convertTypes converts a list of types. null becomes nullable, and other types become
// alternatives.
func (r *schemaReducer) convertTypes(in, out map[string]any) {
	switch t := in["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		var rest []any
		for _, x := range t {
			if x == "null" {
				out["nullable"] = true
				continue
			}
			rest = append(rest, x)
		}
		if len(rest) == 1 {
			out["type"] = rest[0]
			return
		}
		var some []any
		for _, x := range rest {
			some = append(some, map[string]any{"type": x})
		}
		if some != nil {
			out["anyOf"] = some
		}
	default:
		if _, ok := in["properties"]; ok {
			out["type"] = "object"
		}
	}
}

// convertEnum keeps enums of strings. OpenAPI 3.0 does not support other enums.
func (r *schemaReducer) convertEnum(in, out map[string]any) {
	list, _ := in["enum"].([]any)
	if v, ok := in["const"]; ok {
		list = []any{v}
	}
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return
		}
	}
	if len(list) > 0 {
		out["type"], out["enum"] = "string", list
	}
}

// convertInner converts the schemas inside a schema.
func (r *schemaReducer) convertInner(in, out map[string]any, depth int) {
	if props, ok := in["properties"].(map[string]any); ok {
		reduced := map[string]any{}
		for name, p := range props {
			s, _ := p.(map[string]any)
			reduced[name] = r.convertSchema(s, depth+1)
		}
		out["properties"] = reduced
		out["required"] = knownRequired(in["required"], reduced)
		if out["required"] == nil {
			delete(out, "required")
		}
	} else {
		delete(out, "required")
	}
	if items, ok := in["items"].(map[string]any); ok {
		out["items"] = r.convertSchema(items, depth+1)
	} else if out["type"] == "array" {
		out["items"] = map[string]any{"type": "string"}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		list, _ := in[k].([]any)
		var some []any
		for _, x := range list {
			s, _ := x.(map[string]any)
			if s["type"] == "null" {
				out["nullable"] = true
				continue
			}
			some = append(some, r.convertSchema(s, depth+1))
		}
		if some != nil {
			out["anyOf"] = some
		}
	}
}

// knownRequired returns those required properties that are defined.
func knownRequired(required any, props map[string]any) any {
	list, _ := required.([]any)
	var out []any
	for _, x := range list {
		if name, ok := x.(string); ok && props[name] != nil {
			out = append(out, x)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// mergeAllOf merges the parts of an allOf.
func mergeAllOf(in map[string]any) map[string]any {
	all, ok := in["allOf"].([]any)
	if !ok {
		return in
	}
	out := map[string]any{}
	for _, x := range append(slices.Clone(all), any(in)) {
		s, _ := x.(map[string]any)
		for k, v := range s {
			old, isMap := out[k].(map[string]any)
			more, both := v.(map[string]any)
			switch {
			case k == "allOf":
			case isMap && both:
				joined := map[string]any{}
				for _, m := range []map[string]any{old, more} {
					for name, value := range m {
						joined[name] = value
					}
				}
				out[k] = joined
			default:
				out[k] = v
			}
		}
	}
	return out
}

// resolveRef resolves a reference within the schema, such as #/$defs/Address.
func (r *schemaReducer) resolveRef(ref string) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	var at any = r.root
	for step := range strings.SplitSeq(path, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	target, ok := at.(map[string]any)
	return target, ok
}
