package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

func outboxItem(channel, chat, text string) bus.OutboxItem {
	return bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{Kind: channels.Reply, Session: "s", Channel: channel, Chat: chat, Text: text}}
}

func (f *fixture) sendTexts(event string, outs ...bus.OutboxItem) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error { return f.Outbox.EnqueueTx(tx, event, outs...) })
}

func (f *fixture) takeTexts(channel string, n int) (texts []string) {
	f.t.Helper()
	ds, err := f.Outbox.ClaimDeliveries(f.t.Context(), channel, n)
	failOnError(f.t, err)
	for _, d := range ds {
		texts = append(texts, d.Text)
	}
	return texts
}

// findDelivery finds a delivery by its text.
func (f *fixture) findDelivery(text string) bus.Delivery {
	f.t.Helper()
	ds, err := f.Outbox.Deliveries(f.t.Context(), "", "", "", 100)
	failOnError(f.t, err)
	for _, d := range ds {
		if d.Text == text {
			return d
		}
	}
	f.t.Fatalf("the outbox has no %q", text)
	return bus.Delivery{}
}

func TestClaimDeliveries_OnePerChatInOrder(t *testing.T) {
	f := newBus(t)
	f.sendTexts("e1", outboxItem("push", "a", "a1"), outboxItem("push", "a", "a2"), outboxItem("push", "b", "b1"))
	f.sendTexts("e2", outboxItem("push", "a", "a3"), outboxItem("push2", "a", "elsewhere"))
	f.expectList("one per chat", f.takeTexts("push", 9), "a1", "b1")
	f.expectList("busy chats", f.takeTexts("push", 9))
	failOnError(t, f.Outbox.Delivered(t.Context(), f.findDelivery("a1").ID, channels.Receipt{}))
	f.expectList("the next of a", f.takeTexts("push", 9), "a2")
	failOnError(t, f.Outbox.Retry(t.Context(), f.findDelivery("a2").ID, f.now.Add(time.Minute), "down", true))
	f.expectList("a failure holds its chat", f.takeTexts("push", 9))
	at, ok, err := f.Outbox.NextDelivery(t.Context(), "push")
	if err != nil || !ok || !at.Equal(f.now.Add(time.Minute)) {
		t.Errorf("next delivery = %v, %v, %v; want the one that does not wait behind a failure", at, ok, err)
	}
	f.now = f.now.Add(time.Minute)
	f.expectList("at its time", f.takeTexts("push", 9), "a2")
	if d := f.findDelivery("a2"); d.Attempts != 2 || !d.MaybeRepeated || d.Error != "down" || d.State != channels.Sending {
		t.Errorf("%+v", d)
	}
	failOnError(t, f.Outbox.DeadLetter(t.Context(), f.findDelivery("a2").ID, "blocked"))
	f.expectList("past a dead one", f.takeTexts("push", 9), "a3")
	for _, text := range []string{"a3", "b1"} {
		failOnError(t, f.Outbox.Delivered(t.Context(), f.findDelivery(text).ID, channels.Receipt{}))
	}
	if _, ok, err := f.Outbox.NextDelivery(t.Context(), "push"); ok || err != nil {
		t.Errorf("NextDelivery reports more work: %v", err)
	}
	f.expectList("the other channel", f.takeTexts("push2", 9), "elsewhere")
}

// Notices and questions to the owner do not wait behind answers to guests.
func TestClaimDeliveries_GuestsComeLast(t *testing.T) {
	f := newBus(t)
	for _, who := range []struct {
		event, chat string
		src         provenance.Source
	}{{"g", "eve", provenance.Outside}, {"o", "me", provenance.Owner}} {
		f.putEvent(bus.Event{ID: who.event, Source: "push", Session: "push:" + who.chat, Channel: "push", Chat: who.chat, Text: "hi", Provenance: who.src})
	}
	ask := outboxItem("push", "zoe", "may I?")
	ask.Kind = channels.Question
	f.sendTexts("g", outboxItem("push", "eve", "to the guest"), outboxItem("push", "you", "of the guest"))
	f.sendTexts("g", ask)
	f.sendTexts("o", outboxItem("push", "me", "to the owner"))
	var got []string
	for range 4 {
		ds, err := f.Outbox.ClaimDeliveries(t.Context(), "push", 1)
		failOnError(t, err)
		for _, d := range ds {
			got = append(got, fmt.Sprint(d.Text, " ", d.Guest))
		}
	}
	f.expectList("in this order", got, "of the guest false", "may I? false", "to the owner false", "to the guest true")
}

func TestClaimDeliveries_KeepsTheLimit(t *testing.T) {
	f := newBus(t)
	for i := range 5 {
		f.sendTexts("e", outboxItem("push", fmt.Sprint(i), fmt.Sprint(i)))
	}
	f.expectList("two", f.takeTexts("push", 2), "0", "1")
	f.expectList("the rest", f.takeTexts("push", 9), "2", "3", "4")
}

func TestOutbox_PulledTextIsSentAtOnce(t *testing.T) {
	f := newBus(t)
	o := outboxItem("web", "", "hello")
	o.NotBefore = f.now.Add(time.Hour) // on a pull channel, nothing would release a delayed message
	f.sendTexts("e", outboxItem("web", "", "first"), o)
	for _, text := range []string{"first", "hello"} {
		if d := f.findDelivery(text); d.State != channels.Sent || !d.SentAt.Equal(f.now) {
			t.Errorf("%+v", d)
		}
	}
	o = outboxItem("push", "", "held back")
	o.NotBefore = f.now.Add(time.Hour)
	f.sendTexts("e", o)
	f.expectList("too early", f.takeTexts("push", 9))
	f.now = f.now.Add(time.Hour)
	f.expectList("in time", f.takeTexts("push", 9), "held back")
}

// A later report does not change the final state of a delivery.
func TestOutbox_FirstFinalStateCounts(t *testing.T) {
	ctx := t.Context()
	ends := map[string]func(f *fixture, id string) error{
		"sent": func(f *fixture, id string) error { return f.Outbox.Delivered(ctx, id, channels.Receipt{}) },
		"dead": func(f *fixture, id string) error { return f.Outbox.DeadLetter(ctx, id, "blocked") },
	}
	for state, end := range ends {
		t.Run(state, func(t *testing.T) {
			f := newBus(t)
			f.sendTexts("e", outboxItem("push", "c", "hello"))
			f.takeTexts("push", 1)
			id := f.findDelivery("hello").ID
			failOnError(t, end(f, id))
			for _, again := range ends {
				failOnError(t, again(f, id))
			}
			failOnError(t, f.Outbox.Retry(ctx, id, f.now, "x", true))
			if d := f.findDelivery("hello"); string(d.State) != state || d.MaybeRepeated {
				t.Errorf("%+v", d)
			}
			f.expectList("taken again", f.takeTexts("push", 9))
			told, err := f.Outbox.Deliveries(ctx, "", "", "", 9)
			failOnError(t, err)
			want := map[string]int{"sent": 1, "dead": 2}[state]
			if len(told) != want {
				t.Errorf("%d reports, want %d", len(told), want)
			}
		})
	}
	if err := newBus(t).Outbox.Delivered(ctx, "nobody", channels.Receipt{}); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("report of an unknown row: %v", err)
	}
}

func TestOutbox_ReportsUndeliveredTextsOnce(t *testing.T) {
	f := newBus(t)
	o := outboxItem("push", "c", "words of a mail")
	o.Provenance = provenance.Outside
	status := outboxItem("push", "c", "you are #2")
	status.Kind = channels.Status
	id := f.putEvent(bus.Event{Source: "s", Session: "s"})
	f.sendTexts(id, o, status)
	for range 2 {
		f.takeTexts("push", 1)
		ds, err := f.Outbox.Deliveries(t.Context(), "", "sending", "", 1)
		failOnError(t, err)
		failOnError(t, f.Outbox.DeadLetter(t.Context(), ds[0].ID, "the bot was blocked"))
	}
	ds, err := f.Outbox.EventDeliveries(t.Context(), id)
	failOnError(t, err)
	if len(ds) != 3 {
		t.Fatalf("%d deliveries, want 3: a lost status is not reported", len(ds))
	}
	d := ds[2]
	if d.Channel != "web" || d.State != channels.Sent || d.Kind != channels.Status || !strings.Contains(d.Text, "words of a mail") || !strings.Contains(d.Text, "blocked") {
		t.Errorf("%+v", d)
	}
	var src provenance.Source
	failOnError(t, f.store.Read().QueryRowContext(t.Context(), `SELECT provenance FROM outbox WHERE id = ?`, d.ID).Scan(&src))
	if src != provenance.Outside {
		t.Errorf("provenance of a report that quotes untrusted text = %q", src)
	}
}

func TestOutbox_ListsInFlightDeliveriesAfterACrash(t *testing.T) {
	f := newBus(t)
	f.sendTexts("e", outboxItem("push", "a", "one"), outboxItem("push", "b", "two"), outboxItem("push2", "a", "three"))
	f.takeTexts("push", 1)
	f.restartBus()
	ds, err := f.Outbox.InFlight(t.Context(), "push")
	if err != nil || len(ds) != 1 || ds[0].Text != "one" {
		t.Fatalf("InFlight = %v, %v", ds, err)
	}
	failOnError(t, f.Outbox.Retry(t.Context(), ds[0].ID, f.now, "cut off", true))
	got, err := f.Outbox.ClaimDeliveries(t.Context(), "push", 9)
	if err != nil || len(got) != 2 || !got[0].MaybeRepeated || got[1].MaybeRepeated {
		t.Errorf("ClaimDeliveries = %+v, %v", got, err)
	}
}

func TestOutbox_WakesChannels(t *testing.T) {
	f := newBus(t)
	woken := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	door := f.Outbox.Wake("push")
	if woken(door) {
		t.Error("the signal fired without new work")
	}
	f.sendTexts("e", outboxItem("push", "a", "one"), outboxItem("push", "a", "two"))
	if !woken(door) || woken(door) || woken(f.Outbox.Wake("push2")) {
		t.Error("the signal did not fire exactly once, for the right channel")
	}
	f.takeTexts("push", 1)
	failOnError(t, f.Outbox.Delivered(t.Context(), f.findDelivery("one").ID, channels.Receipt{}))
	if !woken(door) {
		t.Error("the end of a delivery did not signal the next one")
	}
}
