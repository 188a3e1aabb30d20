package autonomy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store/storetest"
	"hob/tools"
)

// checkCallsPaired fails if a call has no result or a result has no call, because providers reject such a
// history.
func checkCallsPaired(t testing.TB, m *llmtest.Scripted) {
	t.Helper()
	for i, r := range m.Asked() {
		open, seen := map[string]bool{}, map[string]bool{}
		for _, msg := range r.Messages {
			for _, p := range msg.Parts {
				if p.Result != nil && !open[p.Result.ID] {
					t.Errorf("request %d: the result %s has no call", i, p.Result.ID)
				}
				if p.Result != nil {
					delete(open, p.Result.ID)
				}
			}
			if len(open) > 0 {
				t.Errorf("request %d: calls without results: %v", i, open)
			}
			for _, p := range msg.Parts {
				if p.Call == nil {
					continue
				}
				if seen[p.Call.ID] {
					t.Errorf("request %d: two calls have the id %s", i, p.Call.ID)
				}
				open[p.Call.ID], seen[p.Call.ID] = true, true
			}
		}
	}
}

// snapshots copies the database of an engine at named instants, in the state after a SIGKILL,
// together with the external effects so far.
type snapshots struct {
	t      testing.TB
	path   string
	mu     sync.Mutex
	taken  []snapshot
	effect int
}

type snapshot struct {
	at      string
	dir     string
	effects int
}

func (s *snapshots) takeSnapshot(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.t.TempDir()
	for _, ext := range []string{"", "-wal"} {
		b, err := os.ReadFile(s.path + ext)
		if err != nil {
			s.t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hob.db"+ext), b, 0o600); err != nil {
			s.t.Error(err)
		}
	}
	s.taken = append(s.taken, snapshot{at, dir, s.effect})
}

// newPaymentTool is a tool with an external effect; hook is called before and after it.
func newPaymentTool(effect func(), hook func(at string)) tools.Tool {
	return tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "pay", Category: "test", Description: "Pay.", Effects: tools.Write, Core: true},
		Run: func(context.Context, tools.Call, textArgs) (tools.Result, error) {
			hook("before the effect")
			effect()
			hook("after the effect")
			return tools.Result{Source: provenance.Tool, Text: "Paid."}, nil
		},
	})
}

// If the process dies at any instant of a turn with a write, a payment and a read, no data is lost
// and no effect is repeated.
func TestTurn_ContinuesAfterACrashAtAnyInstant(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	brain := func(hook func(at string)) *llmtest.Scripted {
		return modelFrom(func(r llmtest.Request) llmtest.Answer {
			hook(fmt.Sprintf("model call %d", r.Round))
			switch r.Round {
			case 0:
				return callsAnswer(newCall("add_item", `{"text":"milk"}`), newCall("pay", `{ "text":"<rent> & more" }`), readPage("cats"), newCall("nothing", `{}`))
			case 1:
				return callsAnswer(newCall("add_item", `{"text":"eggs"}`), readPage("dogs"))
			}
			return llmtest.Answer{Text: "all done"}
		})
	}
	snaps := &snapshots{t: t}
	effect := func() {
		snaps.mu.Lock()
		defer snaps.mu.Unlock()
		snaps.effect++
	}
	var path string
	hook := func(at string) {
		if path != "" {
			snaps.takeSnapshot(at)
		}
	}
	e := startEngine(t, setup{model: brain(hook), idle: true, tools: []tools.Tool{newPaymentTool(effect, hook)}})
	path, snaps.path = e.path, e.path
	id := e.putMessage("s", "go", "")
	snaps.takeSnapshot("the message was taken")
	// The feed publishes events right after commits.
	sub := e.bus.Feed.Subscribe(0)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.loop.Run(ctx) }()
	for ev := range sub.C() {
		if ev.Type != "tool_call_delta" {
			snaps.takeSnapshot("feed: " + ev.Type)
		}
		if ev.Type == "message_end" {
			sub.Close()
			break
		}
	}
	e.awaitClosed(id)
	cancel()
	failOnError(t, <-done)
	whole := callIDs(t, e, id)
	if len(whole) != 6 || snaps.effect != 1 {
		t.Fatalf("calls %v, %d payments", whole, snaps.effect)
	}
	for _, s := range snaps.taken {
		t.Run(s.at, func(t *testing.T) {
			paid := 0
			m := brain(func(string) {})
			after := startEngine(t, setup{dir: s.dir, model: m, tools: []tools.Tool{newPaymentTool(func() { paid++ }, func(string) {})}})
			if got := after.awaitClosed(id); got.State != bus.Done || got.Answer != "all done" {
				t.Errorf("%s with %q", got.State, got.Answer)
			}
			checkCallsPaired(t, m)
			if diff := cmp.Diff([]string{"milk", "eggs"}, after.listItems()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(whole, callIDs(t, after, id)); diff != "" {
				t.Errorf("call ids after the crash: %s", diff)
			}
			c, err := after.bus.Ledger.Call(t.Context(), whole[1])
			failOnError(t, err)
			switch total := s.effects + paid; {
			case total > 1:
				t.Errorf("paid %d times", total)
			case paid > 0 && c.State != bus.CallDone, total == 0 && c.State != bus.CallUnknown:
				t.Errorf("paid %d times before and %d times after the crash, but the ledger says %s", s.effects, paid, c.State)
			}
			ds, err := after.bus.Outbox.EventDeliveries(t.Context(), id)
			if err != nil || len(ds) != 1 || ds[0].Kind != channels.Reply {
				t.Errorf("deliveries %+v, %v", ds, err)
			}
			if _, err := after.guard.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if len(snaps.taken) < 12 {
		t.Errorf("only %d instants were captured", len(snaps.taken))
	}
}

func callIDs(t testing.TB, e *engine, event string) (out []string) {
	t.Helper()
	list, err := e.bus.Ledger.Calls(t.Context(), event)
	failOnError(t, err)
	for _, c := range list {
		out = append(out, c.Call)
	}
	slices.Sort(out)
	return out
}

// Hob assigns the ids of calls. They do not depend on the model's ids and are unique across all
// turns.
func TestCallIDs_AreUnique(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 2 {
			return llmtest.Answer{Text: "done"}
		}
		return llmtest.Answer{Fault: llmtest.SameIDs, Calls: []llmtest.Call{{ID: "call_1", Name: "read_page", Args: `{"text":"a"}`}, readPage("b"), readPage("c")}}
	})
	e := startEngine(t, setup{model: m})
	feed := e.bus.Feed.Subscribe(0)
	defer feed.Close()
	for _, s := range []string{"s", "s", "t"} {
		e.askHob(s, "go")
	}
	checkCallsPaired(t, m)
	seen := map[string]bool{}
	list, err := e.bus.Inbox.List(t.Context(), "", "", 9)
	failOnError(t, err)
	for _, ev := range list {
		for _, id := range callIDs(t, e, ev.ID) {
			if seen[id] {
				t.Errorf("the call id %s was used twice", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != 18 {
		t.Errorf("%d calls", len(seen))
	}
	var began, ended []string // the events for user interfaces have the same ids
	for len(ended) < 18 {
		switch ev := <-feed.C(); ev.Type {
		case "tool_call_start":
			began = append(began, string(ev.Data))
		case "tool_result":
			ended = append(ended, string(ev.Data))
		}
	}
	for i, data := range began {
		var id string
		if _, err := fmt.Sscanf(data, `{"id":%q`, &id); err != nil || !seen[id] {
			t.Errorf("call %d started with %s (%v), but never ended", i, data, err)
		}
		delete(seen, id)
	}
	if len(seen) != 0 {
		t.Errorf("calls that never started: %v", seen)
	}
}

// A removed tool does not hide its earlier actions.
func TestTurn_KeepsActionsOfARemovedTool(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	snaps := &snapshots{t: t}
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			return callsAnswer(newCall("pay", `{"text":"rent"}`), newCall("change_file", `{"text":"x"}`))
		}
		return llmtest.Answer{Text: r.Results[0].Text + " " + r.Results[1].Text}
	})
	eff := &effects{hold: make(chan struct{}), held: make(chan struct{})}
	e := startEngine(t, setup{model: m, effects: eff, tools: []tools.Tool{newPaymentTool(func() {}, func(string) {})}})
	snaps.path = e.path
	id := e.putMessage("s", "go", "")
	<-eff.held
	snaps.takeSnapshot("the second call runs")
	after := startEngine(t, setup{dir: snaps.taken[0].dir, model: m})
	got := after.awaitClosed(id).Answer
	if want := "Paid. error outcome_unknown"; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("answer %q", got)
	}
	close(eff.hold)
	e.awaitClosed(id)
}
