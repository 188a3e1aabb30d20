package bus_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

func mergeTexts(a, b bus.Event) (string, json.RawMessage, bool) {
	return a.Text + "\n" + b.Text, json.RawMessage(`{"joined":true}`), b.Text != "apart"
}

func messageFrom(sender, key, text string) bus.Event {
	return bus.Event{
		Kind: bus.Message, Source: "push", Session: "push:c", Channel: "push", Chat: "c", Sender: sender, Text: text,
		Payload: json.RawMessage(`{}`), Provenance: provenance.Owner, Key: key,
	}
}

func (f *fixture) joinEvent(e bus.Event, settle time.Duration) (acc channels.Accepted) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) (err error) {
		acc, err = f.Inbox.CoalesceTx(tx, e, settle, mergeTexts)
		return err
	})
	return acc
}

// claimAll claims all due events and returns their texts.
func (f *fixture) claimAll() (texts []string) {
	f.t.Helper()
	evs, _, err := f.Inbox.Claim(f.t.Context(), 9)
	failOnError(f.t, err)
	for _, e := range evs {
		texts = append(texts, e.Text)
	}
	return texts
}

func TestJoin_MergesMessagesOfOneSender(t *testing.T) {
	f := newBus(t)
	const wait = 2 * time.Second
	first := f.joinEvent(messageFrom("ada", "1", "one"), wait)
	f.now = f.now.Add(time.Second)
	second := f.joinEvent(messageFrom("ada", "2", "two"), wait)
	if second.Event != first.Event || second.Repeated {
		t.Errorf("second message = %+v, want a part of %s", second, first.Event)
	}
	f.restartBus() // all state is in the database
	for _, key := range []string{"1", "2"} {
		for _, settle := range []time.Duration{wait, 0} {
			if got := f.joinEvent(messageFrom("ada", key, "again"), settle); !got.Repeated || got.Event != first.Event {
				t.Errorf("repeat of %s = %+v, want the first event", key, got)
			}
		}
	}
	if got, err := f.Inbox.FindCoalesced(t.Context(), "push", "2"); err != nil || got != first.Event {
		t.Errorf("FindCoalesced = %q, %v", got, err)
	}
	f.now = f.now.Add(1500 * time.Millisecond) // the wait restarted
	f.expectList("still waiting", f.claimAll())
	f.now = f.now.Add(time.Second)
	f.expectList("one turn", f.claimAll(), "one\ntwo")
	late := f.joinEvent(messageFrom("ada", "3", "three"), wait)
	if late.Event == first.Event {
		t.Error("a message joined a turn that already runs")
	}
	list, err := f.Inbox.List(t.Context(), "push:c", "", 10)
	failOnError(t, err)
	if len(list) != 2 {
		t.Errorf("the inbox lists %d events, want 2", len(list))
	}
}

func TestJoin_ExtendsTheWaitAtMostFiveTimes(t *testing.T) {
	f := newBus(t)
	begun := f.now
	var events []string
	for i := range 12 {
		acc := f.joinEvent(messageFrom("ada", fmt.Sprint(i), "x"), 2*time.Second)
		events = append(events, acc.Event)
		f.now = f.now.Add(time.Second)
		if f.now.Sub(begun) == 10*time.Second {
			if got := f.claimAll(); len(got) != 1 {
				t.Errorf("no event can be claimed %v after the first message", f.now.Sub(begun))
			}
		}
	}
	if events[9] != events[0] || events[10] == events[0] {
		t.Errorf("joined events = %q", events)
	}
}

func TestJoin_KeepsOtherMessagesSeparate(t *testing.T) {
	const wait = 2 * time.Second
	other := func(change func(*bus.Event)) bus.Event {
		e := messageFrom("ada", "2", "two")
		change(&e)
		return e
	}
	for _, c := range []struct {
		name   string
		next   bus.Event
		settle time.Duration
	}{
		{"from another sender", messageFrom("bob", "2", "two"), wait},
		{"of another provenance", other(func(e *bus.Event) { e.Provenance = provenance.Outside }), wait},
		{"of another chat", other(func(e *bus.Event) { e.Chat = "d" }), wait},
		{"a command", other(func(e *bus.Event) { e.Lane = "push:c\x1fcommands" }), wait},
		{"on a channel without a debounce delay", other(func(*bus.Event) {}), 0},
		{"a message that cannot be merged", messageFrom("ada", "2", "apart"), wait},
		{"an event that is not a message", other(func(e *bus.Event) { e.Kind = bus.System }), wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newBus(t)
			a := f.joinEvent(messageFrom("ada", "1", "one"), wait)
			if b := f.joinEvent(c.next, c.settle); b.Event == a.Event {
				t.Error("the messages were joined")
			}
		})
	}
	t.Run("across another sender's message", func(t *testing.T) {
		f := newBus(t)
		a := f.joinEvent(messageFrom("ada", "1", "one"), wait)
		f.joinEvent(messageFrom("bob", "2", "two"), wait)
		if b := f.joinEvent(messageFrom("ada", "3", "three"), wait); b.Event == a.Event {
			t.Error("the message was joined across another one")
		}
	})
}

func TestDelivery_HasItsMessageAndDraft(t *testing.T) {
	f := newBus(t)
	e := messageFrom("ada", "1", "hello")
	e.Payload = json.RawMessage(`{"extra":{"id":7},"images":null}`)
	acc := f.joinEvent(e, 0)
	ctx := t.Context()
	failOnError(t, f.Outbox.KeepDraft(ctx, acc.Event, "push", "c", "m1"))
	failOnError(t, f.Outbox.KeepDraft(ctx, acc.Event, "push", "c", "m2"))
	f.restartBus()
	answer := outboxItem("push", "c", "the answer")
	answer.Files = []channels.Attachment{{Name: "a.txt", Size: 3, Path: "/x/a"}}
	f.sendTexts(acc.Event, answer, outboxItem("push", "d", "elsewhere"))
	rows, err := f.Outbox.ClaimDeliveries(ctx, "push", 9)
	failOnError(t, err)
	paths, err := f.Outbox.AttachedPaths(ctx)
	failOnError(t, err)
	if len(rows) != 2 || string(rows[0].Cause) != `{"id":7}` || rows[0].Draft != "m2" || len(rows[0].Files) != 1 || rows[1].Cause != nil || rows[1].Draft != "" {
		t.Fatalf("claimed %+v", rows)
	}
	if d := cmp.Diff([]string{"/x/a"}, paths); d != "" {
		t.Error(d)
	}
	unsettled, err := f.Outbox.InFlight(ctx, "push")
	failOnError(t, err)
	if d := cmp.Diff(rows[0].Cause, unsettled[0].Cause); d != "" || unsettled[0].Draft != "m2" {
		t.Errorf("after a crash the in-flight delivery is %+v", unsettled[0])
	}
	if n, _, err := f.Outbox.Queue("push"); err != nil || n != 2 {
		t.Errorf("%d wait, %v", n, err)
	}
	failOnError(t, f.Outbox.Delivered(ctx, rows[0].ID, channels.Receipt{}))
	id, err := f.Outbox.Draft(ctx, acc.Event, "push", "c")
	failOnError(t, err)
	paths, err = f.Outbox.AttachedPaths(ctx)
	failOnError(t, err)
	if id != "" || len(paths) != 0 {
		t.Errorf("after the delivery: draft %q, files %q, want none", id, paths)
	}
}

// A question asked during a turn appears below the draft of the answer. The final answer must then
// be a new message below the question, not an edit of the draft above it.
func TestDelivery_QuestionEndsTheDraft(t *testing.T) {
	f := newBus(t)
	acc := f.joinEvent(messageFrom("ada", "1", "hello"), 0)
	failOnError(t, f.Outbox.KeepDraft(t.Context(), acc.Event, "push", "c", "m1"))
	q := outboxItem("push", "c", "May I?")
	q.Kind = channels.Question
	f.sendTexts(acc.Event, q)
	if id, err := f.Outbox.Draft(t.Context(), acc.Event, "push", "c"); err != nil || id != "" {
		t.Errorf("draft = %q, %v", id, err)
	}
}
