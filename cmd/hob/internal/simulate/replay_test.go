package simulate

import (
	"context"
	"encoding/json"
	"testing"

	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/platform/provenance"
	"hob/tools"
)

// In a replay, tools that read Hob's own data run if no result was recorded. Tools that read a page
// do not run.
func TestReplay_ReadsOwnDataAgain(t *testing.T) {
	p := &play{past: &journalDay{}}
	p.past.loadJournals([]journal{{Why: explain.Why{Calls: []bus.Entry{{Tool: "list_notes", Args: json.RawMessage(`{"in":"then"}`), State: bus.CallDone, Result: "as it was"}}}}})
	type in struct {
		In string `json:"in"`
	}
	for _, c := range []struct{ name, args, want string }{
		{"list_notes", `{"in":"then"}`, "as it was"},
		{"list_notes", `{"in":"now"}`, "looked"},
		{"list_reminders", `{"in":"now"}`, "looked"},
		{"read_note", `{"in":"now"}`, "looked"},
		{"fetch_url", `{"in":"now"}`, wouldDo + "fetch_url"},
	} {
		looks := tools.New(tools.Def[in]{
			Spec: tools.Spec{Name: c.name, Description: "looks", Category: "memory", Effects: tools.Read}, Summary: func(in) string { return c.name },
			Run: func(context.Context, tools.Call, in) (tools.Result, error) {
				return tools.Result{Source: provenance.Tool, Text: "looked"}, nil
			},
		})
		if got, err := p.wrapTool(looks).Call(t.Context(), tools.Call{Args: json.RawMessage(c.args)}); err != nil || got.Text != c.want {
			t.Errorf("%s %s: %q, %v", c.name, c.args, got.Text, err)
		}
	}
}
