package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/platform/store"
	"hob/tools"
)

// argumentTool is a tool whose assessment of a call, and its list of files, are in the arguments of the
// call.
type argumentTool struct{ tool }

func (argumentTool) Judge(_ context.Context, args json.RawMessage) tools.CallAssessment {
	var in struct {
		Pattern string
		To      []string
		URLs    []string
		Get     bool
	}
	_ = json.Unmarshal(args, &in) // {} then
	return tools.CallAssessment{Pattern: in.Pattern, To: in.To, URLs: in.URLs, Get: in.Get}
}

func (argumentTool) Paths(args json.RawMessage) []string {
	var in struct{ Paths []string }
	_ = json.Unmarshal(args, &in)
	return in.Paths
}

func claimingTool(e tools.Effects) argumentTool { return argumentTool{toolWith(e)} }

func TestPattern_CoversMatchingCalls(t *testing.T) {
	home := t.TempDir()
	docs := filepath.Join(home, "docs", "plans")
	failOnError(t, os.MkdirAll(docs, 0o700))
	failOnError(t, os.Mkdir(filepath.Join(home, "secret"), 0o700))
	failOnError(t, os.Symlink(filepath.Join(home, "secret"), filepath.Join(docs, "link")))
	paths := func(p ...string) string {
		b, err := json.Marshal(map[string]any{"Paths": p})
		failOnError(t, err)
		return string(b)
	}
	in := func(p ...string) string { return filepath.Join(append([]string{docs}, p...)...) }
	for _, tc := range []struct {
		name    string
		effects tools.Effects
		granted string
		yes, no []string
	}{
		{"the tool's own", tools.Exec, `{"Pattern":"git status *"}`, []string{`{"Pattern":"git status *","x":1}`}, []string{`{"Pattern":"git push *"}`, `{"Pattern":""}`, `{}`}},
		{"one recipient", tools.Send, `{"To":["ada@example.org"]}`, []string{`{"To":["ada@example.org"],"text":"other"}`}, []string{`{"To":["bob@example.org"]}`, `{"To":["ada@example.org","bob@example.org"]}`, `{"To":[]}`, `{"To":["evil+ada@example.org"]}`}},
		{"one host", tools.Egress, `{"URLs":["https://example.org/a"],"Get":true}`, []string{`{"URLs":["https://EXAMPLE.org/b?c=d"],"Get":true}`}, []string{`{"URLs":["https://example.org/a"]}`, `{"URLs":["https://example.org.evil.example/a"],"Get":true}`, `{"URLs":["https://example.org/a","https://evil.example"],"Get":true}`, `{"URLs":["https://example.org@evil.example/"],"Get":true}`}},
		{"a folder", tools.Write, paths(in("a.txt")), []string{paths(in("b.txt")), paths(in("deep", "c.txt")), paths(in("a.txt"), in("d.txt"))}, []string{
			paths(in("..", "x.txt")), paths(in("..", "plansx", "x.txt")), paths(in("link", "x.txt")), paths(in("a.txt"), filepath.Join(home, "x.txt")), paths("relative.txt"), paths(), paths(in()), paths(in("..", "..", "secret", "x")),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			ask := func(call, event, args string) guard.Request {
				r := newRequest(call, args)
				r.Tool, r.Event, r.Attended = claimingTool(tc.effects), event, false
				return r
			}
			a := f.requestApproval(ask("c0", "e0", tc.granted))
			if a.Pattern == "" {
				t.Fatal("the request offers no pattern")
			}
			if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "pattern"}); err != nil {
				t.Fatal(err)
			}
			for _, args := range tc.yes {
				if d := f.mustDecide(ask("c1", "e1", args)); d.Verdict != guard.Allow || d.Grant == "" {
					t.Errorf("%s: %+v", args, d)
				}
			}
			for _, args := range tc.no {
				if d := f.mustDecide(ask("c1", "e1", args)); d.Verdict != guard.Ask {
					t.Errorf("%s: %+v", args, d)
				}
			}
			tainted := ask("c1", "e1", tc.yes[0])
			tainted.Tainted = true
			if d := f.mustDecide(tainted); d.Verdict != guard.Ask {
				t.Errorf("grant created without, used with untrusted text: %+v, want ask", d)
			}
		})
	}
}

func TestPattern_IsNotOfferedForSomeCalls(t *testing.T) {
	foreign := claimingTool(tools.Send)
	foreign.spec.Foreign = true
	for name, tc := range map[string]struct {
		tool tools.Tool
		args string
	}{
		"a foreign tool":       {foreign, `{"To":["a@example.org"],"Pattern":"x *"}`},
		"an irreversible call": {claimingTool(tools.Write | tools.Destroy), `{"Pattern":"rm *"}`},
		"a credential":         {claimingTool(tools.Secret), `{"Pattern":"key *"}`},
		"a program":            {claimingTool(tools.Exec), `{}`},
		"a send and a fetch":   {claimingTool(tools.Send | tools.Egress), `{"To":["a@example.org"],"URLs":["https://example.org"],"Get":true}`},
		"the root folder":      {claimingTool(tools.Write), `{"Paths":["/x"]}`},
		"the home folder":      {claimingTool(tools.Write), `{"Paths":["/home/x"]}`},
	} {
		f := newGuard(t, guard.Options{})
		r := newRequest("c1", tc.args)
		r.Tool, r.Attended = tc.tool, false
		a := f.requestApproval(r)
		if a.Pattern != "" {
			t.Errorf("%s: the request offers the pattern %q", name, a.Pattern)
		}
		if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "pattern"}); !errors.Is(err, guard.ErrScope) {
			t.Errorf("%s: answer with scope pattern = %v, want ErrScope", name, err)
		}
	}
}

func TestGrant_CreatedByTheOwner(t *testing.T) {
	for _, tc := range []struct {
		name string
		g    guard.NewGrant
		ok   bool
	}{
		{"a pattern", guard.NewGrant{Pattern: "git status *", Session: "s"}, true},
		{"the same arguments", guard.NewGrant{Args: []byte(`{"a":1}`), Session: "s"}, true},
		{"30 days", guard.NewGrant{Pattern: "host:*.example.org", Session: "watcher:1", For: 30 * 24 * time.Hour}, true},
		{"31 days", guard.NewGrant{Pattern: "host:example.org", Session: "watcher:1", For: 31 * 24 * time.Hour}, false},
		{"everything", guard.NewGrant{Session: "s"}, false},
		{"a star", guard.NewGrant{Pattern: "*", Session: "s"}, false},
		{"stars", guard.NewGrant{Pattern: "** *", Session: "s"}, false},
		{"any host", guard.NewGrant{Pattern: "host:*", Session: "s"}, false},
		{"a top level", guard.NewGrant{Pattern: "host:*.org", Session: "s"}, false},
		{"anybody", guard.NewGrant{Pattern: "to:*", Session: "s"}, false},
		{"the disk", guard.NewGrant{Pattern: "below:/", Session: "s"}, false},
		{"all users", guard.NewGrant{Pattern: "below:/home", Session: "s"}, false},
		{"up again", guard.NewGrant{Pattern: "below:/home/x/y/../..", Session: "s"}, false},
		{"an invisible character", guard.NewGrant{Pattern: "git \u202estatus", Session: "s"}, false},
		{"everywhere", guard.NewGrant{Pattern: "git status *"}, false},
		{"both", guard.NewGrant{Pattern: "git status *", Args: []byte(`{}`), Session: "s"}, false},
		{"backwards", guard.NewGrant{Pattern: "git status *", Session: "s", For: -time.Hour}, false},
		{"an irreversible call", guard.NewGrant{Tool: toolWith(tools.Destroy), Pattern: "x *", Session: "s"}, false},
		{"a credential", guard.NewGrant{Tool: toolWith(tools.Read | tools.Secret), Args: []byte(`{}`), Session: "s"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			if tc.g.Tool == nil {
				tc.g.Tool = toolWith(tools.Exec)
			}
			err := f.writeTx(func(tx *store.Tx) error {
				_, err := f.GrantTx(t.Context(), tx, tc.g)
				return err
			})
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, guard.ErrGrant) {
				t.Errorf("got %v", err)
			}
			list, err := f.Grants(t.Context(), true, "", 9)
			failOnError(t, err)
			if len(list) == 1 != tc.ok {
				t.Errorf("%d grants", len(list))
			}
		})
	}
}

// A use of a grant is counted when the call begins. A grant that has ended stops an allowed
// call that has not begun.
func TestGrant_Ends(t *testing.T) {
	for name, tc := range map[string]struct {
		uses int
		end  func(f *fixture, id string) error
		want string
	}{
		"revoked": {0, func(f *fixture, id string) error {
			return f.writeTx(func(tx *store.Tx) error {
				_, err := f.RevokeTx(tx, id, "cli")
				return err
			})
		}, "revoked"},
		"expired": {0, func(f *fixture, id string) error {
			shiftTimes(t, f, `UPDATE grants SET expires_at = expires_at - ?`, 2*time.Hour)
			return nil
		}, "expired"},
		"used up": {1, func(*fixture, string) error { return nil }, "used up"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			a := f.requestApproval(newRequest("c1", `{}`))
			if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "session", Uses: tc.uses}); err != nil {
				t.Fatal(err)
			}
			first, second := f.mustDecide(newRequest("c2", `{}`)), f.mustDecide(newRequest("c3", `{}`))
			use := func(d guard.Decision) error {
				return f.writeTx(func(tx *store.Tx) error { return f.UseTx(tx, d) })
			}
			failOnError(t, use(first))
			failOnError(t, tc.end(f, first.Grant))
			if err := use(second); !errors.Is(err, guard.ErrGrantEnded) {
				t.Errorf("begin of a call that the ended grant allowed = %v, want ErrGrantEnded", err)
			}
			if d := f.mustDecide(newRequest("c4", `{}`)); d.Verdict != guard.Ask {
				t.Errorf("decision on the next call: %+v, want ask", d)
			}
			list, err := f.Grants(t.Context(), true, "s", 9)
			failOnError(t, err)
			if len(list) != 1 || list[0].State != tc.want || list[0].Used != 1 || list[0].LastUsed.IsZero() {
				t.Errorf("%+v", list)
			}
			if live, err := f.Grants(t.Context(), false, "", 9); err != nil || len(live) != 0 {
				t.Errorf("live grants = %+v, %v, want none", live, err)
			}
		})
	}
}

func TestGrant_ForOneTask(t *testing.T) {
	f := newGuard(t, guard.Options{})
	a := f.requestApproval(newRequest("c1", `{}`))
	if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "task"}); err != nil {
		t.Fatal(err)
	}
	if d := f.mustDecide(newRequest("c2", `{}`)); d.Verdict != guard.Allow {
		t.Errorf("in the same task: %+v, want allow", d)
	}
	r := newRequest("c3", `{}`)
	r.Event = "another"
	if d := f.mustDecide(r); d.Verdict != guard.Ask {
		t.Errorf("in the next task: %+v, want ask", d)
	}
}

// If the owner saw that untrusted text is in context, the grant also covers calls with untrusted
// text in context.
func TestGrant_MadeWithUntrustedTextInContext(t *testing.T) {
	f := newGuard(t, guard.Options{})
	r := newRequest("c1", `{}`)
	r.Tainted = true
	a := f.requestApproval(r)
	if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "session"}); err != nil {
		t.Fatal(err)
	}
	r.Call = "c2"
	if d := f.mustDecide(r); d.Verdict != guard.Allow {
		t.Errorf("%+v", d)
	}
}

// A batch contains the questions asked together and never grows. Each row keeps its own hash,
// and a yes covers the rows that are still open.
func TestBatch_IsAnsweredTogether(t *testing.T) {
	f := newGuard(t, guard.Options{})
	ask := func(calls ...string) (out []guard.Approval) {
		var qs []guard.Question
		for _, c := range calls {
			r := newRequest(c, `{"n":"`+c+`"}`)
			qs = append(qs, guard.Question{Request: r, Decision: f.mustDecide(r)})
		}
		failOnError(t, f.writeTx(func(tx *store.Tx) (err error) {
			out, err = f.AskAllTx(tx, qs)
			return err
		}))
		return out
	}
	three := ask("c1", "c2", "c3")
	batch := three[0].Batch
	if !guard.IsBatch(batch) || three[1].Batch != batch || three[2].Batch != batch {
		t.Fatalf("%+v", three)
	}
	if again := ask("c1", "c4"); again[0].ID != three[0].ID || again[1].Batch != "" {
		t.Errorf("a later request joined the batch: %+v", again)
	}
	if _, err := f.answerApproval(three[1].ID, guard.Answer{}); err != nil {
		t.Fatal(err)
	}
	answer := func() (got []guard.Approval, err error) {
		err = f.writeTx(func(tx *store.Tx) error {
			got, err = f.AnswerBatchTx(tx, batch, guard.Answer{Approved: true, By: "cli"})
			return err
		})
		return got, err
	}
	if got, err := answer(); err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for call, want := range map[string]guard.Verdict{"c1": guard.Allow, "c2": guard.Deny, "c3": guard.Allow, "c4": guard.Ask} {
		if d := f.mustDecide(newRequest(call, `{"n":"`+call+`"}`)); d.Verdict != want {
			t.Errorf("%s: %+v", call, d)
		}
	}
	if d := f.mustDecide(newRequest("c1", `{"n":"other"}`)); d.Verdict != guard.Deny {
		t.Errorf("another call with the same id: %+v, want deny", d)
	}
	if _, err := answer(); !errors.Is(err, guard.ErrDecided) {
		t.Errorf("second answer = %v, want ErrDecided", err)
	}
}
