package llm

import "encoding/json"

// ClosedSchema returns the schema with every object closed (no additional properties), which
// providers of structured answers require. strict reports whether every object also requires
// all its properties, as OpenAI's strict mode demands. Input that is not a schema is returned
// unchanged.
func ClosedSchema(raw json.RawMessage) (closed map[string]any, strict bool) {
	if json.Unmarshal(raw, &closed) != nil || closed == nil {
		return map[string]any{"type": "object"}, false
	}
	return closed, closeObjects(closed, 0)
}

func closeObjects(v any, depth int) (strict bool) {
	strict = true
	if depth > 64 {
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		if props, ok := x["properties"].(map[string]any); ok {
			x["additionalProperties"] = false
			required, _ := x["required"].([]any)
			strict = len(required) == len(props)
		} else if x["type"] == "object" {
			strict = false // any object is valid: strict mode is impossible
		}
		for _, inner := range x {
			strict = closeObjects(inner, depth+1) && strict
		}
	case []any:
		for _, inner := range x {
			strict = closeObjects(inner, depth+1) && strict
		}
	}
	return strict
}
