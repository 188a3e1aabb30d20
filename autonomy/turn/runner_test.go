package turn

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/channels"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoopDetector_CountsAlternations(t *testing.T) {
	for calls, want := range map[string]int{
		"": 0, "a": 0, "aa": 0, "ab": 2, "aba": 3, "abab": 4, "ababab": 6, "abababab": 8, "ababababab": 8, "abcab": 2, "aabab": 4, "ababa a": 3, "ababb": 0,
	} {
		c := newCounter(Limits{})
		for _, r := range calls {
			c.countCall(string(r), nil)
		}
		if got := c.countAlternations(); got != want {
			t.Errorf("%q: %d, want %d", calls, got, want)
		}
	}
}

type sendArgs struct {
	Text string `json:"text"`
}

// The owner answers while the turn is being suspended: after the guard's decision, before the
// transaction. The turn must not sleep until the question expires.
func TestRunner_AnswerDuringSuspension(t *testing.T) {
	for _, answered := range []bool{false, true} {
		t.Run(fmt.Sprint(answered), func(t *testing.T) {
			r := newRun(t)
			ctx := t.Context()
			s := r.hist.steps[0]
			if suspended, err := r.calls.suspendCalls(ctx, 0); err != nil || !suspended {
				t.Fatal(suspended, err)
			}
			takeSteering(t, r)
			var err error
			if s.dec, err = r.o.Guard.Decide(ctx, r.policy.guardRequest(t.Context(), s)); err != nil || s.dec.Verdict != guard.Ask || s.dec.Approval == "" {
				t.Fatalf("%+v, %v", s.dec, err)
			}
			if answered {
				writeTx(t, r.o.Store, func(tx *store.Tx) error {
					if _, err := r.o.Guard.AnswerTx(tx, s.dec.Approval, guard.Answer{Approved: true}); err != nil {
						return err
					}
					return r.o.Bus.Inbox.ResumeTx(tx, r.t.Event.ID) // the event is claimed: nothing to resume
				})
			}
			if suspended, err := r.calls.suspendCalls(ctx, 0); err != nil || !suspended {
				t.Fatal(suspended, err)
			}
			ev, err := r.o.Bus.Inbox.Event(ctx, r.t.Event.ID)
			if err != nil || ev.State != bus.Pending || ev.NotBefore.IsZero() != answered {
				t.Errorf("event is %s, not before %v, %v", ev.State, ev.NotBefore, err)
			}
			ds, err := r.o.Bus.Outbox.EventDeliveries(ctx, r.t.Event.ID)
			if err != nil || len(ds) != 1 || ds[0].Kind != channels.Question {
				t.Errorf("%d deliveries, %v, want one question", len(ds), err)
			}
		})
	}
}

func writeTx(t *testing.T, db *store.Store, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func takeSteering(t *testing.T, r *turnRun) {
	t.Helper()
	writeTx(t, r.o.Store, func(tx *store.Tx) error { return r.o.Bus.Inbox.ResumeTx(tx, r.t.Event.ID) })
	events, _, err := r.o.Bus.Inbox.Claim(t.Context(), 1)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
}

// newRun returns a turn that requests a send.
func newRun(t *testing.T) *turnRun {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), origins.Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g, err := guard.New(db, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.InitKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := bus.New(db, bus.Options{})
	acc, err := b.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := b.Inbox.Claim(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	tool := tools.New(tools.Def[sendArgs]{
		Spec: tools.Spec{Name: "send", Category: "test", Description: "Send.", Effects: tools.Send},
		RunTx: func(_ context.Context, _ *store.Tx, _ tools.Call, _ sendArgs) (tools.Result, error) {
			return tools.Result{}, nil
		},
	})
	a := &Runner{o: Options{Store: db, Bus: b, Guard: g, Sessions: session.New(db), Zone: func() *time.Location { return time.UTC }}}
	r := newTurnRun(a, &Turn{Event: events[0], Attended: true, Report: "s", Channel: "web"})
	r.conv.msgs = []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "send it", Source: "owner"}}}}
	s := &callStep{call: llm.ToolCall{ID: "call_" + acc.Event, Name: "send"}, tool: tool, args: []byte(`{"text":"x"}`)}
	if s.dec, err = g.Decide(t.Context(), r.policy.guardRequest(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	r.hist.steps = []*callStep{s}
	return r
}

func TestMiddleware_Order(t *testing.T) {
	a := &Runner{o: Options{Log: slog.New(slog.DiscardHandler), Hooks: []Hook{{Name: "first"}, {Name: "second"}}}}
	var got []string
	for _, l := range newTurnRun(a, &Turn{}).buildChain(t.Context()) {
		got = append(got, l.name)
	}
	want := []string{"log", "route", "schema", "limits", "first", "second", "hooks", "policy", "feed", "truncate", "audit", "say"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNew_RejectsHookWithoutName(t *testing.T) {
	if _, err := New(Options{Hooks: []Hook{{}}}); err == nil {
		t.Error("New accepts a hook without a name")
	}
}
