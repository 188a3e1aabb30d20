package openapi

import (
	"math"
	"slices"

	"hob/platform/text/textnorm"
)

// Limits of the schemas.
const (
	maxNodes       = 100_000 // nodes of all schemas of a document
	maxSchemaDepth = 8
	maxProperties  = 100
	maxEnum        = 100
	maxSchemaText  = 300
)

// convertSchema returns the JSON Schema of an OpenAPI schema with its references resolved. It keeps
// only keywords that help to write arguments. Where the document is cyclic, too deep or too large,
// the schema accepts any value, because the service validates it.
func (d *document) convertSchema(v any, depth int, seen []string) object {
	in, ok := v.(object)
	if d.nodes--; !ok || depth > maxSchemaDepth || d.nodes < 0 {
		return object{}
	}
	for range 10 {
		ref, ok := in["$ref"].(string)
		if !ok {
			break
		}
		if slices.Contains(seen, ref) {
			return object{}
		}
		seen = append(slices.Clone(seen), ref)
		if in, ok = d.lookupReference(ref).(object); !ok {
			return object{}
		}
	}
	if in["$ref"] != nil {
		return object{}
	}
	out := object{}
	if types := schemaTypes(in); len(types) == 1 {
		out["type"] = types[0]
	} else if len(types) > 1 {
		out["type"] = types
	}
	if s, ok := in["description"].(string); ok && s != "" {
		out["description"] = textnorm.Ellipsize(s, maxSchemaText)
	}
	if s, ok := in["format"].(string); ok && len(s) <= 30 && out["description"] == nil {
		out["description"] = "format " + s
	}
	if list, ok := in["enum"].([]any); ok && len(list) > 0 && len(list) <= maxEnum && !slices.ContainsFunc(list, isComposite) {
		out["enum"] = list
	}
	for _, key := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		n, ok := in[key].(float64)
		if counts := key[3] != 'i'; ok && (!counts || n == math.Trunc(n) && n >= 0 && n < 1<<31) {
			out[key] = n
		}
	}
	d.convertObject(in, out, depth, seen)
	if items, ok := in["items"]; ok {
		out["items"] = d.convertSchema(items, depth+1, seen)
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		list, ok := in[key].([]any)
		if !ok || len(list) == 0 || len(list) > maxProperties {
			continue
		}
		var parts []any
		for _, x := range list {
			parts = append(parts, d.convertSchema(x, depth+1, seen))
		}
		if key == "oneOf" {
			key = "anyOf" // truncated alternatives may overlap
		}
		out[key] = parts
	}
	return out
}

func (d *document) convertObject(in, out object, depth int, seen []string) {
	properties, ok := in["properties"].(object)
	if !ok || len(properties) > maxProperties {
		return
	}
	converted := object{}
	for name, x := range properties {
		if p, ok := x.(object); ok && p["readOnly"] == true {
			continue // only in responses
		}
		converted[name] = d.convertSchema(x, depth+1, seen)
	}
	out["properties"] = converted
	if list, ok := in["required"].([]any); ok {
		var required []any
		for _, x := range list {
			if name, ok := x.(string); ok && converted[name] != nil {
				required = append(required, name)
			}
		}
		if len(required) > 0 {
			out["required"] = required
		}
	}
}

// schemaTypes returns the valid types of a schema.
func schemaTypes(in object) (out []any) {
	add := func(v any) {
		if s, ok := v.(string); ok && slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, s) && !slices.Contains(out, any(s)) {
			out = append(out, s)
		}
	}
	add(in["type"])
	if list, ok := in["type"].([]any); ok {
		for _, x := range list {
			add(x)
		}
	}
	if in["nullable"] == true && len(out) > 0 { // OpenAPI 3.0
		add("null")
	}
	return out
}

func isComposite(v any) bool {
	switch v.(type) {
	case object, []any:
		return true
	}
	return false
}
