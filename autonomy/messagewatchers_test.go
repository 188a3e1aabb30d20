package autonomy_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/bus"
	"hob/autonomy/intake"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// messageRecorder fires for each message with "launch", and for unknown senders if configured.
type messageRecorder struct {
	watcherRecords
	strangers bool
	err       error
	shown     []string
}

func (e *messageRecorder) WantsMessage(_ context.Context, m watchers.Message) (bool, error) {
	return e.strangers && strings.Contains(m.Text, "launch"), nil
}

func (e *messageRecorder) DispatchTx(_ *store.Tx, m watchers.Message) ([]watchers.MessageSignal, error) {
	e.shown = append(e.shown, m.Text)
	if e.err != nil || !strings.Contains(m.Text, "launch") {
		return nil, e.err
	}
	return []watchers.MessageSignal{{
		Spec:   watchers.Spec{ID: "w1", Kind: watchers.KindMessage, Title: "launch", Mode: watchers.Notify, Report: "main", Provenance: provenance.Owner},
		Signal: watchers.Signal{Key: m.ID, Text: m.SenderName + " wrote: " + m.Text, Source: provenance.Outside, At: m.At},
	}}, nil
}

// listNotices returns the texts of the events from watchers.
func (e *engine) listNotices() (out []string) {
	e.t.Helper()
	list, err := e.bus.Inbox.List(e.t.Context(), "", "", 100)
	failOnError(e.t, err)
	for _, ev := range list {
		if ev.Kind == bus.Watcher {
			out = append(out, ev.Text)
			if ev.Provenance != provenance.Outside {
				e.t.Errorf("provenance of %q = %s, want outside", ev.Text, ev.Provenance)
			}
		}
	}
	return out
}

// Watchers see a message in the transaction that accepts it: both happen or neither; a repeated
// message is seen once, and a command never.
func TestMessageWatchers_SeeEachMessageOnce(t *testing.T) {
	h := &messageRecorder{}
	e := startEngine(t, setup{idle: true, inbox: func(o *intake.Options) { o.Watchers = h }})
	bob := channels.Inbound{Channel: "chat", Chat: "7", Sender: "7", SenderName: "Bob", Text: "the launch is off", Key: "k1"}
	h.err = errors.New("disk full")
	if _, err := e.intake.Receive(t.Context(), bob); err == nil {
		t.Fatal("Receive succeeded although the watchers failed")
	}
	if list, err := e.bus.Inbox.List(t.Context(), "", "", 10); err != nil || len(list) > 0 {
		t.Errorf("events after a failed Receive: %v, %v, want none", list, err)
	}
	h.err = nil
	for range 2 {
		_, err := e.intake.Receive(t.Context(), bob)
		failOnError(t, err)
	}
	e.putMessage("main", "/status launch", "")
	if got := e.listNotices(); !slices.Equal(got, []string{"Bob wrote: the launch is off"}) {
		t.Errorf("notices = %q", got)
	}
	if slices.Contains(h.shown, "/status launch") {
		t.Error("the watchers got a command")
	}
	var past []string
	failOnError(t, e.intake.ReplayMessages(t.Context(), bob.At, func(m watchers.Message) error {
		past = append(past, m.SenderName+": "+m.Text)
		return nil
	}))
	if !slices.Equal(past, []string{"Bob: the launch is off"}) {
		t.Errorf("the past messages were %q", past)
	}
}

// An unknown sender never gets an answer, and the owner is notified only if a watcher asks for
// it.
func TestMessageWatchers_SeeUnknownSenders(t *testing.T) {
	for _, asked := range []bool{false, true} {
		h := &messageRecorder{strangers: asked}
		e := startEngine(t, setup{idle: true, inbox: func(o *intake.Options) { o.Watchers = h }})
		hear := channels.Channel(unknownSenderChannel{})
		m, err := channels.New(channels.Options{Outbox: e.bus.Outbox, Receiver: e.intake, Log: slog.New(slog.DiscardHandler), Channels: map[string]channels.Channel{"chat": hear}})
		failOnError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		failOnError(t, m.Run(context.WithValue(ctx, cancelKey{}, cancel)))
		if cause := context.Cause(ctx); !errors.Is(cause, channels.ErrStranger) {
			t.Fatalf("Receive from an unknown sender ended with %v, want ErrStranger", cause)
		}
		if got := len(e.listNotices()); (got == 1) != asked || got > 1 {
			t.Errorf("watchers of unknown senders = %v, %d notifications", asked, got)
		}
		list, err := e.bus.Inbox.List(t.Context(), "", "", 10)
		failOnError(t, err)
		if slices.ContainsFunc(list, func(ev bus.Event) bool { return ev.Kind == bus.Message }) {
			t.Error("an unknown sender's message became an event")
		}
	}
}

type cancelKey struct{}

// unknownSenderChannel receives one message of an unknown sender twice, and ends.
type unknownSenderChannel struct{}

func (unknownSenderChannel) Run(ctx context.Context, r channels.Receiver) error {
	in := channels.Inbound{Channel: "chat", Chat: "9", Sender: "9", SenderName: "Eve", Text: "the launch!", Key: "k"}
	_, err := r.Receive(ctx, in)
	if errors.Is(err, channels.ErrStranger) {
		_, err = r.Receive(ctx, in)
	}
	ctx.Value(cancelKey{}).(context.CancelCauseFunc)(err)
	return nil
}

func (unknownSenderChannel) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, nil
}
