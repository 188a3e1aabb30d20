package gemini

import (
	"encoding/json"
	"testing"
)

func TestReduce(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"plain", `{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":["a","b"],"additionalProperties":false,"$schema":"x"}`,
			`{"properties":{"a":{"description":"d","type":"string"}},"required":["a"],"type":"object"}`,
		},
		{"empty", `{"type":"object","properties":{}}`, ``},
		{"not JSON", `{`, ``},
		{"null", `{"type":"object","properties":{"a":{"type":["integer","null"]}}}`, `{"properties":{"a":{"nullable":true,"type":"integer"}},"type":"object"}`},
		{"two types", `{"type":"object","properties":{"a":{"type":["integer","string"]}}}`, `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"type":"object"}`},
		{"oneOf with null", `{"type":"object","properties":{"a":{"oneOf":[{"type":"null"},{"type":"number","exclusiveMinimum":1}]}}}`, `{"properties":{"a":{"anyOf":[{"type":"number"}],"nullable":true}},"type":"object"}`},
		{"enum and const", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":"z"},"c":{"type":"integer","enum":[1,2]}}}`, `{"properties":{"a":{"enum":["x","y"],"type":"string"},"b":{"enum":["z"],"type":"string"},"c":{"type":"integer"}},"type":"object"}`},
		{"formats", `{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uri"}}}`, `{"properties":{"a":{"format":"date-time","type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{"lists", `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"number"}}}}`, `{"properties":{"a":{"items":{"type":"string"},"type":"array"},"b":{"items":{"type":"number"},"type":"array"}},"type":"object"}`},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"allOf", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"number"}}}],"type":"object"}`, `{"properties":{"a":{"type":"string"},"b":{"type":"number"}},"type":"object"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(reduceSchema(json.RawMessage(c.in))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzReduce(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}}`, `{"$ref":"#"}`, `{"allOf":[1,{"allOf":[{}]}]}`,
		`{"type":["object","null"],"properties":{"a":5}}`, `{"properties":{"a":{"anyOf":[null]}},"required":[1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if out := reduceSchema(in); out != nil && !json.Valid(out) {
			t.Errorf("reduced schema is not JSON: %s", out)
		}
	})
}
