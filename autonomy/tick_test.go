package autonomy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/watchers"
)

// fixedSilence is a fixed explanation of the watchers' silence.
type fixedSilence struct{}

func (fixedSilence) Find(_ context.Context, words string, _ watchers.Filter) (watchers.Spec, error) {
	if words == "w-1" {
		return watchers.Spec{ID: "w-1", Kind: "email"}, nil
	}
	return watchers.Spec{}, watchers.ErrNotFound
}

func (fixedSilence) List(context.Context, watchers.Filter) ([]watchers.Spec, error) {
	return []watchers.Spec{{ID: "w-1"}}, nil
}

func (fixedSilence) Silence(context.Context, string) (watchers.Silence, error) {
	return watchers.Silence{
		Watcher: watchers.Spec{ID: "w-1", State: watchers.Active}, Description: "mail about the invoice",
		Holds: []watchers.Hold{{Rule: watchers.RuleHours, Text: "it is only asked 08:00-18:00 (active_hours)"}},
	}, nil
}

func (fixedSilence) Passed(_ context.Context, words []string, _ time.Time, _ int) ([]watchers.SuppressedSignal, error) {
	if len(words) == 1 && words[0] == "ada" || len(words) == 0 {
		return []watchers.SuppressedSignal{{Watcher: "w-1", Rule: watchers.RuleCondition, Text: "Mail from Ada: lunch", Why: "you asked for subjects with invoice"}}, nil
	}
	return nil, nil
}

func (e *engine) explainAction(question string) string {
	e.t.Helper()
	x, err := e.explainer.Explain(e.t.Context(), explain.ParseQuestion(question))
	failOnError(e.t, err)
	return x.Text(time.UTC)
}

// waitUntil polls ok and fails the test after 30 s.
func (e *engine) waitUntil(what string, ok func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("timed out: %s", what)
		}
	}
}

func (e *engine) checkExplanation(question string, parts ...string) {
	e.t.Helper()
	got := e.explainAction(question)
	for _, p := range parts {
		if !strings.Contains(got, p) {
			e.t.Errorf("why %s: the answer does not contain %q:\n%s", question, p, got)
		}
	}
}

// Each tick with an input can be explained: the event, the decision and the action. A tick without
// an input is only counted.
func TestTick_WithInputLeavesATrace(t *testing.T) {
	e := startEngine(t, setup{model: scriptedModel(llmtest.Answer{Text: "Good morning."}), watchers: fixedSilence{}})
	e.checkExplanation("tick", "No tick has had an input yet")
	e.checkExplanation("notification", "not sent you a notification yet")
	first := e.putMessage("main", "hello", "")
	e.awaitSettled(first)
	e.checkExplanation("tick last", "woken by: ", `"hello"`, "a message from you, answered by the model", "; done")
	e.specs["w-1"] = watchers.Spec{ID: "w-1", Kind: "feed", Title: "the news", Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner}
	failOnError(t, e.intake.Fire(t.Context(), "w-1", []watchers.Signal{{Key: "1", Text: "A fire", Source: provenance.Outside, At: time.Now()}}, nil))
	list, err := e.bus.Inbox.List(t.Context(), "watcher:w-1", "", 1)
	failOnError(t, err)
	e.awaitSettled(list[0].ID)
	e.checkExplanation("tick "+list[0].ID, "the watcher w-1, whose mode is notify", "without a model")
	e.checkExplanation("notification last", "A fire", "notice to main")
	e.checkExplanation("event "+first, "iteration ", "hello")
	e.checkExplanation("silence w-1", "[active_hours]", "A fire")
	all, with := e.loop.Ticks()
	if with != 2 || all < with {
		t.Errorf("%d of %d ticks had an input, want 2", with, all)
	}
	if _, err := e.explainer.Explain(t.Context(), tools.ExplainRequest{Kind: "fate"}); err == nil {
		t.Error("Explain of an unknown kind succeeded")
	}
}

// A failed tick also leaves a trace, and old traces are deleted.
func TestTick_LeavesATraceWhenItFails(t *testing.T) {
	e := startEngine(t, setup{watchers: fixedSilence{}})
	e.specs["w-1"] = watchers.Spec{ID: "w-1", Kind: "feed", Title: "the news", Mode: watchers.Do, Action: "summarise it", Report: "main", Provenance: provenance.Owner}
	failOnError(t, e.intake.Fire(t.Context(), "w-1", []watchers.Signal{{Key: "1", Text: "A fire", At: time.Now()}}, nil))
	list, err := e.bus.Inbox.List(t.Context(), "watcher:w-1", "", 1)
	failOnError(t, err)
	e.waitUntil("the turn fails", func() bool { // the next attempt is in a minute
		ev, err := e.bus.Inbox.Event(t.Context(), list[0].ID)
		failOnError(t, err)
		return ev.Error != ""
	})
	e.checkExplanation("tick "+list[0].ID, "whose mode is do", "; failed")
	e.checkExplanation("silence", "[not_done_yet]", "A fire", "[condition]", "Mail from Ada: lunch", "subjects with invoice")
	e.checkExplanation("silence the mail from Ada since 2h", "[condition]")
	e.checkExplanation("silence the mail from Bob", "Nothing about", "was held back")
}

// An event that was not reported because another watcher had reported it is found by the words in
// its text, which are stored with the notice.
func TestSilence_FindsEventsReportedByAnotherWatcher(t *testing.T) {
	e := startEngine(t, setup{quiet: []notify.QuietWindow{}, watchers: fixedSilence{}})
	for i, id := range []string{"w-2", "w-3"} {
		e.specs[id] = watchers.Spec{ID: id, Kind: "feed", Title: fmt.Sprintf("news %d", i), Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner}
		failOnError(t, e.intake.Fire(t.Context(), id, []watchers.Signal{{Key: "1", Text: "The comet is back", Payload: json.RawMessage(`{"item":7}`), Source: provenance.Outside, At: time.Now()}}, nil))
		list, err := e.bus.Inbox.List(t.Context(), "watcher:"+id, "", 1)
		failOnError(t, err)
		e.awaitSettled(list[0].ID)
	}
	e.checkExplanation("silence the comet", "not sent: it repeats n-", "notify.same_within", "The comet is back")
	e.checkExplanation("silence the asteroid", "Nothing about")
}

// A digest has the origins of all its notices. Traces of notices are pruned together with traces of
// ticks.
func TestDigest_HasTheOriginsOfItsNotices(t *testing.T) {
	e := startEngine(t, setup{quiet: []notify.QuietWindow{{Start: 0, End: 24 * 60}}, watchers: fixedSilence{}})
	for _, id := range []string{"w-2", "w-3"} {
		e.specs[id] = watchers.Spec{ID: id, Kind: "feed", Title: "news of " + id, Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner}
		failOnError(t, e.intake.Fire(t.Context(), id, []watchers.Signal{{Key: "1", Text: "A word from " + id, Source: provenance.Outside, At: time.Now()}}, nil))
		list, err := e.bus.Inbox.List(t.Context(), "watcher:"+id, "", 1)
		failOnError(t, err)
		e.awaitSettled(list[0].ID)
	}
	e.awaitSettled(e.putMessage("main", "/quiet off", ""))
	var digest []bus.Event
	e.waitUntil("the digest is queued", func() bool {
		var err error
		digest, err = e.bus.Inbox.List(t.Context(), notify.Source, "", 1)
		failOnError(t, err)
		return len(digest) > 0
	})
	e.awaitSettled(digest[0].ID)
	e.checkExplanation("event "+digest[0].ID, "It contains text from", "news of w-2", "news of w-3")
}

// A tick without an input writes nothing, whatever woke the loop.
func TestTick_WritesNothingWhenIdle(t *testing.T) {
	e := startEngine(t, setup{change: func(o *autonomy.Options) { o.Tick = time.Millisecond }})
	e.waitUntil("20 ticks", func() bool {
		e.bus.Inbox.SignalWork()
		all, _ := e.loop.Ticks()
		return all >= 20
	})
	if _, with := e.loop.Ticks(); with != 0 {
		t.Errorf("%d ticks had an input", with)
	}
	var n int
	failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error { return tx.QueryRow("SELECT count(*) FROM ticks").Scan(&n) }))
	if n != 0 {
		t.Errorf("%d ticks without an input left a trace", n)
	}
}

// A notice that was not delivered is not reported as delivered.
func TestSilence_UndeliveredNoticeIsNotListedAsDelivered(t *testing.T) {
	e := startEngine(t, setup{
		pushes:   map[string]bool{"telegram": true},
		watchers: fixedSilence{}, change: func(o *autonomy.Options) { o.Notify = "telegram" },
	})
	e.specs["w-1"] = watchers.Spec{ID: "w-1", Kind: "feed", Title: "the news", Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner}
	for _, text := range []string{"A fire", "A flood", "A storm"} {
		failOnError(t, e.intake.Fire(t.Context(), "w-1", []watchers.Signal{{Key: text, Text: text, Source: provenance.Outside, At: time.Now()}}, nil))
	}
	list, err := e.bus.Inbox.List(t.Context(), "watcher:w-1", "", 3)
	failOnError(t, err)
	for _, ev := range list {
		e.awaitSettled(ev.ID)
	}
	become := func(text, state string) {
		failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE outbox SET state = ? WHERE text LIKE ?`, state, "%"+text+"%")
			return err
		}))
	}
	become("fire", "dead")
	become("storm", "sent")
	got := e.explainAction("silence w-1")
	told, rest, _ := strings.Cut(got, "Not delivered yet:")
	if !strings.Contains(told, "Delivered:") || !strings.Contains(told, "storm") || strings.Contains(told, "fire") || strings.Contains(told, "flood") {
		t.Errorf("listed as delivered:\n%s", got)
	}
	if !strings.Contains(rest, "flood") || !strings.Contains(rest, "dead") || strings.Contains(rest, "storm") {
		t.Errorf("listed as suppressed:\n%s", got)
	}
	if got := e.explainAction("silence flood"); strings.Count(got, "A flood") != 1 || strings.Contains(got, "Delivered") {
		t.Errorf("want the event listed once:\n%s", got)
	}
	if got := e.explainAction("silence my mail"); strings.Contains(got, "Delivered") {
		t.Errorf("the question named no notices, but they are listed:\n%s", got)
	}
}

// If the stored review of a goal cannot be read, the explanation fails instead of giving a wrong
// answer.
func TestSilence_FailsWhenAReviewCannotBeRead(t *testing.T) {
	storetest.FileOnly(t, "PostgreSQL refuses a value of another type")
	e, kept := withGoals(t, t.TempDir(), scriptedModel(llmtest.Answer{Text: deferring, Times: -1}))
	e.awaitReview(e.createGoal(kept, goals.Goal{Description: "wake me", Provenance: provenance.Owner, NextAt: time.Now()}))
	e.checkExplanation("silence", "decision of the last review")
	failOnError(t, e.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE goal_reviews SET confidence = 'damaged'`)
		if err == nil { // the goal's own row must not answer the question
			_, err = tx.Exec(`UPDATE goals SET event = ''`)
		}
		return err
	}))
	if x, err := e.explainer.Explain(t.Context(), explain.ParseQuestion("silence")); err == nil {
		t.Errorf("an unreadable review is explained as %q", x.Text(time.UTC))
	}
}
