package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeepBest(t *testing.T) {
	have := []Figure{{Name: "small", Value: 2, Target: 3}, {Name: "large", Value: 2, AtLeast: true, Target: 3}}
	got := keepBest(have, []Figure{{Name: "small", Value: 4}, {Name: "large", Value: 4, AtLeast: true, Target: 3}, {Name: "new", Value: 1}})
	want := []Figure{{Name: "small", Value: 2, Target: 3}, {Name: "large", Value: 4, AtLeast: true, Target: 3}, {Name: "new", Value: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("best figures (-want +got):\n%s", diff)
	}
	for _, f := range got {
		if !f.Met() {
			t.Errorf("%s = %g is not met", f.Name, f.Value)
		}
	}
}

func TestModelAnswers(t *testing.T) {
	const system, result = `{"messages":[{"role":"system","content":"..."},`, `,{"role":"tool","content":"Added."}`
	ask := `{"role":"user","content":"[context] It is noon.\n\n` + callText("create_task", 2) + `"}`
	tests := []struct {
		name, body, reason string
	}{
		{"plain", system + `{"role":"user","content":"hello"}]}`, "stop"},
		{"first call", system + ask + `]}`, "tool_calls"},
		{"second call", system + ask + result + `]}`, "tool_calls"},
		{"all called", system + ask + result + result + `]}`, "stop"},
		{"a later message", system + ask + `,{"role":"user","content":"hello"}]}`, "stop"},
		{"a quoted role", system + ask + `,{"role":"tool","content":"\"role\":\"user\""}]}`, "tool_calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := model{}
			if _, reason := m.answerRequest([]byte(tt.body)); reason != tt.reason {
				t.Errorf("finish_reason %q, want %q", reason, tt.reason)
			}
		})
	}
}
