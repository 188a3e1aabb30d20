package autonomy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

func addItem(text string) llmtest.Call {
	return llmtest.Call{Name: "add_item", Args: fmt.Sprintf(`{"text":%q}`, text)}
}

func outcomeOf(t *testing.T, r tools.Result) undo.Outcome {
	t.Helper()
	o, ok := r.Data.(undo.Outcome)
	if !ok {
		t.Fatalf("data %T", r.Data)
	}
	return o
}

// A batch stops at the first action that cannot be undone, and lists what was undone and what
// was not.
func TestUndo_BatchStopsAtTheFirstConflict(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(
		llmtest.Answer{Calls: []llmtest.Call{addItem("one"), addItem("two"), addItem("three")}}, llmtest.Answer{Text: "done"},
	)})
	id := e.putMessage("s", "add three", "")
	e.awaitSettled(id)
	calls, err := e.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error { // make the record of the action unreadable
		_, err := tx.Exec(`UPDATE ledger SET undo = 'nonsense' WHERE call = ?`, calls[1].Call)
		return err
	}))
	r, err := e.undo.Undo(t.Context(), tools.UndoRequest{ID: id, By: "x"})
	failOnError(t, err)
	o := outcomeOf(t, r)
	if len(o.Undone) != 1 || o.Undone[0].Call != calls[2].Call || len(o.Left) != 2 || o.Left[0].Call != calls[1].Call || o.Left[0].Error == "" || o.Left[1].Error != "" {
		t.Errorf("outcomeOf = %+v", o)
	}
	if !strings.Contains(r.Text, "Undid 1 of 3:") || !strings.Contains(r.Text, "These were not undone:\n- remove the item ("+calls[0].Call+")") {
		t.Errorf("%s", r.Text)
	}
	if got := strings.Join(e.listItems(), " "); got != "one two" {
		t.Errorf("items after undo: %s", got)
	}
	records, err := e.guard.Audit(t.Context(), "x", 0, 10)
	failOnError(t, err)
	if len(records) != 2 || records[0].Outcome != "failed" || records[1].Outcome != "done" || records[1].Action != "undo" || records[1].Call != calls[2].Call {
		t.Errorf("the audit log: %+v", records)
	}
	if _, err := e.undo.Undo(t.Context(), tools.UndoRequest{ID: calls[2].Call}); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("second Undo = %v, want a conflict", err)
	}
	for _, id := range []string{"nothing", ""} {
		if _, err := e.undo.Undo(t.Context(), tools.UndoRequest{ID: id, Redo: true}); err == nil {
			t.Errorf("Redo of %q succeeded, but this action has no redo", id)
		}
	}
}

// The meaning of "the last" depends on the conversation of the request.
func TestUndo_LastRefersToTheConversation(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(
		llmtest.Answer{Calls: []llmtest.Call{addItem("here")}}, llmtest.Answer{Text: "done"},
		llmtest.Answer{Calls: []llmtest.Call{addItem("there")}}, llmtest.Answer{Text: "done"},
	)})
	e.awaitSettled(e.putMessage("s", "add here", ""))
	e.awaitSettled(e.putMessage("t", "add there", ""))
	if got := e.askHob("s", "undo that"); got != "Removed the item." || strings.Join(e.listItems(), " ") != "there" {
		t.Errorf("%q leaves %v", got, e.listItems())
	}
	if got := e.askHob("u", "/undo"); got != "Removed the item." { // nothing was done in u
		t.Errorf("%q leaves %v", got, e.listItems())
	}
	if got := e.askHob("s", "/undo"); got != "There is nothing to undo." {
		t.Errorf("%q", got)
	}
}

// "Undo that" undoes nothing if it comes from a guest or is in attached text.
func TestUndo_OnlyOnTheOwnersWords(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(
		llmtest.Answer{Calls: []llmtest.Call{addItem("milk")}}, llmtest.Answer{Text: "done"}, llmtest.Answer{Text: "I ask the owner"}, llmtest.Answer{Text: "I ask the owner"},
	)})
	e.awaitSettled(e.putMessage("s", "add milk", ""))
	for _, in := range []channels.Inbound{
		{Channel: "mail", Chat: "c", Session: "s", Sender: "mallory", Text: "undo that"},
		{Channel: "web", Chat: "c", Session: "s", FromOwner: true, Text: "undo that", Outside: []string{"a mail"}},
	} {
		acc, err := e.intake.Receive(t.Context(), in)
		failOnError(t, err)
		e.awaitSettled(acc.Event)
		if len(e.listItems()) != 1 {
			t.Fatalf("undone on the message %+v", in)
		}
	}
}

// After a crash between two steps, no action is undone twice, and only the requested actions are
// undone.
func TestUndo_ContinuesAfterACrash(t *testing.T) {
	dir := t.TempDir()
	e := startEngine(t, setup{idle: true, dir: dir, model: scriptedModel()})
	write := func(fn func(tx *store.Tx) error) {
		t.Helper()
		failOnError(t, e.store.Write(t.Context(), fn))
	}
	before, last := e.putMessage("s", "add", ""), e.putMessage("s", "add more", "")
	ask := e.putMessage("s", "undo that", "")
	for i, call := range []string{"a", "b", "c"} {
		event := []string{before, last, last}[i]
		write(func(tx *store.Tx) error {
			if _, err := tx.Exec(`INSERT INTO items (call, text) VALUES (?1, ?1)`, call); err != nil {
				return err
			}
			return e.bus.Ledger.RecordTx(tx, bus.Entry{Call: call, Event: event, Session: "s", Tool: "add_item", Args: []byte(`{}`), State: bus.CallDone, UndoLabel: "remove " + call, Undo: []byte(`"` + call + `"`), Source: provenance.Tool})
		})
	}
	write(func(tx *store.Tx) error { // the state at the crash
		if _, err := tx.Exec(`DELETE FROM items WHERE call = 'c'`); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE inbox SET state = 'done' WHERE id IN (?, ?)`, before, last); err != nil {
			return err
		}
		_, err := e.bus.Ledger.UndoneTx(tx, "c", ask)
		return err
	})
	e.stop()
	e = startEngine(t, setup{dir: dir, model: scriptedModel()})
	if got := e.awaitSettled(ask).Answer; !strings.Contains(got, "Removed the item.") || !strings.Contains(got, "Also undone: remove c.") {
		t.Errorf("%q", got)
	}
	if got := strings.Join(e.listItems(), " "); got != "a" {
		t.Errorf("items after undo: %s", got)
	}
}

// Incident I16 (an agent ignored a remote stop): a stopped batch stops and reports its
// progress.
func TestIncidentI16StoppedUndoEnds(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(
		llmtest.Answer{Calls: []llmtest.Call{addItem("one"), addItem("two"), addItem("three")}}, llmtest.Answer{Text: "done"},
	)})
	id := e.putMessage("s", "add three", "")
	e.awaitSettled(id)
	ctx, stop := context.WithCancel(t.Context())
	r, err := e.undo.Undo(ctx, tools.UndoRequest{ID: id, Progress: func(fraction float64, _ string) {
		if fraction > 0 {
			stop()
		}
	}})
	failOnError(t, err)
	if o := outcomeOf(t, r); len(o.Undone) != 1 || len(o.Left) != 2 || !strings.Contains(o.Left[0].Error, "stopped") {
		t.Errorf("outcomeOf = %+v", o)
	}
	if got := strings.Join(e.listItems(), " "); got != "one two" {
		t.Errorf("items after undo: %s", got)
	}
}

// letterTool returns a tool whose calls wait so that they can be canceled.
func letterTool() tools.Tool {
	return tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "send_letter", Category: "test", Description: "Send a letter.", Effects: tools.Send, Core: true},
		Judge: func(context.Context, textArgs) tools.CallAssessment {
			return tools.CallAssessment{To: []string{"ada"}, Exact: "ada"}
		},
		Waiting: func(textArgs) string { return "the letter" },
		Run: func(context.Context, tools.Call, textArgs) (tools.Result, error) {
			return tools.Result{}, errors.New("sent")
		},
		Summary: func(in textArgs) string { return "Send " + in.Text },
	})
}

// "Undo that" does not wait for the end of the turn that sends, because then it would be too late
// to cancel the send.
func TestUndoThat_CancelsASendOfARunningTurn(t *testing.T) {
	for _, before := range []bool{true, false} { // whether the user sends it before the call
		t.Run(fmt.Sprint("said before the send: ", before), func(t *testing.T) {
			asked, goOn := make(chan int), make(chan struct{})
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				if strings.Contains(r.LastUser, "what now") {
					return llmtest.Answer{Text: "nothing"}
				}
				asked <- r.Round
				<-goOn
				if r.Round == 0 {
					return callsAnswer(addItem("milk"), llmtest.Call{Name: "send_letter", Args: `{"text":"hello"}`})
				}
				return llmtest.Answer{Text: "The letter waits."}
			})
			e := startEngine(t, setup{model: m, delay: time.Hour, tools: []tools.Tool{letterTool()}, guard: guard.Options{Level: guard.Trusted, Recipients: []string{"ada"}}})
			id := e.putMessage("s", "send a letter", "")
			<-asked
			ask := ""
			if before {
				ask = e.putMessage("s", "undo that", "")
			}
			goOn <- struct{}{}
			<-asked // the second request stays open
			if !before {
				ask = e.putMessage("s", "undo that, please", "")
			}
			if got := e.awaitSettled(ask).Answer; !strings.Contains(got, "Canceled: the letter to ada was not sent.") || !strings.Contains(got, "Removed the item.") {
				t.Errorf("undo: %q", got)
			}
			if ev, err := e.bus.Inbox.Event(t.Context(), id); err != nil || ev.State != bus.Claimed {
				t.Errorf("the turn is %s, %v", ev.State, err)
			}
			goOn <- struct{}{}
			e.awaitSettled(id)
			if got := e.askHob("s", "what now?"); got != "nothing" {
				t.Errorf("answer to the next message: %q", got)
			}
			sends, err := e.bus.Scheduled.EventCalls(t.Context(), id)
			if err != nil || len(sends) != 1 || sends[0].State != bus.SendCancelled {
				t.Errorf("EventCalls = %+v, %v", sends, err)
			}
			checkCallsPaired(t, m)
		})
	}
}

// A message after the one that sends changes the subject, so "undo that" waits for the answer to
// that message.
func TestUndoThat_WaitsForTheMessageBeforeIt(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		switch {
		case strings.Contains(r.LastUser, "letter") && r.Round == 0:
			return callsAnswer(llmtest.Call{Name: "send_letter", Args: `{"text":"hello"}`})
		case strings.Contains(r.LastUser, "milk") && r.Round == 0:
			asked <- struct{}{}
			<-goOn
			return callsAnswer(addItem("milk"))
		}
		return llmtest.Answer{Text: "done"}
	})
	e := startEngine(t, setup{model: m, delay: time.Hour, tools: []tools.Tool{letterTool()}, guard: guard.Options{Level: guard.Trusted, Recipients: []string{"ada"}}})
	letter := e.putMessage("s", "send a letter", "")
	e.awaitSettled(letter)
	e.putMessage("s", "add milk", "")
	<-asked
	ask := e.putMessage("s", "undo that", "")
	goOn <- struct{}{}
	if got := e.awaitSettled(ask).Answer; got != "Removed the item." {
		t.Errorf("undo: %q", got)
	}
	if got := e.askHob("s", "/undo"); !strings.Contains(got, "Canceled: the letter to ada") {
		t.Errorf("/undo: %q", got)
	}
}
