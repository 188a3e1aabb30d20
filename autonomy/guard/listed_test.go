package guard_test

import (
	"context"
	"encoding/json"
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

type listedTool struct {
	tool
	effects tools.Effects
}

func (l listedTool) Judge(context.Context, json.RawMessage) tools.CallAssessment {
	return tools.CallAssessment{Effects: l.effects, Listed: true}
}

// The exec rows of the table for commands that are known to be read-only.
func TestTable_ListedCommands(t *testing.T) {
	const a, k, d = guard.Allow, guard.Ask, guard.Deny
	for _, c := range []struct {
		name    string
		level   guard.Level
		effects tools.Effects
		req     guard.Request
		want    guard.Verdict
	}{
		{"the owner asks", guard.Supervised, tools.Exec, guard.Request{Attended: true}, a},
		{"after outside text", guard.Supervised, tools.Exec, guard.Request{Attended: true, Tainted: true}, k},
		{"while the owner is away", guard.Supervised, tools.Exec, guard.Request{}, k},
		{"away, with untrusted text", guard.Trusted, tools.Exec, guard.Request{Tainted: true}, k},
		{"trusted, with untrusted text", guard.Trusted, tools.Exec, guard.Request{Attended: true, Tainted: true}, k},
		{"for a guest", guard.Supervised, tools.Exec, guard.Request{Attended: true, Guest: true}, k},
		{"level watch", guard.Watch, tools.Exec, guard.Request{Attended: true}, d},
		{"listed, but with egress", guard.Supervised, tools.Exec | tools.Egress, guard.Request{Attended: true}, k},
		{"listed, but with a write", guard.Trusted, tools.Exec | tools.Write, guard.Request{Attended: true}, k},
		{"listed, but with destruction", guard.Trusted, tools.Exec | tools.Destroy, guard.Request{Attended: true}, k},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Tool, c.req.Args, c.req.Call = listedTool{toolWith(tools.Exec), c.effects}, []byte(`{}`), "c"
			if got := newGuard(t, guard.Options{Level: c.level}).mustDecide(c.req); got.Verdict != c.want {
				t.Errorf("%s (%s: %s), want %s", got.Verdict, got.Rule, got.Reason, c.want)
			}
		})
	}
}
