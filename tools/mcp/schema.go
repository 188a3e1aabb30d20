package mcp

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxSchemaNodes limits the size of a schema whose references are replaced by their targets.
const maxSchemaNodes = 10_000

// hasBoundedRefs reports whether the references of a JSON schema expand to at most maxSchemaNodes
// values. The validator follows references without a limit, so the schema of a hostile server that
// refers to itself would end the process. References that are not JSON pointers into the schema
// count as unbounded.
func hasBoundedRefs(schema json.RawMessage) bool {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	left := maxSchemaNodes
	return expandRefs(root, root, &left)
}

func expandRefs(root, v any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if ref, isText := x.(string); isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
				target, ok := lookUpPointer(root, ref)
				if !ok || !expandRefs(root, target, left) {
					return false
				}
				continue
			}
			if !expandRefs(root, x, left) {
				return false
			}
		}
	case []any:
		for _, x := range v {
			if !expandRefs(root, x, left) {
				return false
			}
		}
	}
	return true
}

// lookUpPointer returns the target of a reference such as "#/$defs/point" (RFC 6901).
func lookUpPointer(root any, ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	v := root
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if rest == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch x := v.(type) {
		case map[string]any:
			if v, ok = x[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
