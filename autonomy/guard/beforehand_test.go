package guard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/tools"
)

func TestReview11_BeforehandCoversOnlyACleanTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r *guard.Request)
		answer guard.Answer
		reason string // "" = covered
	}{
		"a command":         {nil, guard.Answer{}, ""},
		"once":              {nil, guard.Answer{Scope: "once"}, ""},
		"a scope":           {nil, guard.Answer{Scope: "session"}, "not a scope"},
		"a time":            {nil, guard.Answer{For: time.Hour}, "not a scope"},
		"another turn":      {nil, guard.Answer{Beforehand: "another"}, "another turn"},
		"away":              {func(r *guard.Request) { r.Attended = false }, guard.Answer{}, "away"},
		"tainted":           {func(r *guard.Request) { r.Tainted = true }, guard.Answer{}, "untrusted text"},
		"destroy":           {func(r *guard.Request) { r.Tool = toolWith(tools.Exec | tools.Destroy) }, guard.Answer{}, "destroys data"},
		"secret":            {func(r *guard.Request) { r.Tool = toolWith(tools.Read | tools.Secret) }, guard.Answer{}, "credential"},
		"an unknown effect": {func(r *guard.Request) { r.Tool = toolWith(tools.Read | 1<<7) }, guard.Answer{}, "unknown"},
		"a send":            {func(r *guard.Request) { r.Tool = toolWith(tools.Send) }, guard.Answer{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			r := newRequest("call", `{}`)
			r.Tool = toolWith(tools.Exec)
			if tc.change != nil {
				tc.change(&r)
			}
			a := f.requestApproval(r)
			ans := tc.answer
			ans.Approved, ans.By = true, "cli"
			if ans.Beforehand == "" {
				ans.Beforehand = a.Event
			}
			got, err := f.answerApproval(a.ID, ans)
			if tc.reason == "" {
				if err != nil || got.State != guard.Approved || got.DecidedBy != "cli, beforehand" {
					t.Errorf("%s by %q, %v", got.State, got.DecidedBy, err)
				}
				return
			}
			if !errors.Is(err, guard.ErrBeforehand) || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("got %v, want a refusal with %q", err, tc.reason)
			}
			// The request is still open, and a direct answer to it counts.
			if got, err := f.answerApproval(a.ID, guard.Answer{Approved: true, By: "cli"}); err != nil || got.State != guard.Approved {
				t.Errorf("answer without the grant = %s, %v", got.State, err)
			}
		})
	}
}
