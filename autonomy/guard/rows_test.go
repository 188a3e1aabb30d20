package guard_test

import (
	"fmt"
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

// The rows for sends, for writes to the drop folder and for calls with several
// effects: columns attended/clean, attended/tainted, unattended/clean,
// unattended/tainted.
func TestTable_SendAndWriteRows(t *testing.T) {
	const a, k, d = guard.Allow, guard.Ask, guard.Deny
	send := func(to ...string) assessedTool {
		return assessedTool{toolWith(tools.Send), tools.CallAssessment{To: to}}
	}
	write := func(undo bool, j tools.CallAssessment) assessedTool {
		return assessedTool{tool{spec: tools.Spec{Name: "file", Category: "files", Effects: tools.Write}, undo: undo}, j}
	}
	both := func(e tools.Effects, j tools.CallAssessment) assessedTool { return assessedTool{toolWith(e), j} }
	listed := []string{"ada@example.org"}
	tests := []struct {
		name  string
		level guard.Level
		tool  assessedTool
		want  [4]guard.Verdict
	}{
		{"send to the owner", guard.Supervised, send(tools.Owner), [4]guard.Verdict{a, k, k, k}},
		{"send to the owner and another", guard.Supervised, send(tools.Owner, "ada@example.org"), [4]guard.Verdict{k, k, k, k}},
		{"send to a listed one, supervised", guard.Supervised, send("ada@example.org"), [4]guard.Verdict{k, k, k, k}},
		{"send to a listed one, trusted", guard.Trusted, send("ada@example.org"), [4]guard.Verdict{a, k, a, k}},
		{"send to another, trusted", guard.Trusted, send("eve@example.org"), [4]guard.Verdict{k, k, k, k}},
		{"send without a recipient, trusted", guard.Trusted, send(), [4]guard.Verdict{k, k, k, k}},
		{"send to the owner, watch", guard.Watch, send(tools.Owner), [4]guard.Verdict{d, d, d, d}},
		{"new file in the drop folder", guard.Supervised, write(true, tools.CallAssessment{Inert: true}), [4]guard.Verdict{a, a, k, k}},
		{"new file in the drop folder, without undo", guard.Supervised, write(false, tools.CallAssessment{Inert: true}), [4]guard.Verdict{a, k, k, k}},
		{"new file in another folder", guard.Supervised, write(true, tools.CallAssessment{}), [4]guard.Verdict{a, k, k, k}},
		{"new file in the drop folder, trusted", guard.Trusted, write(true, tools.CallAssessment{Inert: true}), [4]guard.Verdict{a, a, a, k}},
		{"assessed as less severe", guard.Supervised, both(tools.Exec, tools.CallAssessment{Effects: tools.Read}), [4]guard.Verdict{a, a, a, a}},
		{"assessed as more severe", guard.Supervised, both(tools.Write, tools.CallAssessment{Effects: tools.Destroy}), [4]guard.Verdict{k, k, k, k}},
		{"send and write", guard.Supervised, both(tools.Send|tools.Write, tools.CallAssessment{To: []string{tools.Owner}}), [4]guard.Verdict{a, k, k, k}},
		{"egress and write", guard.Supervised, both(tools.Egress|tools.Write, tools.CallAssessment{URLs: []string{"https://x.example/"}}), [4]guard.Verdict{k, k, k, k}},
		{"egress to a listed host and write", guard.Supervised, both(tools.Egress|tools.Write, tools.CallAssessment{URLs: []string{"https://listed.example/"}}), [4]guard.Verdict{a, k, k, k}},
		{"egress and send", guard.Supervised, both(tools.Egress|tools.Send, tools.CallAssessment{URLs: []string{"https://listed.example/"}, To: []string{"eve"}}), [4]guard.Verdict{k, k, k, k}},
		{"refused by the tool", guard.Trusted, both(tools.Read, tools.CallAssessment{Refused: tools.Errorf(tools.PolicyDenied, "no")}), [4]guard.Verdict{d, d, d, d}},
	}
	for _, tt := range tests {
		f := newGuard(t, guard.Options{Level: tt.level, Recipients: listed, Hosts: []string{"listed.example"}})
		for i, want := range tt.want {
			r := guard.Request{Tool: tt.tool, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1}
			t.Run(fmt.Sprintf("%s, attended %v, tainted %v", tt.name, r.Attended, r.Tainted), func(t *testing.T) {
				if got := f.mustDecide(r); got.Verdict != want || got.Rule == "" || got.Reason == "" {
					t.Errorf("%s (%s: %s), want %s", got.Verdict, got.Rule, got.Reason, want)
				}
			})
		}
	}
}

// With a research grant, a turn of a schedule may write its report: a new file that nothing runs, and
// that undo removes. It may change nothing else, and an external program nothing at all.
func TestTable_ResearchWritesReports(t *testing.T) {
	f := newGuard(t, guard.Options{Research: true})
	for _, tt := range []struct {
		name   string
		undo   bool
		inert  bool
		client bool
		want   guard.Verdict
	}{
		{"a report", true, true, false, guard.Allow},
		{"without undo", false, true, false, guard.Ask},
		{"another file", true, false, false, guard.Ask},
		{"a program's report", true, true, true, guard.Ask},
	} {
		x := assessedTool{tool{spec: tools.Spec{Name: "file", Category: "files", Effects: tools.Write}, undo: tt.undo}, tools.CallAssessment{Inert: tt.inert}}
		r := guard.Request{Tool: x, Args: []byte(`{}`), Call: "c", Tainted: true, Client: tt.client}
		if d := f.mustDecide(r); d.Verdict != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, d.Verdict, d.Rule, tt.want)
		}
	}
}

// The guard ignores a third-party tool's assessment of its calls.
func TestTable_IgnoresAssessmentsOfForeignTools(t *testing.T) {
	x := assessedTool{toolWith(tools.Exec), tools.CallAssessment{Effects: tools.Read}}
	x.spec.Foreign = true
	if d := newGuard(t, guard.Options{}).mustDecide(guard.Request{Tool: x, Args: []byte(`{}`), Call: "c", Attended: true}); d.Verdict != guard.Ask {
		t.Errorf("%s (%s)", d.Verdict, d.Rule)
	}
}

// I16: the owner is asked before many items are changed, together or one by one, even if each
// change can be undone and each was granted separately.
func TestIncidentI16BatchesAskFirst(t *testing.T) {
	const a, k, d = guard.Allow, guard.Ask, guard.Deny
	for _, tt := range []struct {
		name            string
		effects         tools.Effects
		items, made     int
		agreed, refused bool
		want            guard.Verdict
	}{
		{"one", tools.Write, 0, 0, false, false, a},
		{"twenty in one call", tools.Write, 20, 0, false, false, a},
		{"twenty-one in one call", tools.Write, 21, 0, false, false, k},
		{"the twentieth", tools.Write, 1, 19, false, false, a},
		{"the twenty-first", tools.Write, 1, 20, false, false, k},
		{"more in the next call", tools.Write, 10, 15, false, false, k},
		{"agreed to go on", tools.Write, 1, 20, true, false, a},
		{"agreed, and much more", tools.Write, 1, 200, true, false, k},
		{"agreed, another batch immediately", tools.Write, 21, 21, true, false, k},
		{"refused to go on", tools.Write, 1, 20, false, true, d},
		{"read only", tools.Read, 500, 500, false, false, a},
		{"own store", tools.Write, 21, 0, false, false, k},
	} {
		for _, level := range []guard.Level{guard.Supervised, guard.Trusted} {
			t.Run(fmt.Sprintf("%s, %s", tt.name, level), func(t *testing.T) {
				f := newGuard(t, guard.Options{Level: level})
				x := assessedTool{tool{spec: tools.Spec{Name: "trash_file", Category: "files", Effects: tt.effects}, undo: true}, tools.CallAssessment{Items: tt.items}}
				r := guard.Request{Tool: x, Args: []byte(`{}`), Call: "c", Attended: true, Made: tt.made, Agreed: tt.agreed, Refused: tt.refused}
				if got := f.mustDecide(r); got.Verdict != tt.want {
					t.Errorf("%s (%s: %s), want %s", got.Verdict, got.Rule, got.Reason, tt.want)
				}
			})
		}
	}
}

// I4: a request can only restrict: no level, words or count in a request leads to a milder verdict
// than the guard's options.
func TestIncidentI4ScopeOnlyNarrows(t *testing.T) {
	order := []guard.Level{guard.Watch, guard.Supervised, guard.Trusted}
	list := []tool{
		toolWith(tools.Read), toolWith(tools.Write), toolWith(tools.Send), toolWith(tools.Egress), toolWith(tools.Exec), toolWith(tools.Destroy), toolWith(tools.Secret),
		{spec: tools.Spec{Name: "own", Effects: tools.Write, Own: true}, undo: true},
	}
	for _, own := range order {
		f := newGuard(t, guard.Options{Level: own})
		for _, x := range list {
			for i := range 4 {
				r := guard.Request{Tool: x, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1}
				base := f.mustDecide(r).Verdict
				for _, asked := range append(order, "owner", "admin", "TRUSTED", "*") {
					r.Level = asked
					if got := f.mustDecide(r).Verdict; got > base {
						t.Errorf("%s, %s with the level %q: %s is milder than %s", own, x.spec.Effects, asked, got, base)
					}
				}
			}
		}
	}
}

// I18: with untrusted text in context, no call runs a program or sends data without a new approval,
// at any level, regardless of the owner's lists.
func TestIncidentI18TaintedTurnsAsk(t *testing.T) {
	f := newGuard(t, guard.Options{Level: guard.Trusted, Hosts: []string{"listed.example"}, Recipients: []string{"ada@example.org"}, Research: true})
	for _, x := range []assessedTool{
		{toolWith(tools.Exec), tools.CallAssessment{Pattern: "git status *"}},
		{toolWith(tools.Send), tools.CallAssessment{To: []string{"ada@example.org"}}},
		{toolWith(tools.Send), tools.CallAssessment{To: []string{tools.Owner}}},
		{toolWith(tools.Egress), tools.CallAssessment{URLs: []string{"https://listed.example/?told=all"}, Get: true}},
		{toolWith(tools.Egress), tools.CallAssessment{Query: "all I know"}},
		{toolWith(tools.Write), tools.CallAssessment{}},
	} {
		for _, attended := range []bool{true, false} {
			r := guard.Request{Tool: x, Args: []byte(`{}`), Call: "c", Attended: attended, Tainted: true}
			if d := f.mustDecide(r); d.Verdict != guard.Ask {
				t.Errorf("%s, attended %v: %s (%s)", x.spec.Effects, attended, d.Verdict, d.Rule)
			}
		}
	}
}
