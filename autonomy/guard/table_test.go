package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

// TestTable_AllRows checks the complete decision table (docs/guard.md). Its rows are tools, its
// columns attended/clean, attended/tainted, unattended/clean and unattended/tainted.
func TestTable_AllRows(t *testing.T) {
	ownTool := tool{spec: tools.Spec{Name: "own", Category: "tasks", Effects: tools.Write, Own: true}, undo: true}
	ownNoUndo := tool{spec: tools.Spec{Name: "own_no_undo", Category: "tasks", Effects: tools.Write, Own: true}}
	ownWatch := tool{spec: tools.Spec{Name: "own_watch", Category: "watch", Effects: tools.Write, Own: true}, undo: true}
	fileTool := tool{spec: tools.Spec{Name: "file", Category: "files", Effects: tools.Write}, undo: true}
	foreign := tool{spec: tools.Spec{Name: "server__write", Category: "mcp", Effects: tools.Write, Foreign: true}}
	starts := tool{spec: tools.Spec{Name: "spawn", Category: "crew", Effects: tools.Write, Starts: tools.AnyEffect, Own: true}}
	const a, k, d = guard.Allow, guard.Ask, guard.Deny
	type row struct {
		name string
		tool tool
		want [4]guard.Verdict
	}
	levels := map[guard.Level][]row{
		guard.Supervised: {
			{"read", toolWith(tools.Read), [4]guard.Verdict{a, a, a, a}},
			{"own write", ownTool, [4]guard.Verdict{a, a, a, a}},
			{"own write without undo", ownNoUndo, [4]guard.Verdict{a, k, k, k}},
			{"own watcher", ownWatch, [4]guard.Verdict{a, k, a, k}},
			{"file write", fileTool, [4]guard.Verdict{a, k, k, k}},
			{"write of a third-party tool", foreign, [4]guard.Verdict{k, k, k, k}},
			{"starts a task", starts, [4]guard.Verdict{a, k, a, k}},
			{"write without undo", toolWith(tools.Write), [4]guard.Verdict{a, k, k, k}},
			{"read and write", toolWith(tools.Read | tools.Write), [4]guard.Verdict{a, k, k, k}},
			{"send", toolWith(tools.Send), [4]guard.Verdict{k, k, k, k}},
			{"egress", toolWith(tools.Egress), [4]guard.Verdict{k, k, k, k}},
			{"read and egress", toolWith(tools.Read | tools.Egress), [4]guard.Verdict{k, k, k, k}},
			{"exec", toolWith(tools.Exec), [4]guard.Verdict{k, k, k, k}},
			{"destroy", toolWith(tools.Destroy), [4]guard.Verdict{k, k, k, k}},
			{"secret", toolWith(tools.Secret), [4]guard.Verdict{k, k, k, k}},
			{"read and secret", toolWith(tools.Read | tools.Secret), [4]guard.Verdict{k, k, k, k}},
			{"an unknown effect", toolWith(tools.Write | 1<<7), [4]guard.Verdict{k, k, k, k}},
			{"no effects", toolWith(0), [4]guard.Verdict{d, d, d, d}},
		},
		guard.Trusted: {
			{"read", toolWith(tools.Read), [4]guard.Verdict{a, a, a, a}},
			{"own write", ownTool, [4]guard.Verdict{a, a, a, a}},
			{"own watcher", ownWatch, [4]guard.Verdict{a, k, a, k}},
			{"file write", fileTool, [4]guard.Verdict{a, k, a, k}},
			{"write of a third-party tool", foreign, [4]guard.Verdict{a, k, a, k}},
			{"starts a task", starts, [4]guard.Verdict{a, k, a, k}},
			{"send", toolWith(tools.Write | tools.Send), [4]guard.Verdict{k, k, k, k}},
			{"exec", toolWith(tools.Exec), [4]guard.Verdict{k, k, k, k}},
			{"destroy", toolWith(tools.Destroy), [4]guard.Verdict{k, k, k, k}},
			{"an unknown effect", toolWith(1 << 7), [4]guard.Verdict{k, k, k, k}},
		},
		guard.Watch: {
			{"read", toolWith(tools.Read), [4]guard.Verdict{a, a, a, a}},
			{"own write", ownTool, [4]guard.Verdict{d, d, d, d}},
			{"starts a task", starts, [4]guard.Verdict{d, d, d, d}},
			{"read and write", toolWith(tools.Read | tools.Write), [4]guard.Verdict{d, d, d, d}},
			{"send", toolWith(tools.Send), [4]guard.Verdict{d, d, d, d}},
			{"destroy", toolWith(tools.Destroy), [4]guard.Verdict{d, d, d, d}},
			{"an unknown effect", toolWith(1 << 7), [4]guard.Verdict{d, d, d, d}},
		},
	}
	for level, rows := range levels {
		f := newGuard(t, guard.Options{Level: level})
		for _, r := range rows {
			for i, want := range r.want {
				req := guard.Request{Tool: r.tool, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1}
				name := fmt.Sprintf("%s/%s, attended %v, tainted %v", level, r.name, req.Attended, req.Tainted)
				t.Run(name, func(t *testing.T) {
					got := f.mustDecide(req)
					if got.Verdict != want || got.Rule == "" || got.Reason == "" {
						t.Errorf("%s (%s: %s), want %s", got.Verdict, got.Rule, got.Reason, want)
					}
					if (got.Verdict == guard.Deny) != (got.Code == tools.PolicyDenied) {
						t.Errorf("verdict %s has the code %q", got.Verdict, got.Code)
					}
				})
			}
		}
	}
	for i, want := range []guard.Verdict{a, a, k, k} { // the owner's screen and clipboard
		screen := assessedTool{toolWith(tools.Read), tools.CallAssessment{Private: true}}
		if got := newGuard(t, guard.Options{}).mustDecide(guard.Request{Tool: screen, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1}); got.Verdict != want {
			t.Errorf("private data, case %d: %s (%s), want %s", i, got.Verdict, got.Rule, want)
		}
	}
	for i, want := range []guard.Verdict{k, k, d, d} { // typing into the owner's windows
		hands := assessedTool{toolWith(tools.Exec | tools.Destroy), tools.CallAssessment{Private: true}}
		if got := newGuard(t, guard.Options{Level: guard.Trusted}).mustDecide(guard.Request{Tool: hands, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1}); got.Verdict != want {
			t.Errorf("typing, case %d: %s (%s), want %s", i, got.Verdict, got.Rule, want)
		}
	}
	for _, x := range []tool{toolWith(tools.Read), ownTool, fileTool, toolWith(tools.Send)} {
		if got := newGuard(t, guard.Options{Level: guard.Trusted}).mustDecide(guard.Request{Tool: x, Call: "c", Guest: true}); got.Verdict != k {
			t.Errorf("%s for a guest: %s", x.Spec().Name, got.Verdict)
		}
	}
	if got := newGuard(t, guard.Options{}).mustDecide(guard.Request{}); got.Verdict != guard.Deny {
		t.Errorf("verdict without a tool = %s, want deny", got.Verdict)
	}
	if _, err := guard.New(nil, guard.Options{Level: "reckless"}); err == nil || !strings.Contains(err.Error(), "use watch, supervised or trusted") {
		t.Errorf("New with an unknown level = %v", err)
	}
}

func TestHashArguments(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":{"c":[1,2],"d":null}}`, ` { "b" : { "d":null, "c":[1, 2] } , "a":1}`},
		{`{"a":"\u00e9"}`, `{"a":"é"}`},
		{`not json`, `not json`},
	}
	for _, p := range same {
		if guard.HashArguments("t", []byte(p[0])) != guard.HashArguments("t", []byte(p[1])) {
			t.Errorf("hashes of %s and %s differ", p[0], p[1])
		}
	}
	differ := []string{
		`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"a":1,"b":null}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{}`, `null`, ``, `[]`, `{"a":1} {"b":1}`,
		`{"id":9007199254740992}`, `{"id":9007199254740993}`, `{"a":0.1}`, `{"a":0.10000000000000000001}`, `{"a":1e400}`, `{"a":1e401}`,
	}
	seen := map[string]string{}
	for _, args := range differ {
		h := guard.HashArguments("t", []byte(args))
		if seen[h] != "" {
			t.Errorf("hashes of %s and %s are equal", seen[h], args)
		}
		seen[h] = args
	}
	if guard.HashArguments("ab", []byte(`1`)) == guard.HashArguments("a", []byte(`b1`)) || guard.HashArguments("a", []byte(`{}`)) == guard.HashArguments("b", []byte(`{}`)) {
		t.Error("calls of different tools have the same hash")
	}
}
