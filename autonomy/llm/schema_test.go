package llm_test

import (
	"encoding/json"
	"testing"

	"hob/autonomy/llm"
)

func TestClosedSchema(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		strict         bool
	}{
		{"closed", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, true},
		{"optional", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`, false},
		{"inner", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}}}}},"required":["a"]}`, `{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{"b":{}},"type":"object"},"type":"array"}},"required":["a"],"type":"object"}`, false},
		{"any object", `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`, `{"additionalProperties":false,"properties":{"a":{"type":"object"}},"required":["a"],"type":"object"}`, false},
		{"nothing", ``, `{"type":"object"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, strict := llm.ClosedSchema(json.RawMessage(c.in))
			if b, err := json.Marshal(got); err != nil || string(b) != c.want || strict != c.strict {
				t.Errorf("%s, strict %v, %v", b, strict, err)
			}
		})
	}
}
