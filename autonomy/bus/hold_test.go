package bus

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func openHold(t *testing.T) (*Bus, *store.Store) {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return New(st, Options{Route: func(ch, chat string) (string, string, bool) { return ch, chat, ch == "web" }}), st
}

func holdNow(t *testing.T, st *store.Store) {
	t.Helper()
	if err := st.Write(t.Context(), func(tx *store.Tx) error { return StartHoldTx(tx, "old") }); err != nil {
		t.Fatal(err)
	}
}

func (b *Bus) mustEnqueue(t *testing.T, st *store.Store, event string, kind channels.DeliveryKind, channel string) {
	t.Helper()
	err := st.Write(t.Context(), func(tx *store.Tx) error {
		return b.Outbox.EnqueueTx(tx, event, OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{Kind: kind, Session: "s", Channel: channel, Chat: "7", Text: string(kind)}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isOpen calls OpenTx.
func (b *Bus) isOpen(t *testing.T, st *store.Store, lane string) (open bool, err error) {
	t.Helper()
	err = st.Write(t.Context(), func(tx *store.Tx) error { open, err = b.Inbox.OpenTx(tx, lane); return err })
	return open, err
}

// Events of a schedule that was created after the restore are not held, nor are their notices.
func TestHold_PassesEventsOfNewSchedules(t *testing.T) {
	b, st := openHold(t)
	holdNow(t, st)
	put := func(created time.Time) string {
		t.Helper()
		acc, err := b.Inbox.Put(t.Context(), Event{Kind: Schedule, Source: "schedule:" + created.String(), Session: created.String(), Text: "stretch", Provenance: provenance.Owner, SourceCreated: created})
		if err != nil {
			t.Fatal(err)
		}
		b.mustEnqueue(t, st, acc.Event, channels.Notice, "pigeon")
		return acc.Event
	}
	put(time.Now().Add(-time.Hour))
	put(time.Time{})
	fresh := put(time.Now().Add(time.Second))
	if got, _, err := b.Inbox.Claim(t.Context(), 10); err != nil || len(got) != 1 || got[0].ID != fresh {
		t.Errorf("Claim = %+v, %v, want the event of the new schedule only", got, err)
	}
	if out, err := b.Outbox.ClaimDeliveries(t.Context(), "pigeon", 10); err != nil || len(out) != 1 || out[0].Event != fresh {
		t.Errorf("ClaimDeliveries = %+v, %v, want the notice of the new schedule only", out, err)
	}
}

func TestHold_KeepsRestoredWorkUntilItIsReleased(t *testing.T) {
	b, st := openHold(t)
	ctx := t.Context()
	put := func(kind Kind, source, channel string) string {
		t.Helper()
		acc, err := b.Inbox.Put(ctx, Event{Kind: kind, Source: source, Session: "s-" + source, Channel: channel, Text: source, Provenance: provenance.Owner})
		if err != nil {
			t.Fatal(err)
		}
		return acc.Event
	}
	claimed := put(Message, "cli", "web")
	if got, _, err := b.Inbox.Claim(ctx, 1); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	pending := put(Watcher, "w1", "")
	b.mustEnqueue(t, st, "e1", channels.Reply, "pigeon")
	b.mustEnqueue(t, st, "e2", channels.Question, "pigeon")
	b.mustEnqueue(t, st, "e3", channels.Notice, "dove")
	if got, err := b.Outbox.ClaimDeliveries(ctx, "pigeon", 1); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	delay := func(call string) {
		t.Helper()
		if err := st.Write(ctx, func(tx *store.Tx) error {
			return b.Scheduled.AddTx(tx, ScheduledSend{Call: call, Event: "e", Session: "s", Tool: "send_email", Effects: "send", Args: []byte(`{"text":"hi"}`), What: "the mail", At: time.Now().Add(-time.Second)})
		}); err != nil {
			t.Fatal(err)
		}
	}
	delay("c1")
	delay("c2")
	holdNow(t, st)
	if sends, err := b.Scheduled.Claim(ctx, 10); err != nil || len(sends) != 0 {
		t.Fatalf("Claim of delayed calls = %+v, %v, want nothing", sends, err)
	}
	if dead, err := b.Inbox.Recover(ctx); err != nil || len(dead) > 0 {
		t.Fatal(dead, err)
	}
	late := []string{put(Schedule, "sch", ""), put(Goal, "goal", ""), put(Webhook, "hook", ""), put(Message, "tg", "pigeon"), put(System, "plan", "")}
	local := []string{put(Message, "cli2", "web"), put(Task, "tool", "web"), put(System, "hob", "")}
	b.mustEnqueue(t, st, late[0], channels.Notice, "pigeon")
	got, _, err := b.Inbox.Claim(ctx, 10)
	if err != nil || len(got) != len(local) {
		t.Fatalf("Claim = %+v, %v, want the local events only", got, err)
	}
	if out, err := b.Outbox.ClaimDeliveries(ctx, "pigeon", 10); err != nil || len(out) != 0 {
		t.Fatalf("ClaimDeliveries = %+v, %v, want nothing", out, err)
	}
	s, err := b.Hold.Status(ctx)
	if err != nil || !s.Active || s.Snapshot != "old" || s.Texts != 5 || s.Events != 7 {
		t.Fatalf("Status = %+v, %v", s, err)
	}
	decide := func(id string, release bool) (n int, err error) {
		err = st.Write(ctx, func(tx *store.Tx) error { n, err = b.Hold.DecideTx(tx, id, release); return err })
		return n, err
	}
	if _, err := decide("nothing", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("DecideTx of an unknown id = %v", err)
	}
	items, err := b.Hold.Items(ctx)
	if err != nil || len(items) != 12 {
		t.Fatalf("Items = %+v, %v", items, err)
	}
	for _, x := range items {
		restored := x.ID == "e1-1" || x.ID == "e3-1" || x.Type == "send"
		if x.MaybeRepeated != restored {
			t.Errorf("MaybeRepeated of %+v, want %v", x, restored)
		}
	}
	if open, err := b.isOpen(t, st, "s-goal"); err != nil || !open {
		t.Errorf("OpenTx of a queue with a held event = %v, %v", open, err)
	}
	if n, err := decide("e1-1", true); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if out, err := b.Outbox.ClaimDeliveries(ctx, "pigeon", 10); err != nil || len(out) != 1 || !out[0].MaybeRepeated {
		t.Errorf("ClaimDeliveries = %+v, %v, want the released text, which may be a repetition", out, err)
	}
	if n, err := decide("c1", true); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if sends, err := b.Scheduled.Claim(ctx, 10); err != nil || len(sends) != 1 || sends[0].Call != "c1" {
		t.Errorf("Claim of delayed calls = %+v, %v, want the released one", sends, err)
	}
	if n, err := decide(pending, true); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got, _, err := b.Inbox.Claim(ctx, 10); err != nil || len(got) != 1 || got[0].ID != pending {
		t.Fatalf("Claim = %+v, %v, want the released event", got, err)
	}
	// A failed attempt does not hold the answer again.
	if err := st.Write(ctx, func(tx *store.Tx) error {
		_, err := b.Inbox.FailTx(tx, Event{ID: pending, Attempts: 1}, "model unreachable", time.Now().Add(-time.Second), false)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := b.Inbox.Claim(ctx, 10); err != nil || len(got) != 1 || got[0].ID != pending {
		t.Fatalf("Claim = %+v, %v, want the released event again", got, err)
	}
	b.mustEnqueue(t, st, pending, channels.Reply, "pigeon")
	if d, err := b.Outbox.EventDeliveries(ctx, pending); err != nil || len(d) != 1 || d[0].State != channels.Queued {
		t.Errorf("the answer of a released event is %+v, %v", d, err)
	}
	if n, err := decide(AllHeld, false); n != 9 || err != nil {
		t.Errorf("DecideTx(all) = %d, %v, want 9", n, err)
	}
	if e, err := b.Inbox.Event(ctx, claimed); err != nil || e.State != Dead {
		t.Errorf("a dropped event is %+v, %v", e, err)
	}
	put(Schedule, "later", "")
	if got, _, err := b.Inbox.Claim(ctx, 10); err != nil || len(got) != 1 {
		t.Errorf("after the hold Claim = %+v, %v", got, err)
	}
	for call, want := range map[string]string{"c1": `{"text":"hi"}`, "c2": "{}"} { // c1 was released
		if d, err := b.Scheduled.Get(st.Read(), call); err != nil || string(d.Args) != want {
			t.Errorf("arguments of %s = %s, %v, want %s", call, d.Args, err, want)
		}
	}
	if s, err := b.Hold.Status(ctx); err != nil || s.Active || s.Texts+s.Events != 0 || time.Since(s.RestoredAt) > time.Hour {
		t.Errorf("Status = %+v, %v", s, err)
	}
}
