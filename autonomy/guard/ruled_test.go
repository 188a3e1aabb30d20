package guard_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/guard"
	"hob/tools"
)

// fixedRule is a rule with a constant verdict.
type fixedRule struct {
	o    guard.RuleVerdict
	err  error
	last *guard.RuleInput
}

func (s fixedRule) Judge(_ context.Context, f guard.RuleInput) (guard.RuleVerdict, error) {
	if s.last != nil {
		*s.last = f
	}
	return s.o, s.err
}

// Rules can make a verdict stricter, but never milder.
func TestRules_OnlyTighten(t *testing.T) {
	const a, k, d = guard.Allow, guard.Ask, guard.Deny
	for _, tt := range []struct {
		name string
		tool tools.Effects
		says guard.Verdict
		err  error
		want guard.Verdict
	}{
		{"allowed, no verdict of the rule", tools.Read, a, nil, a},
		{"allowed, asks", tools.Read, k, nil, k},
		{"allowed, denies", tools.Read, d, nil, d},
		{"allowed, breaks", tools.Read, a, errors.New("broken"), d},
		{"asks, no verdict of the rule", tools.Send, a, nil, k},
		{"asked, asks", tools.Send, k, nil, k},
		{"asked, denies", tools.Send, d, nil, d},
		{"denied, no verdict of the rule", 0, a, nil, d},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newGuard(t, guard.Options{Rules: fixedRule{o: guard.RuleVerdict{Verdict: tt.says, Rule: "mine", Reason: "because"}, err: tt.err}})
			got := f.mustDecide(guard.Request{Tool: toolWith(tt.tool), Args: []byte(`{}`), Call: "c", Attended: true})
			if got.Verdict != tt.want || (got.Verdict == d) != (got.Code == tools.PolicyDenied) {
				t.Errorf("%+v, want %s", got, tt.want)
			}
		})
	}
}

// An approval or a grant does not override a rule that denies. If a rule requires approval, only an
// answer to that request counts, not a grant.
func TestRules_OverrideAnswersAndGrants(t *testing.T) {
	f := newGuard(t, guard.Options{})
	r := newRequest("c1", `{"to":"ada"}`)
	q := f.requestApproval(r)
	if _, err := f.answerApproval(q.ID, guard.Answer{Approved: true, Scope: "session"}); err != nil {
		t.Fatal(err)
	}
	other := newRequest("c2", `{"to":"ada"}`)
	if d := f.mustDecide(other); d.Verdict != guard.Allow {
		t.Fatalf("decision on a granted call: %+v, want allow", d)
	}
	f.restartGuard(guard.Options{Rules: fixedRule{o: guard.RuleVerdict{Verdict: guard.Ask, Rule: "mine", Reason: "because"}}})
	if d := f.mustDecide(r); d.Verdict != guard.Allow {
		t.Errorf("approved call with a rule that asks: %+v", d)
	}
	if d := f.mustDecide(other); d.Verdict != guard.Ask || d.Reason != "because" {
		t.Errorf("granted call with a rule that asks: %+v", d)
	}
	f.restartGuard(guard.Options{Rules: fixedRule{o: guard.RuleVerdict{Verdict: guard.Deny, Rule: "mine", Reason: "because"}}})
	for _, x := range []guard.Request{r, other} {
		if d := f.mustDecide(x); d.Verdict != guard.Deny || d.Rule != "your rule mine" {
			t.Errorf("call with a rule that denies: %+v", d)
		}
	}
}

// All inputs of rules are present, and lists are never nil.
func TestFacts(t *testing.T) {
	var got guard.RuleInput
	f := newGuard(t, guard.Options{Level: guard.Trusted, Rules: fixedRule{o: guard.RuleVerdict{Verdict: guard.Allow}, last: &got}})
	x := assessedTool{toolWith(tools.Read | tools.Egress), tools.CallAssessment{URLs: []string{"https://A.example/x", "https://a.example/y"}, Get: true}}
	x.spec.Name, x.spec.Category = "browse_url", "web"
	f.mustDecide(guard.Request{
		Tool: x, Args: []byte(`{"url":"x"}`), Call: "c", Session: "s", Origin: "web", Attended: true, Channel: "web", Person: "owner", Level: guard.Supervised,
	})
	if got.Time.IsZero() {
		t.Error("the input of the rule has no time")
	}
	got.Time = time.Time{}
	want := guard.RuleInput{
		Tool: "browse_url", Category: "web", Effects: []string{"read", "egress"}, Args: []byte(`{"url":"x"}`), Person: "owner", Channel: "web", Session: "s",
		Origin: "web", Attended: true, Level: "supervised", Hosts: []string{"a.example"}, URLs: []string{"https://A.example/x", "https://a.example/y"},
		Recipients: []string{}, Paths: []string{}, Items: 1, Would: "ask",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
