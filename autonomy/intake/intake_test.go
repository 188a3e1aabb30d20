package intake

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/session"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/watchers"
)

// intakeDeps implements the dependencies of the intake: pull channels, no watchers, and an open
// question if waits is set.
type intakeDeps struct{ waits bool }

func (intakeDeps) Pushes(string) bool { return false }

func (o intakeDeps) AnswersHere(context.Context, bus.Event) (bool, error) { return o.waits, nil }

func (intakeDeps) Get(_ context.Context, id string) (watchers.Spec, error) {
	if id != "w" {
		return watchers.Spec{}, watchers.ErrNotFound
	}
	return watchers.Spec{ID: "w", Kind: "file", Title: "downloads", Mode: watchers.Notify, Provenance: provenance.Owner}, nil
}

func (intakeDeps) WantsMessage(context.Context, watchers.Message) (bool, error) { return false, nil }

func (intakeDeps) DispatchTx(*store.Tx, watchers.Message) ([]watchers.MessageSignal, error) {
	return nil, nil
}

func newIntake(t *testing.T, o intakeDeps) (*Intake, *bus.Bus) {
	t.Helper()
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), session.Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := bus.New(s, bus.Options{})
	k, err := New(Options{Store: s, Bus: b, Sessions: session.New(s), Channels: o, Watchers: o, Answers: o})
	if err != nil {
		t.Fatal(err)
	}
	return k, b
}

func TestReceive_ChoosesTheQueue(t *testing.T) {
	for _, tc := range []struct {
		text         string
		waits, owner bool
		queue        string
	}{
		{"hello", true, true, "s"},
		{"/stop", false, true, bus.CommandLane("s")},
		{"/stop", false, false, "s"}, // only the owner's commands count
		{"/forget the gate", false, true, "s"},
		{"yes", true, true, bus.CommandLane("s")},
		{"yes", false, true, "s"},
	} {
		k, b := newIntake(t, intakeDeps{waits: tc.waits})
		acc, err := k.Receive(t.Context(), channels.Inbound{Channel: "web", Session: "s", Sender: "ada", FromOwner: tc.owner, Text: tc.text})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := b.Inbox.Event(t.Context(), acc.Event)
		if err != nil || ev.Lane != tc.queue {
			t.Errorf("%q (owner %v, waits %v) is in the queue %q, want %q; %v", tc.text, tc.owner, tc.waits, ev.Lane, tc.queue, err)
		}
	}
}

// "Undo that" overtakes a running turn only while a send of the last message can be canceled,
// because this is no longer possible when the turn ends.
func TestReceive_HastensUndoWhileASendWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		text          string
		owner, waits  bool
		later, queued bool // later: another message follows the one that sends; queued: the undo is in the queue of commands
	}{
		"undo":                  {text: "undo that", owner: true, waits: true, queued: true},
		"undo with please":      {text: "please undo that", owner: true, waits: true, queued: true},
		"no send waits":         {text: "undo that", owner: true},
		"from a guest":          {text: "undo that", waits: true},
		"more than an undo":     {text: "undo that and send it to Bob", owner: true, waits: true},
		"after another message": {text: "undo that", owner: true, waits: true, later: true},
	} {
		t.Run(name, func(t *testing.T) {
			k, b := newIntake(t, intakeDeps{})
			receive := func(text string, owner bool) bus.Event {
				t.Helper()
				acc, err := k.Receive(t.Context(), channels.Inbound{Channel: "web", Session: "s", Sender: "ada", FromOwner: owner, Text: text})
				if err != nil {
					t.Fatal(err)
				}
				ev, err := b.Inbox.Event(t.Context(), acc.Event)
				if err != nil {
					t.Fatal(err)
				}
				return ev
			}
			sends := receive("send a letter", true)
			if tc.later {
				receive("what is the weather?", true)
			}
			if tc.waits {
				d := bus.ScheduledSend{Call: "c1", Event: sends.ID, Session: "s", Report: "s", Tool: "send_letter", Args: []byte(`{}`), What: "the letter", Provenance: provenance.Owner, Zone: "UTC", At: time.Now().Add(time.Hour), CreatedAt: time.Now()}
				if err := k.o.Store.Write(t.Context(), func(tx *store.Tx) error { return b.Scheduled.AddTx(tx, d) }); err != nil {
					t.Fatal(err)
				}
			}
			want := "s"
			if tc.queued {
				want = bus.CommandLane("s")
			}
			if ev := receive(tc.text, tc.owner); ev.Lane != want {
				t.Errorf("%q is in the queue %q, want %q", tc.text, ev.Lane, want)
			}
		})
	}
}

func TestReceive_RejectsWhatCannotBeRead(t *testing.T) {
	k, b := newIntake(t, intakeDeps{})
	for text, want := range map[string]error{"": ErrEmpty, "\xff": ErrNotText, strings.Repeat("a", MaxText+1): ErrTooLong} {
		_, err := k.Receive(t.Context(), channels.Inbound{Channel: "web", Session: "s", FromOwner: true, Text: text})
		if !errors.Is(err, want) || !errors.Is(err, channels.ErrUnfit) {
			t.Errorf("Receive(%.10q) = %v, want %v", text, err, want)
		}
	}
	if list, err := b.Inbox.List(t.Context(), "", "", 10); err != nil || len(list) > 0 {
		t.Errorf("accepted %v, %v", list, err)
	}
}

func TestReceive_AcceptsARepeatedKeyOnce(t *testing.T) {
	k, _ := newIntake(t, intakeDeps{})
	in := channels.Inbound{Channel: "web", Session: "s", FromOwner: true, Text: "hello", Key: "1"}
	first, err := k.Receive(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := k.Receive(t.Context(), in)
	if err != nil || !again.Repeated || again.Event != first.Event || again.Differs {
		t.Errorf("Receive = %+v, %v, want a repeat of %s", again, err, first.Event)
	}
	in.Text = "another text"
	if again, err = k.Receive(t.Context(), in); err != nil || again.Event != first.Event || !again.Differs {
		t.Errorf("Receive of another text with the same key = %+v, %v, want Differs", again, err)
	}
	if again, known, err := k.Known(t.Context(), in); err != nil || !known || !again.Differs {
		t.Errorf("Known of another text with the same key = %+v, %v, %v, want Differs", again, known, err)
	}
}

func TestFire_StoresSignalsAndProgressTogether(t *testing.T) {
	k, b := newIntake(t, intakeDeps{})
	failed := errors.New("disk full")
	signals := []watchers.Signal{{Key: "1", Text: "a file", Source: provenance.Outside}}
	if err := k.Fire(t.Context(), "w", signals, func(*store.Tx) error { return failed }); !errors.Is(err, failed) {
		t.Fatalf("Fire = %v", err)
	}
	if list, err := b.Inbox.List(t.Context(), "", "", 10); err != nil || len(list) > 0 {
		t.Errorf("the signal is stored without its progress: %v, %v", list, err)
	}
	if err := k.Fire(t.Context(), "w", signals, nil); err != nil {
		t.Fatal(err)
	}
	list, err := b.Inbox.List(t.Context(), "", "", 10)
	if err != nil || len(list) != 1 || list[0].Provenance != provenance.Outside || list[0].Session != "watcher:w" {
		t.Errorf("stored %+v, %v", list, err)
	}
}

func (intakeDeps) DispatchSignalTx(*store.Tx, watchers.Spec, watchers.Signal) ([]watchers.MessageSignal, error) {
	return nil, nil
}
