package guard_test

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/platform/store"
	"hob/tools"
)

func TestGrant_IsExactAndExpires(t *testing.T) {
	f := newGuard(t, guard.Options{})
	a := f.requestApproval(newRequest("c1", `{"to":"a","n":1}`))
	if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "session"}); err != nil {
		t.Fatal(err)
	}
	variants := map[string]struct {
		change func(r *guard.Request)
		want   guard.Verdict
	}{
		"the same":              {func(*guard.Request) {}, guard.Allow},
		"keys in another order": {func(r *guard.Request) { r.Args = []byte(`{ "n":1, "to":"a" }`) }, guard.Allow},
		"tainted":               {func(r *guard.Request) { r.Tainted = true }, guard.Ask},
		"for another recipient": {func(r *guard.Request) { r.Guest = true }, guard.Ask},
		"other arguments":       {func(r *guard.Request) { r.Args = []byte(`{"to":"a","n":2}`) }, guard.Ask},
		"more arguments":        {func(r *guard.Request) { r.Args = []byte(`{"to":"a","n":1,"cc":"b"}`) }, guard.Ask},
		"another conversation":  {func(r *guard.Request) { r.Session = "t" }, guard.Ask},
		"another tool": {func(r *guard.Request) {
			r.Tool = tool{spec: tools.Spec{Name: "other", Effects: tools.Send}}
		}, guard.Ask},
	}
	for name, v := range variants {
		r := newRequest("c2", `{"to":"a","n":1}`)
		v.change(&r)
		if d := f.mustDecide(r); d.Verdict != v.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	f.restartGuard(guard.Options{Level: guard.Watch})
	if d := f.mustDecide(newRequest("c2", `{"to":"a","n":1}`)); d.Verdict != guard.Deny {
		t.Errorf("a grant overrides the level: %+v", d)
	}
	if d := f.mustDecide(newRequest("c1", `{"to":"a","n":1}`)); d.Verdict != guard.Deny {
		t.Errorf("an approval overrides the level: %+v", d)
	}
	f.restartGuard(guard.Options{})
	shiftTimes(t, f, `UPDATE grants SET expires_at = expires_at - ?`, time.Hour+time.Second)
	if d := f.mustDecide(newRequest("c2", `{"to":"a","n":1}`)); d.Verdict != guard.Ask {
		t.Errorf("one hour later: %+v, want ask", d)
	}
}

// frontWindowTool is a tool that acts on the window in front, which the owner's answer may change.
type frontWindowTool struct {
	tool
	now *string
}

func (x frontWindowTool) Judge(ctx context.Context, _ json.RawMessage) tools.CallAssessment {
	return tools.CallAssessment{Exact: cmp.Or(tools.ApprovedForm(ctx), *x.now)}
}

func TestApproval_IsFoundByEqualCall(t *testing.T) {
	f := newGuard(t, guard.Options{})
	now := "one"
	r := newRequest("c1", `{}`)
	r.Tool = frontWindowTool{toolWith(tools.Send), &now}
	a := f.requestApproval(r)
	if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	now = "the page for answers"
	if d := f.mustDecide(r); d.Verdict != guard.Allow || d.Judgment.Exact != "one" {
		t.Errorf("%+v", d)
	}
	r.Call = "c2"
	if d := f.mustDecide(r); d.Verdict != guard.Ask || d.Judgment.Exact != now {
		t.Errorf("decision on another call: %+v, want ask", d)
	}
}

func shiftTimes(t *testing.T, f *fixture, query string, d time.Duration) {
	t.Helper()
	failOnError(t, f.writeTx(func(tx *store.Tx) error {
		_, err := tx.Exec(query, d.Milliseconds())
		return err
	}))
}

func TestGrant_HoldsForItsDuration(t *testing.T) {
	for _, tc := range []struct {
		name       string
		asked, max time.Duration
	}{
		{"by default", 0, time.Hour},
		{"the given duration", 90 * time.Minute, 90 * time.Minute},
		{"a day at most", 1000 * time.Hour, 24 * time.Hour},
		{"never backwards", -time.Hour, time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			a := f.requestApproval(newRequest("c1", `{}`))
			if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "session", For: tc.asked}); err != nil {
				t.Fatal(err)
			}
			shiftTimes(t, f, `UPDATE grants SET expires_at = expires_at - ?`, tc.max-time.Minute)
			if d := f.mustDecide(newRequest("c2", `{}`)); d.Verdict != guard.Allow {
				t.Errorf("one minute before the grant ends: %+v, want allow", d)
			}
			shiftTimes(t, f, `UPDATE grants SET expires_at = expires_at - ?`, time.Minute)
			if d := f.mustDecide(newRequest("c2", `{}`)); d.Verdict != guard.Ask {
				t.Errorf("after the grant ended: %+v, want ask", d)
			}
		})
	}
}

func TestGrant_NeedsAnAnswer(t *testing.T) {
	f := newGuard(t, guard.Options{})
	no, once := f.requestApproval(newRequest("c1", `{}`)), f.requestApproval(newRequest("c2", `{}`))
	if _, err := f.answerApproval(no.ID, guard.Answer{Scope: "session"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.answerApproval(once.ID, guard.Answer{Approved: true, Scope: "once"}); err != nil {
		t.Fatal(err)
	}
	r := newRequest("c3", `{}`)
	if d := f.mustDecide(r); d.Verdict != guard.Deny || d.Code != tools.DeniedByOwner {
		t.Errorf("the denied call in the same turn: %+v, want deny", d)
	}
	if r.Event = "later"; f.mustDecide(r).Verdict != guard.Ask {
		t.Errorf("the denied call in another turn: %+v, want ask", f.mustDecide(r))
	}
}

// While the owner is away, no grant covers a call that cannot be undone.
func TestGrant_CoversNoIrreversibleCallUnattended(t *testing.T) {
	for _, e := range []tools.Effects{tools.Destroy, tools.Secret, tools.Write | tools.Destroy} {
		f := newGuard(t, guard.Options{})
		r := newRequest("c1", `{}`)
		r.Tool = toolWith(e)
		a := f.requestApproval(r)
		if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "session"}); err != nil {
			t.Fatal(err)
		}
		r.Call = "c2"
		if d := f.mustDecide(r); d.Verdict != guard.Allow {
			t.Errorf("%s, attended: %+v", e, d)
		}
		r.Attended = false
		if d := f.mustDecide(r); d.Verdict != guard.Ask {
			t.Errorf("%s, unattended: %+v", e, d)
		}
	}
}
