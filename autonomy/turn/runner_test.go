package turn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/channels"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCut(t *testing.T) {
	lines := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i) + "\n")
		}
		return b.String()
	}
	plain := func(i int) string { return fmt.Sprintf("line %05d of a long text", i) }
	tests := []struct {
		name, in  string
		keep      []string
		untouched bool
	}{
		{name: "short", in: "short", untouched: true},
		{name: "just fits", in: strings.Repeat("x", maxResult), untouched: true},
		{name: "one too long", in: strings.Repeat("x", maxResult+1), keep: []string{"characters left out"}},
		{name: "runes of four bytes", in: "a" + strings.Repeat("🏠", 10_000), keep: []string{"a🏠", "🏠"}},
		{name: "runes of three bytes", in: strings.Repeat("語", 10_000), keep: []string{"語"}},
		{name: "lines", in: lines(5000, plain), keep: []string{"line 00000 of a long text\n", "line 04999 of a long text\n"}},
		{name: "errors in the middle", in: lines(5000, func(i int) string {
			if i == 2500 || i == 2600 {
				return fmt.Sprintf("main.go:%d: Error: undefined", i)
			}
			return plain(i)
		}), keep: []string{"main.go:2500: Error: undefined\n", "main.go:2600: Error: undefined\n", "lines about errors"}},
		{name: "nothing but errors", in: lines(5000, func(i int) string { return fmt.Sprintf("test %d failed", i) }), keep: []string{"test 0 failed\n", "test 4999 failed\n"}},
		{name: "an error on one huge line", in: strings.Repeat("x", 12_000) + "\nerror: " + strings.Repeat("語", 20_000), keep: []string{"error: 語"}},
		{name: "no text at all", in: strings.Repeat("\x80\xff", 20_000)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := cutResult(tc.in, "")
			if tc.untouched {
				if got != tc.in {
					t.Error("changed")
				}
				return
			}
			if len(got) > maxResult+200 {
				t.Errorf("%d bytes", len(got))
			}
			if utf8.ValidString(tc.in) && !utf8.ValidString(got) {
				t.Error("cut within a rune")
			}
			for _, k := range tc.keep {
				if !strings.Contains(got, k) {
					t.Errorf("%q is gone", k)
				}
			}
			head, _, _ := strings.Cut(got, "\n[…")
			if !strings.HasPrefix(tc.in, head) {
				t.Error("the head is not the head")
			}
		})
	}
}

// At any cut, no text is invented and no rune is split.
func TestCutAnywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aé語🏠\n error")
	for range 60 {
		var b strings.Builder
		for n := 8000 + r.IntN(20_000); b.Len() < n; {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		s := b.String()
		got := cutResult(s, "")
		if !utf8.ValidString(got) || (len(s) <= maxResult) != (got == s) {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		_, tail, found := strings.Cut(got, "left out …]\n")
		if i := strings.LastIndex(tail, "[…]\n"); i >= 0 {
			tail = tail[i+len("[…]\n"):]
		}
		if found && !strings.HasSuffix(s, tail) {
			t.Fatal("the tail is not the tail")
		}
	}
}

func TestTurnsOfTwoCalls(t *testing.T) {
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
func TestAnAnswerThatComesWhileTheTurnIsPutAway(t *testing.T) {
	for _, answered := range []bool{false, true} {
		t.Run(fmt.Sprint(answered), func(t *testing.T) {
			r := newRun(t)
			ctx := t.Context()
			s := r.hist.steps[0]
			if suspended, err := r.calls.suspendCalls(ctx, 0); err != nil || !suspended {
				t.Fatal(suspended, err)
			}
			take(t, r)
			var err error
			if s.dec, err = r.o.Guard.Decide(ctx, r.gate.guardRequest(t.Context(), s)); err != nil || s.dec.Verdict != guard.Ask || s.dec.Approval == "" {
				t.Fatalf("%+v, %v", s.dec, err)
			}
			if answered {
				write(t, r.o.Store, func(tx *store.Tx) error {
					if _, err := r.o.Guard.AnswerTx(tx, s.dec.Approval, guard.Answer{Approved: true}); err != nil {
						return err
					}
					return r.o.Bus.ResumeTx(tx, r.t.Event.ID) // the event is claimed: nothing to resume
				})
			}
			if suspended, err := r.calls.suspendCalls(ctx, 0); err != nil || !suspended {
				t.Fatal(suspended, err)
			}
			ev, err := r.o.Bus.Event(ctx, r.t.Event.ID)
			if err != nil || ev.State != bus.Pending || ev.NotBefore.IsZero() != answered {
				t.Errorf("%s, not before %v, %v", ev.State, ev.NotBefore, err)
			}
			ds, err := r.o.Bus.EventDeliveries(ctx, r.t.Event.ID)
			if err != nil || len(ds) != 1 || ds[0].Kind != channels.Question {
				t.Errorf("asked %d times, %v", len(ds), err)
			}
		})
	}
}

func write(t *testing.T, db *store.Store, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, r *turnRun) {
	t.Helper()
	write(t, r.o.Store, func(tx *store.Tx) error { return r.o.Bus.ResumeTx(tx, r.t.Event.ID) })
	events, _, err := r.o.Bus.Claim(t.Context(), 1)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
}

// newRun returns a turn that requests a send.
func newRun(t *testing.T) *turnRun {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), origins.Migrations()}, store.Options{})
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
	acc, err := b.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "web", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := b.Claim(t.Context(), 1)
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
	if s.dec, err = g.Decide(t.Context(), r.gate.guardRequest(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	r.hist.steps = []*callStep{s}
	return r
}
