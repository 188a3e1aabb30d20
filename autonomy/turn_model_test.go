package autonomy_test

import (
	"context"
	"fmt"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/turn/modelrouter"
	"hob/platform/store"
)

// A turn ends with the model with which it started, even if the small model was disabled while the
// turn waited across a restart. The next turn uses the default model.
func TestTurn_KeepsItsModelAcrossARestart(t *testing.T) {
	scriptedAs := func(name string, answers ...llmtest.Answer) *llmtest.Scripted {
		return llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "p", Model: name, Tools: true}}, answers...)
	}
	small := scriptedAs("small", callsAnswer(sendText("hello")), llmtest.Answer{Text: "sent by the small one"})
	main := scriptedAs("main", llmtest.Answer{Text: "said by the main one"})
	choose := func(name string) func(db *store.Store) *modelrouter.Router {
		return func(db *store.Store) *modelrouter.Router {
			c, err := modelrouter.New(modelrouter.Options{
				Store: db, Pins: modelrouter.NewPins(db), Small: name,
				Standing: func(context.Context) (llm.Model, string, error) { return main, "it is the main one", nil },
				Named: func(name string) (llm.Model, error) {
					if name == "p/small" {
						return small, nil
					}
					return nil, fmt.Errorf("no %s", name)
				},
			})
			failOnError(t, err)
			return c
		}
	}
	dir := t.TempDir()
	e := startEngine(t, setup{dir: dir, choose: choose("p/small")})
	id := e.putMessage("s", "send hello", "")
	e.awaitSettled(id)
	if len(e.openApprovals()) != 1 {
		t.Fatalf("the turn waits for %d answers, want 1", len(e.openApprovals()))
	}
	e.stop()
	e = startEngine(t, setup{dir: dir, choose: choose("")})
	settled, cancel := e.bus.Inbox.EventClosed(id)
	defer cancel()
	e.answerApproval(e.openApprovals()[0].ID, true)
	<-settled
	if got := e.awaitSettled(id).Answer; got != "sent by the small one" {
		t.Errorf("answer of the turn: %q", got)
	}
	if got := e.askHob("s", "hello"); got != "said by the main one" {
		t.Errorf("answer of the next turn: %q", got)
	}
}
