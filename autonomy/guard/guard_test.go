package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type fixture struct {
	*guard.Guard
	t     testing.TB
	store *store.Store
}

func newGuard(t testing.TB, opt guard.Options) *fixture {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{guard.Migrations(), origins.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, store: db}
	f.restartGuard(opt)
	return f
}

func (f *fixture) restartGuard(opt guard.Options) {
	f.t.Helper()
	g, err := guard.New(f.store, opt)
	failOnError(f.t, err)
	failOnError(f.t, g.InitKeys(f.t.Context()))
	f.Guard = g
}

func (f *fixture) writeTx(fn func(tx *store.Tx) error) error {
	return f.store.Write(f.t.Context(), fn)
}

func (f *fixture) mustDecide(r guard.Request) guard.Decision {
	f.t.Helper()
	d, err := f.Decide(f.t.Context(), r)
	failOnError(f.t, err)
	return d
}

func (f *fixture) requestApproval(r guard.Request) guard.Approval {
	f.t.Helper()
	var a guard.Approval
	failOnError(f.t, f.writeTx(func(tx *store.Tx) (err error) {
		a, err = f.AskTx(tx, r, f.mustDecide(r))
		return err
	}))
	return a
}

func (f *fixture) answerApproval(id string, ans guard.Answer) (a guard.Approval, err error) {
	err = f.writeTx(func(tx *store.Tx) error {
		a, err = f.AnswerTx(tx, id, ans)
		return err
	})
	return a, err
}

// tool is a tool that these tests never run.
type tool struct {
	spec tools.Spec
	undo bool
}

func (t tool) Spec() *tools.Spec { return &t.spec }
func (t tool) Call(context.Context, tools.Call) (tools.Result, error) {
	panic("the guard ran a tool")
}
func (t tool) CanUndo() bool                                         { return t.undo }
func (t tool) Undo(context.Context, json.RawMessage) (string, error) { return "", nil }
func (t tool) UndoTx(context.Context, *store.Tx, json.RawMessage) (string, error) {
	return "", nil
}
func (t tool) Summary(args json.RawMessage) string { return "summary of " + string(args) }

func toolWith(e tools.Effects) tool { return tool{spec: tools.Spec{Name: "t", Effects: e}} }

func newRequest(call, args string) guard.Request {
	return guard.Request{Tool: toolWith(tools.Send), Args: []byte(args), Call: call, Event: "e", Session: "s", Attended: true, Origin: "chat"}
}

func TestApproval_CoversOneCallWithItsArguments(t *testing.T) {
	f := newGuard(t, guard.Options{})
	r := newRequest("c1", `{"to":"a","text":"x"}`)
	a := f.requestApproval(r)
	if again := f.requestApproval(r); again.ID != a.ID {
		t.Error("a second request was created for the same call")
	}
	if d := f.mustDecide(r); d.Verdict != guard.Ask || d.Approval != a.ID {
		t.Errorf("while the request is open: %+v, want ask", d)
	}
	got, err := f.answerApproval(a.ID, guard.Answer{Approved: true, By: "api", Note: "fine"})
	if err != nil || !got.Approved() || got.Scope != "once" {
		t.Fatalf("%+v, %v", got, err)
	}
	reordered := newRequest("c1", `{ "text":"x", "to":"a" }`)
	if d := f.mustDecide(reordered); d.Verdict != guard.Allow || d.Approval != a.ID || d.Rule != "approval "+a.ID {
		t.Errorf("decision on the approved call: %+v", d)
	}
	changes := map[string]guard.Request{
		"other arguments": newRequest("c1", `{"to":"b","text":"x"}`),
		"more arguments":  newRequest("c1", `{"to":"a","text":"x","cc":"b"}`),
	}
	other := newRequest("c1", `{"to":"a","text":"x"}`)
	other.Tool = tool{spec: tools.Spec{Name: "other", Effects: tools.Send}}
	changes["another tool"] = other
	for name, c := range changes {
		if d := f.mustDecide(c); d.Verdict != guard.Deny || d.Code != tools.PolicyDenied || !strings.Contains(d.Reason, "differs") {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := f.mustDecide(newRequest("c2", `{"to":"a","text":"x"}`)); d.Verdict != guard.Ask {
		t.Errorf("another call with the same arguments: %+v, want ask", d)
	}
	list, err := f.Approvals(t.Context(), guard.Approved, "s", "e", 9)
	if err != nil || len(list) != 1 || list[0].Note != "fine" || list[0].DecidedBy != "api" || list[0].DecidedAt.IsZero() || list[0].Summary != `summary of {"to":"a","text":"x"}` {
		t.Errorf("Approvals = %+v, %v", list, err)
	}
}

func TestApprovalsBefore_PagesWithoutGaps(t *testing.T) {
	f := newGuard(t, guard.Options{})
	for i := range 7 {
		f.requestApproval(newRequest(fmt.Sprint("c", i), fmt.Sprintf(`{"n":%d}`, i)))
	}
	all, err := f.Approvals(t.Context(), "", "", "", 100)
	failOnError(t, err)
	var paged []guard.Approval
	for before := ""; len(paged) < len(all); {
		list, err := f.ApprovalsBefore(t.Context(), "", "", "", before, 3)
		failOnError(t, err)
		if len(list) == 0 {
			break
		}
		paged = append(paged, list...)
		before = list[len(list)-1].ID
	}
	if len(all) != 7 || len(paged) != len(all) {
		t.Fatalf("%d requests in pages, %d in one list, want 7", len(paged), len(all))
	}
	for i := range all {
		if paged[i].ID != all[i].ID {
			t.Errorf("request %d is %s, want %s", i, paged[i].ID, all[i].ID)
		}
	}
	if list, err := f.ApprovalsBefore(t.Context(), "", "", "", "none", 3); err != nil || len(list) != 0 {
		t.Errorf("ApprovalsBefore an unknown request = %v, %v, want nothing", list, err)
	}
}

func TestApproval_FinalStates(t *testing.T) {
	for _, tc := range []struct {
		name  string
		live  time.Duration
		end   func(f *fixture, id string) error
		state guard.ApprovalState
		code  tools.Code
		says  string
	}{
		{"the owner denies", time.Hour, func(f *fixture, id string) error {
			_, err := f.answerApproval(id, guard.Answer{Note: "too early"})
			return err
		}, guard.Denied, tools.DeniedByOwner, "you said no: too early"},
		{"without an answer", 1, func(*fixture, string) error { return nil }, guard.Pending, tools.ApprovalTimeout, "in time"},
		{"without an answer, closed", 1, func(f *fixture, _ string) error {
			return f.writeTx(func(tx *store.Tx) error { return f.CloseTx(tx, "e", guard.TimedOut) })
		}, guard.TimedOut, tools.ApprovalTimeout, "in time"},
		{"the turn ended first", time.Hour, func(f *fixture, _ string) error {
			return f.writeTx(func(tx *store.Tx) error { return f.CloseTx(tx, "e", guard.TimedOut) })
		}, guard.Cancelled, tools.Cancelled, "stopped"},
		{"the turn was stopped", time.Hour, func(f *fixture, _ string) error {
			return f.writeTx(func(tx *store.Tx) error { return f.CloseTx(tx, "e", guard.Cancelled) })
		}, guard.Cancelled, tools.Cancelled, "stopped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newGuard(t, guard.Options{Live: tc.live})
			r := newRequest("c", `{}`)
			a := f.requestApproval(r)
			failOnError(t, tc.end(f, a.ID))
			for range 2 { // also after a restart
				d := f.mustDecide(r)
				if d.Verdict != guard.Deny || d.Code != tc.code || !strings.Contains(d.Reason, tc.says) {
					t.Errorf("%+v", d)
				}
				list, err := f.Approvals(t.Context(), "", "", "", 9)
				if err != nil || len(list) != 1 || list[0].State != tc.state {
					t.Errorf("Approvals = %+v, %v", list, err)
				}
				f.restartGuard(guard.Options{Live: tc.live})
			}
			if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true}); !errors.Is(err, guard.ErrDecided) {
				t.Errorf("late answer = %v, want ErrDecided", err)
			}
			if d := f.mustDecide(r); d.Verdict != guard.Deny {
				t.Errorf("decision after a late answer: %+v, want deny", d)
			}
		})
	}
}

func TestApproval_Expires(t *testing.T) {
	f := newGuard(t, guard.Options{})
	for name, tc := range map[string]struct {
		attended, tainted bool
		wait              time.Duration
		src               provenance.Source
	}{
		"live":   {true, false, 5 * time.Minute, provenance.Owner},
		"queued": {false, true, 7 * 24 * time.Hour, provenance.Outside},
	} {
		r := newRequest(name, `{}`)
		r.Attended, r.Tainted = tc.attended, tc.tainted
		a := f.requestApproval(r)
		if got := a.ExpiresAt.Sub(a.CreatedAt); got != tc.wait || a.Provenance != tc.src || a.Attended != tc.attended {
			t.Errorf("%s: %v, %+v", name, got, a)
		}
	}
}

// An event whose first question was answered may ask a second one.
func TestApproval_EventMayAskAgain(t *testing.T) {
	f := newGuard(t, guard.Options{})
	first, second := f.requestApproval(newRequest("c1", `{}`)), f.requestApproval(newRequest("c2", `{}`))
	if _, err := f.answerApproval(first.ID, guard.Answer{Approved: true, By: "api"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		event, text string
		want        bool
	}{
		{"e", "May I? hob approve " + first.ID, false},
		{"e", "May I? hob approve " + second.ID, true},
		{"e", "May I do these? " + first.ID + ", " + second.ID, true},
		{"e", "May I?", false},
		{"another", second.ID, false},
	} {
		if got, err := f.OpenIn(f.store.Read(), c.event, c.text); err != nil || slices.Contains(got, second.ID) != c.want || len(got) > 1 {
			t.Errorf("%s %q: %v %v, want %v", c.event, c.text, got, err, c.want)
		}
	}
}

func TestAnswer_FirstWins(t *testing.T) {
	f := newGuard(t, guard.Options{})
	for i := range 20 {
		r := newRequest(fmt.Sprint("c", i), `{}`)
		a := f.requestApproval(r)
		var mu sync.Mutex
		var won []bool
		var wg sync.WaitGroup
		for k := range 8 {
			wg.Go(func() {
				yes := k%2 == 0
				_, err := f.answerApproval(a.ID, guard.Answer{Approved: yes, By: "api"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, yes)
				case !errors.Is(err, guard.ErrDecided):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d answers were accepted, want 1", len(won))
		}
		if d := f.mustDecide(r); (d.Verdict == guard.Allow) != won[0] {
			t.Errorf("verdict %s after the answer approved=%v", d.Verdict, won[0])
		}
	}
	if _, err := f.answerApproval("nobody", guard.Answer{}); !errors.Is(err, guard.ErrNoApproval) {
		t.Errorf("Answer to an unknown request = %v", err)
	}
	a := f.requestApproval(newRequest("scope", `{}`))
	if _, err := f.answerApproval(a.ID, guard.Answer{Approved: true, Scope: "forever"}); !errors.Is(err, guard.ErrScope) {
		t.Errorf("Answer with an unknown scope = %v", err)
	}
	if diff := cmp.Diff(guard.Ask, f.mustDecide(newRequest("scope", `{}`)).Verdict); diff != "" {
		t.Error(diff)
	}
}

// The text shown to the owner cannot pretend to be more than one line, run backwards or hide its
// end.
func TestSummary_ShowsHiddenCharacters(t *testing.T) {
	f := newGuard(t, guard.Options{})
	x := tool{spec: tools.Spec{Name: "x", Category: "files", Effects: tools.Send}}
	args := json.RawMessage("{\"to\":\"a\n  why I ask: routine \u202egnp.exe\u200b\", \"text\":\"" + strings.Repeat("a", 5000) + "mallory\"}")
	var a guard.Approval
	err := f.store.Write(t.Context(), func(tx *store.Tx) (err error) {
		a, err = f.AskTx(tx, guard.Request{Tool: x, Args: args, Call: "c9", Event: "e"}, guard.Decision{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(a.Summary, "\n\u202e\u200b") || !strings.Contains(a.Summary, `\u202e`) || !strings.HasSuffix(a.Summary, " …") || len(a.Summary) > 700 {
		t.Errorf("summary: %q", a.Summary)
	}
	if shown := a.API().CallText(); !strings.Contains(shown, strings.Repeat("a", 5000)+"mallory") {
		t.Errorf("Shown() = %q, want all of the arguments", shown)
	}
}

// A question shows its complete text, regardless of length, and escapes invisible characters.
func TestReview6_QuestionShowsItsMiddle(t *testing.T) {
	f := newGuard(t, guard.Options{})
	filler := strings.Repeat("echo fine; ", 200)
	content := filler + "rm -rf ~/thesis; " + filler
	args, err := json.Marshal(map[string]string{"path": "build.sh", "content": content + "\u3164\u2800\ufe0f"})
	if err != nil {
		t.Fatal(err)
	}
	long := content + "rm -rf ~/mail; " + content + content
	var a guard.Approval
	err = f.store.Write(t.Context(), func(tx *store.Tx) (err error) {
		x := tool{spec: tools.Spec{Name: "write_file", Category: "files", Effects: tools.Send}}
		a, err = f.AskTx(tx, guard.Request{Tool: x, Args: args, Call: "c6", Event: "e"}, guard.Decision{Judgment: tools.CallAssessment{Why: "why " + long, Exact: "exact " + long}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = f.Approval(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"arguments": a.API().CallText(), "why": a.Why, "exact": a.Exact} {
		if !strings.Contains(text, "rm -rf ~/thesis; ") || what != "arguments" && !strings.Contains(text, "rm -rf ~/mail") || strings.Contains(text, "[…]") {
			t.Errorf("%s of %d characters lacks its middle", what, len(text))
		}
	}
	if s := a.API().CallText(); strings.ContainsAny(s, "\u3164\u2800\ufe0f") || !strings.Contains(s, `\u3164\u2800\ufe0f`) {
		t.Errorf("%q contains invisible characters", s[len(s)-40:])
	}
	if err := f.ShownWhole(t.Context(), a.ID); !errors.Is(err, guard.ErrTooLong) {
		t.Errorf("ShownWhole of a question of %d characters = %v, want ErrTooLong", a.DetailsLength(), err)
	}
}
