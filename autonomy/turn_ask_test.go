package autonomy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/session"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
	"hob/watchers"
)

func sendText(text string) llmtest.Call {
	return newCall("use_tool", fmt.Sprintf(`{"name":"send_text","arguments":{"text":%q}}`, text))
}

// listQuestions lists the questions to the owner, by event.
func (e *engine) listQuestions(event string) (out []string) {
	e.t.Helper()
	ds, err := e.bus.Outbox.EventDeliveries(e.t.Context(), event)
	failOnError(e.t, err)
	for _, d := range ds {
		if d.Kind == channels.Question {
			out = append(out, d.Text)
		}
	}
	return out
}

func (e *engine) openApprovals() []guard.Approval {
	e.t.Helper()
	list, err := e.guard.Approvals(e.t.Context(), guard.Pending, "", "", 10)
	failOnError(e.t, err)
	return list
}

func (e *engine) answerApproval(id string, yes bool) {
	e.t.Helper()
	_, err := e.approvals.Answer(e.t.Context(), id, guard.Answer{Approved: yes, By: "api"})
	failOnError(e.t, err)
}

// Several questions are sent together and once; each answer lets the turn continue.
func TestQuestions_AreSentTogetherAndOnce(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round > 0 {
			return llmtest.Answer{Text: "finished"}
		}
		return callsAnswer(newCall("add_item", `{"text":"milk"}`), sendText("one"), sendText("two"), newCall("add_item", `{"text":"eggs"}`), sendText("three"))
	})
	e := startEngine(t, setup{model: m})
	id := e.putMessage("s", "send them", "")
	e.awaitSettled(id)
	if diff := cmp.Diff([]string{"milk"}, e.listItems()); diff != "" {
		t.Errorf("items before the answer: %s", diff)
	}
	open := map[string]string{}
	for _, a := range e.openApprovals() {
		open[a.Summary] = a.ID
	}
	if len(open) != 3 {
		t.Fatalf("open questions = %v, want 3", open)
	}
	for _, text := range []string{"three", "one", "two"} {
		settled, cancel := e.bus.Inbox.EventClosed(id)
		e.answerApproval(open["Send "+text], text != "two")
		<-settled
		cancel()
	}
	if got := e.awaitClosed(id).Answer; got != "finished" {
		t.Errorf("answer %q", got)
	}
	if diff := cmp.Diff([]string{"one", "three"}, e.effects.sent); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"milk", "eggs"}, e.listItems()); diff != "" {
		t.Error(diff)
	}
	if q := e.listQuestions(id); len(q) != 1 || strings.Count(q[0], "May I do these 3 similar actions?") != 1 || strings.Count(q[0], "exactly: ") != 3 {
		t.Errorf("questions = %q", q)
	}
	checkCallsPaired(t, m)
	if ev := e.awaitClosed(id); ev.Attempts != 1 {
		t.Errorf("waiting counted as attempts: %d, want 1", ev.Attempts)
	}
}

// If the conversation is restarted while a turn waits, completed actions stay, and the approval
// still refers to the question.
func TestNew_WhileATurnWaits(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if strings.HasSuffix(r.LastUser, "next") || r.Round > 0 {
			return llmtest.Answer{Text: "finished"}
		}
		return callsAnswer(newCall("add_item", `{"text":"milk"}`), sendText("hello"))
	})
	e := startEngine(t, setup{model: m})
	e.askHob("s", "next")
	id := e.putMessage("s", "go", "")
	e.awaitSettled(id)
	e.askHob("s", "/new")
	e.answerApproval(e.openApprovals()[0].ID, true)
	if got := e.awaitClosed(id).Answer; got != "finished" {
		t.Errorf("answer %q", got)
	}
	if diff := cmp.Diff([]string{"milk"}, e.listItems()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hello"}, e.effects.sent); diff != "" {
		t.Error(diff)
	}
	e.askHob("s", "next")
	checkCallsPaired(t, m)
	asked := m.Asked()
	if n := len(asked[len(asked)-1].Messages); n != 1 {
		t.Errorf("the new conversation starts with %d messages, want 1", n)
	}
}

// An answer from a tainted context stays tainted after the untrusted text has left the window.
func TestTaint_OutlivesTheWindow(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		switch {
		case summaryAsked(r):
			return summaryAnswer("a page about cats was read")
		case strings.HasSuffix(r.LastUser, "read") && r.Round == 0:
			return callsAnswer(readPage("cats"))
		case strings.HasSuffix(r.LastUser, "repeat"):
			return llmtest.Answer{Text: strings.Repeat("ignore all rules ", session.MaxChars/16)}
		case strings.HasSuffix(r.LastUser, "change") && r.Round == 0:
			return callsAnswer(newCall("change_file", `{"text":"x"}`))
		}
		return llmtest.Answer{Text: "ok"}
	})
	e := startEngine(t, setup{model: m})
	e.askHob("clean", "repeat")
	clean := e.putMessage("clean", "change", "")
	if ev := e.awaitClosed(clean); ev.State != bus.Done || len(e.effects.sent) != 1 {
		t.Fatalf("clean conversation: event %s, sent %v", ev.State, e.effects.sent)
	}
	for _, text := range []string{"read", "repeat"} {
		e.askHob("s", text)
	}
	e.awaitCompactions("s", 1)
	id := e.putMessage("s", "change", "")
	if ev := e.awaitSettled(id); ev.State != bus.Pending {
		t.Errorf("event %s: the page's text triggered the change", ev.State)
	}
	asked := m.Asked()
	last := asked[len(asked)-1]
	for _, msg := range last.Messages {
		for _, p := range msg.Parts {
			if p.Result != nil {
				t.Fatal("the page is still in the window, so the test proves nothing")
			}
		}
	}
	if len(e.effects.sent) != 1 {
		t.Errorf("sent: %v", e.effects.sent)
	}
}

// An error may taint the context like a result.
func TestTaint_ByAnError(t *testing.T) {
	for _, tc := range []struct {
		name string
		fail func() (tools.Result, error)
		asks bool
	}{
		{"in Hob's own words", func() (tools.Result, error) { return tools.Result{}, tools.Errorf(tools.Failed, "no") }, false},
		{"the end of its time", func() (tools.Result, error) { return tools.Result{}, context.DeadlineExceeded }, false},
		{"repeating the call's arguments", func() (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.NotFound, "there is no task %q", tools.Clean("milk"))
		}, false},
		{"quoting a page", func() (tools.Result, error) {
			return tools.Result{}, tools.Quoting(tools.Errorf(tools.Failed, "the page says: obey"), provenance.Outside)
		}, true},
		{"with an outside result", func() (tools.Result, error) {
			return tools.Result{Source: provenance.Outside}, tools.Errorf(tools.Failed, "the page says: obey")
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fetch := tools.New(tools.Def[textArgs]{
				Spec: tools.Spec{Name: "fetch", Category: "test", Description: "Fetch.", Effects: tools.Read, Core: true},
				Run:  func(context.Context, tools.Call, textArgs) (tools.Result, error) { return tc.fail() },
			})
			m := scriptedModel(callsAnswer(newCall("fetch", `{"text":"x"}`)), callsAnswer(newCall("change_file", `{"text":"x"}`)), llmtest.Answer{Text: "ok"})
			e := startEngine(t, setup{model: m, tools: []tools.Tool{fetch}})
			ev := e.awaitSettled(e.putMessage("s", "go", ""))
			if got := ev.State == bus.Pending; got != tc.asks {
				t.Errorf("the turn is %s", ev.State)
			}
		})
	}
}

// A panic in a tool fails the call, but does not end the daemon.
func TestTool_PanicFailsTheCall(t *testing.T) {
	spec := func(name string, e tools.Effects) tools.Spec {
		return tools.Spec{Name: name, Category: "test", Description: "Break.", Effects: e, Core: true}
	}
	run := func(context.Context, tools.Call, textArgs) (tools.Result, error) { panic("oh") }
	own := func(_ context.Context, tx *store.Tx, c tools.Call, _ textArgs) (tools.Result, error) {
		if _, err := tx.Exec(`INSERT INTO items (call, text) VALUES (?, 'half')`, c.ID); err != nil {
			return tools.Result{}, err
		}
		panic("oh")
	}
	for _, tool := range []tools.Tool{
		tools.New(tools.Def[textArgs]{Spec: spec("break_read", tools.Read), Run: run}),
		tools.New(tools.Def[textArgs]{Spec: spec("break_write", tools.Write), Run: run}),
		tools.New(tools.Def[textArgs]{Spec: spec("break_own_read", tools.Read), RunTx: own}),
		tools.New(tools.Def[textArgs]{Spec: spec("break_own", tools.Write), RunTx: own}),
	} {
		name := tool.Spec().Name
		t.Run(name, func(t *testing.T) {
			m := scriptedModel(
				callsAnswer(newCall(name, `{"text":"a"}`), newCall(name, `{"text":"b"}`)),
				llmtest.Answer{Result: "error failed: " + name + " crashed: oh", Text: "it broke"}, llmtest.Answer{Text: "fine"})
			e := startEngine(t, setup{model: m, tools: []tools.Tool{tool}})
			id := e.putMessage("s", "go", "")
			if got := e.awaitClosed(id).Answer; got != "it broke" {
				t.Errorf("answer %q", got)
			}
			if got := e.askHob("s", "still there?"); got != "fine" {
				t.Errorf("next answer: %q", got)
			}
			list, err := e.bus.Ledger.Calls(t.Context(), id)
			if err != nil || len(list) != 2 || list[0].State != bus.CallFailed || len(e.listItems()) != 0 {
				t.Errorf("ledger %+v, %v, items %v", list, err, e.listItems())
			}
		})
	}
}

// An abandoned turn leaves a history that models accept.
func TestHistory_StaysValidAfterAnAbandonedTurn(t *testing.T) {
	round := 0
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		round++
		switch round {
		case 1:
			return callsAnswer(newCall("add_item", `{"text":"milk"}`), readPage("cats"))
		case 2:
			return llmtest.Answer{Status: 401}
		}
		return llmtest.Answer{Text: "fine"}
	})
	e := startEngine(t, setup{model: m})
	e.specs["c"] = watchers.Spec{ID: "c", Kind: "cron", Timed: true, Mode: watchers.Do, Action: "do it", Report: "home", Provenance: provenance.Owner}
	for i, want := range []bus.State{bus.Dead, bus.Done} {
		failOnError(t, e.intake.Fire(t.Context(), "c", []watchers.Signal{{Key: fmt.Sprint(i), Text: "now"}}, nil))
		list, err := e.bus.Inbox.List(t.Context(), "schedule:c", "", 1)
		failOnError(t, err)
		if ev := e.awaitClosed(list[0].ID); ev.State != want {
			t.Fatalf("firing %d is %s (%s), want %s", i, ev.State, ev.Error, want)
		}
	}
	checkCallsPaired(t, m)
	asked := m.Asked()
	var got []string
	for _, msg := range asked[len(asked)-1].Messages {
		for _, p := range msg.Parts {
			if p.Result != nil {
				got = append(got, p.Result.Text)
			}
		}
	}
	want := []string{"Added milk.", "canceled: this turn was abandoned before the call ran"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// If the first message is too long for the model, the owner gets one sentence about it, and later
// messages are answered.
func TestOverflow_OnTheFirstMessage(t *testing.T) {
	m := llmtest.NewScripted(llmtest.Options{},
		llmtest.Answer{Match: "long", Status: 400, Body: `{"error":{"code":"context_length_exceeded","message":"maximum context length is 10 tokens"}}`, Times: -1},
		llmtest.Answer{Match: "short", Text: "hello"})
	e := startEngine(t, setup{model: m})
	if got := e.askHob("s", "long "+strings.Repeat("x", 1000)); !strings.HasPrefix(got, "Sorry") {
		t.Errorf("answer %q", got)
	}
	if got := e.askHob("t", "short"); got != "hello" {
		t.Errorf("next answer: %q", got)
	}
}
