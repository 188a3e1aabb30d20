package autonomy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/session"
	"hob/platform/store"
)

// A stopped turn records the result of each call.
func TestStop_RecordsTheResultOfEachCall(t *testing.T) {
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if !strings.HasSuffix(r.LastUser, "go") {
			return llmtest.Answer{Text: "fine"}
		}
		return callsAnswer(newCall("add_item", `{"text":"milk"}`), newCall("nothing", `{}`), newCall("change_file", `{"text":"x"}`), newCall("add_item", `{"text":"eggs"}`))
	})
	eff := &effects{hold: make(chan struct{}), held: make(chan struct{})}
	e := startEngine(t, setup{model: m, effects: eff})
	id := e.putMessage("s", "go", "")
	<-eff.held
	e.askHob("s", "/stop")
	if got := e.awaitClosed(id); got.Answer != "Stopped." {
		t.Errorf("answer %q", got.Answer)
	}
	e.askHob("s", "what happened?")
	checkCallsPaired(t, m)
	msgs := m.Asked()[1].Messages
	var got []string
	for _, msg := range msgs {
		for _, p := range msg.Parts {
			if p.Result != nil {
				got = append(got, p.Result.Text)
			}
		}
	}
	want := []string{
		"Added milk.", `error not_found: there is no tool "nothing"; call find_tools with a few words`, "error cancelled: context canceled",
		"error cancelled: the user stopped this turn before this call ran",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"milk"}, e.listItems()); diff != "" {
		t.Error(diff)
	}
	if ids := callIDs(t, e, id); len(ids) != 4 {
		t.Errorf("%d rows in the ledger", len(ids))
	}
}

// A request to stop a waiting turn survives a restart.
func TestStop_SurvivesARestart(t *testing.T) {
	dir, eff := t.TempDir(), &effects{}
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		return callsAnswer(newCall("add_item", `{"text":"milk"}`), newCall("use_tool", `{"name":"send_text","arguments":{"text":"hello"}}`))
	})
	e := startEngine(t, setup{dir: dir, model: m, effects: eff})
	id := e.putMessage("s", "go", "")
	e.awaitSettled(id)
	e.stop()
	e = startEngine(t, setup{dir: dir, model: m, effects: eff, idle: true})
	failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error {
		if err := e.guard.CloseTx(tx, id, guard.Cancelled); err != nil {
			return err
		}
		return e.bus.Inbox.ResumeTx(tx, id)
	}))
	e.stop()
	e = startEngine(t, setup{dir: dir, model: m, effects: eff})
	if got := e.awaitClosed(id); got.Answer != "Stopped." || len(eff.sent) != 0 || len(m.Asked()) != 1 {
		t.Errorf("answer %q, sent %v, %d model calls", got.Answer, eff.sent, len(m.Asked()))
	}
	_, recorded, err := session.New(e.store).History(t.Context(), "s", id)
	failOnError(t, err)
	var last llm.Message
	for _, msg := range recorded {
		if msg.Role == llm.ToolRole {
			last = msg
		}
	}
	if len(last.Parts) != 2 || last.Parts[0].Result.Text != "Added milk." {
		t.Errorf("results %+v", last.Parts)
	}
}
