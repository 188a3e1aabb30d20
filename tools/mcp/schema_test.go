package mcp

import (
	"encoding/json"
	"strconv"
	"testing"
)

// A schema that refers to itself must not end the process when a call is checked.
func TestHasBoundedRefs(t *testing.T) {
	wide := `{"type":"object","$ref":"#/$defs/0","$defs":{`
	for i := range 40 {
		next := map[bool]string{true: `{}`, false: `{"allOf":[{"$ref":"#/$defs/` + strconv.Itoa(i+1) + `"},{"$ref":"#/$defs/` + strconv.Itoa(i+1) + `"}]}`}[i == 39]
		wide += `"` + strconv.Itoa(i) + `":` + next + `,`
	}
	wide += `"end":{}}}`
	for name, tc := range map[string]struct {
		schema string
		want   bool
	}{
		"plain":                 {`{"type":"object","properties":{"x":{"type":"string"}}}`, true},
		"definition":            {`{"type":"object","properties":{"x":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`, true},
		"itself":                {`{"type":"object","$ref":"#"}`, false},
		"cycle":                 {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, false},
		"exponential":           {wide, false},
		"another document":      {`{"type":"object","$ref":"https://example.org/schema"}`, false},
		"an anchor":             {`{"type":"object","$dynamicRef":"#node"}`, false},
		"a missing pointer":     {`{"type":"object","$ref":"#/$defs/none"}`, false},
		"a property named $ref": {`{"type":"object","properties":{"$ref":{"type":"string"}}}`, true},
	} {
		if got := hasBoundedRefs(json.RawMessage(tc.schema)); got != tc.want {
			t.Errorf("%s: hasBoundedRefs = %v", name, got)
		}
	}
}
