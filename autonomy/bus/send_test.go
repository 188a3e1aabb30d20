package bus_test

import (
	"errors"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// sendDelayed queues a text to another person that waits for 10 s.
func (f *fixture) sendDelayed(event, chat, text string) bus.Delivery {
	f.t.Helper()
	var d bus.Delivery
	f.writeTx(func(tx *store.Tx) (err error) {
		o := outboxItem("push", chat, text)
		o.NotBefore = f.now.Add(10 * time.Second)
		d, err = f.Outbox.SendTx(tx, event, o)
		return err
	})
	return d
}

func (f *fixture) callBack(id string) (d bus.Delivery, err error) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error {
		d, err = f.Outbox.CancelSendTx(tx, id, "the owner says so")
		return nil
	})
	return d, err
}

func TestSend_WaitsWithoutBlockingOthers(t *testing.T) {
	f := newBus(t)
	d := f.sendDelayed("e1", "c", "to a friend")
	if d.Kind != channels.Send || d.State != channels.Queued {
		t.Errorf("%+v", d)
	}
	f.sendTexts("e1", outboxItem("push", "c", "a reply in the same chat"))
	f.expectList("meanwhile", f.takeTexts("push", 9), "a reply in the same chat")
	failOnError(t, f.Outbox.Delivered(t.Context(), f.findDelivery("a reply in the same chat").ID, channels.Receipt{}))
	at, ok, err := f.Outbox.NextDelivery(t.Context(), "push")
	if err != nil || !ok || !at.Equal(f.now.Add(10*time.Second)) {
		t.Errorf("next delivery = %v, %v, %v", at, ok, err)
	}
	f.now = f.now.Add(9 * time.Second)
	f.expectList("too early", f.takeTexts("push", 9))
	f.restartBus()
	f.expectList("too early after a restart", f.takeTexts("push", 9))
	f.now = f.now.Add(time.Second)
	f.expectList("at its time", f.takeTexts("push", 9), "to a friend")
}

func TestSend_CanBeCanceled(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(f *fixture, id string)
		want   error
		state  channels.State
	}{
		"while the delivery waits": {func(*fixture, string) {}, nil, channels.Cancelled},
		"after a restart":          {func(f *fixture, _ string) { f.restartBus() }, nil, channels.Cancelled},
		"twice":                    {func(f *fixture, id string) { _, _ = f.callBack(id) }, bus.ErrTooLate, channels.Cancelled},
		"during the send":          {func(f *fixture, _ string) { f.now = f.now.Add(time.Minute); f.takeTexts("push", 1) }, bus.ErrTooLate, channels.Sending},
		"before the next try": {func(f *fixture, id string) {
			f.now = f.now.Add(time.Minute)
			f.takeTexts("push", 1)
			f.requeueDelivery(id)
		}, nil, channels.Cancelled},
		"after the arrival": {func(f *fixture, id string) {
			f.now = f.now.Add(time.Minute)
			f.takeTexts("push", 1)
			f.confirmDelivery(id)
		}, bus.ErrTooLate, channels.Sent},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBus(t)
			id := f.sendDelayed("e1", "c", "to a friend").ID
			tc.before(f, id)
			d, err := f.callBack(id)
			if !errors.Is(err, tc.want) || d.State != tc.state {
				t.Errorf("%v, %+v", err, d)
			}
			if tc.want != nil {
				return
			}
			f.now = f.now.Add(time.Hour)
			f.expectList("it never goes out", f.takeTexts("push", 9))
			if d := f.findDelivery("to a friend"); d.Error != "the owner says so" || d.MaybeRepeated != (name == "before the next try") {
				t.Errorf("%+v", d)
			}
		})
	}
}

func (f *fixture) requeueDelivery(id string) {
	failOnError(f.t, f.Outbox.Retry(f.t.Context(), id, f.now.Add(time.Minute), "down", false))
}

func (f *fixture) confirmDelivery(id string) {
	failOnError(f.t, f.Outbox.Delivered(f.t.Context(), id, channels.Receipt{}))
}

// A reply cannot be canceled. If the channel of a text to another person does not exist, the text
// is not sent to the owner instead.
func TestSend_OnlySendsCanBeCanceledOrRejected(t *testing.T) {
	f := newBus(t)
	f.sendTexts("e", outboxItem("push", "c", "a reply"))
	if _, err := f.callBack(f.findDelivery("a reply").ID); !errors.Is(err, bus.ErrTooLate) {
		t.Errorf("a reply: %v", err)
	}
	if _, err := f.callBack("nobody"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	f.writeTx(func(tx *store.Tx) error {
		if _, err := f.Outbox.SendTx(tx, "e", outboxItem("web", "", "to a friend")); !errors.Is(err, bus.ErrNoWay) {
			t.Errorf("SendTx to a channel whose clients pull = %v, want ErrNoWay", err)
		}
		return nil
	})
}

func TestSend_ToTheOwnersOwnChats(t *testing.T) {
	f := newBus(t)
	put := func(session, chat string, src provenance.Source, payload string) {
		f.putEvent(bus.Event{Kind: bus.Message, Source: "push", Session: session, Channel: "push", Chat: chat, Sender: "me", Provenance: src, Payload: []byte(payload)})
	}
	put("push:1", "1", provenance.Owner, `{}`)
	put("push:2", "2", provenance.Outside, `{}`)
	put("push:3", "3", provenance.Owner, `{"shared":true}`)
	put("push:4", "4", provenance.Owner, `{}`)
	put("push:4", "4", provenance.Outside, `{}`)
	put("push:5:me", "5", provenance.Owner, `{"shared":true}`)
	for chat, want := range map[string]bool{"1": true, "2": false, "3": false, "4": false, "5": false, "6": false, "": false} {
		if sender, got, err := f.Owner.PrivateChatSender(t.Context(), "push", chat); err != nil || got != want || got && sender != "me" {
			t.Errorf("chat %s: %q %v %v", chat, sender, got, err)
		}
	}
}
