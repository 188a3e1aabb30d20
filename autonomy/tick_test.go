package autonomy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/autonomy"
	"hob/autonomy/llm/llmtest"
	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/watchers"
)

// silent is what the watchers say about their silences.
type silent struct{}

func (silent) Find(_ context.Context, words string, _ watchers.Filter) (watchers.Spec, error) {
	if words == "w-1" {
		return watchers.Spec{ID: "w-1", Kind: "email"}, nil
	}
	return watchers.Spec{}, watchers.ErrNotFound
}

func (silent) List(context.Context, watchers.Filter) ([]watchers.Spec, error) {
	return []watchers.Spec{{ID: "w-1"}}, nil
}

func (silent) Silence(context.Context, string) (watchers.Silence, error) {
	return watchers.Silence{
		Watcher: watchers.Spec{ID: "w-1", State: watchers.Active}, Description: "mail about the invoice",
		Holds: []watchers.Hold{{Rule: watchers.RuleHours, Text: "it is only asked 08:00-18:00 (active_hours)"}},
	}, nil
}

func (silent) Passed(_ context.Context, words []string, _ time.Time, _ int) ([]watchers.Passed, error) {
	if len(words) == 1 && words[0] == "ada" || len(words) == 0 {
		return []watchers.Passed{{Watcher: "w-1", Rule: watchers.RuleCondition, Text: "Mail from Ada: lunch", Why: "you asked for subjects with invoice"}}, nil
	}
	return nil, nil
}

func (e *engine) explain(question string) string {
	e.t.Helper()
	x, err := e.loop.Explain(e.t.Context(), autonomy.AskedWhy(question))
	fatal(e.t, err)
	return x.Text(time.UTC)
}

func (e *engine) tells(question string, parts ...string) {
	e.t.Helper()
	got := e.explain(question)
	for _, p := range parts {
		if !strings.Contains(got, p) {
			e.t.Errorf("why %s: %q is not in\n%s", question, p, got)
		}
	}
}

// Each tick that had something to do can be explained: what came, what decided,
// what was done. One without leaves nothing but a count.
func TestEachTickWithAnInputLeavesATrace(t *testing.T) {
	e := start(t, setup{model: scripted(llmtest.Answer{Text: "Good morning."}), change: func(o *autonomy.Options) { o.Watching = silent{} }})
	e.tells("tick", "No tick had an input yet")
	e.tells("notification", "told you nothing by myself")
	first := e.put("main", "hello", "")
	e.settle(first)
	e.tells("tick last", "woken by: ", `"hello"`, "a message of the owner's, answered by the model", "; done")
	e.specs["w-1"] = watchers.Spec{ID: "w-1", Kind: "feed", Title: "the news", Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner}
	fatal(t, e.loop.Fire(t.Context(), "w-1", []watchers.Signal{{Key: "1", Text: "A fire", Source: provenance.Outside, At: time.Now()}}, nil))
	list, err := e.bus.List(t.Context(), "watcher:w-1", "", 1)
	fatal(t, err)
	e.settle(list[0].ID)
	e.tells("tick "+list[0].ID, "the watcher w-1, whose mode is notify", "without a model")
	e.tells("notification last", "A fire", "notice to main")
	e.tells("event "+first, "tick ", "hello")
	e.tells("silence w-1", "[active_hours]", "A fire")
	all, with := e.loop.Ticks()
	if with != 2 || all < with {
		t.Errorf("%d ticks of %d had an input, want 2", with, all)
	}
	if _, err := e.loop.Explain(t.Context(), autonomy.Question{Kind: "fate"}); err == nil {
		t.Error("a question of an unknown kind is answered")
	}
}

// A tick that failed leaves a trace, too, and old ones go.
func TestTracesOfFailedTicks(t *testing.T) {
	e := start(t, setup{change: func(o *autonomy.Options) { o.Watching = silent{} }})
	e.specs["w-1"] = watchers.Spec{ID: "w-1", Kind: "feed", Title: "the news", Mode: watchers.Do, Action: "summarise it", Report: "main", Provenance: provenance.Owner}
	fatal(t, e.loop.Fire(t.Context(), "w-1", []watchers.Signal{{Key: "1", Text: "A fire", At: time.Now()}}, nil))
	list, err := e.bus.List(t.Context(), "watcher:w-1", "", 1)
	fatal(t, err)
	for ev := list[0]; ev.Error == ""; { // it is tried again in a minute
		ev, err = e.bus.Event(t.Context(), list[0].ID)
		fatal(t, err)
	}
	e.tells("tick "+list[0].ID, "whose mode is do", "; failed")
	e.tells("silence", "[not_done_yet]", "A fire", "[condition]", "Mail from Ada: lunch", "subjects with invoice")
	e.tells("silence the mail from Ada since 2h", "[condition]")
	e.tells("silence the mail from Bob", "Nothing about", "was held back")
}

// Whatever wakes the loop without an input writes nothing.
func TestIdleTicksWriteNothing(t *testing.T) {
	e := start(t, setup{change: func(o *autonomy.Options) { o.Tick = time.Millisecond }})
	for all := int64(0); all < 20; all, _ = e.loop.Ticks() {
		e.bus.Poke()
	}
	if _, with := e.loop.Ticks(); with != 0 {
		t.Errorf("%d ticks had an input", with)
	}
	var n int
	fatal(t, e.store.Write(t.Context(), func(tx *store.Tx) error { return tx.QueryRow("SELECT count(*) FROM ticks").Scan(&n) }))
	if n != 0 {
		t.Errorf("%d ticks without an input left a trace", n)
	}
}
