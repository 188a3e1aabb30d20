package delivery

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// fixedPresence is a Presence that always returns the same channel.
type fixedPresence string

func (h fixedPresence) Channel(context.Context) string { return string(h) }

func TestResolveTarget(t *testing.T) {
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), session.Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b, sessions := bus.New(s, bus.Options{}), session.New(s)
	write := func(id, channel, chat string, from provenance.Source) {
		t.Helper()
		if _, err := b.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: channel, Session: id, Channel: channel, Chat: chat, Text: "hello", Provenance: from}); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return sessions.TouchTx(tx, id, channel, chat, true) }); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func(channel, report string) notify.Target {
		t.Helper()
		d, err := New(Options{Bus: b, Sessions: sessions, Channel: channel, Presence: fixedPresence("desktop"), Zone: func() *time.Location { return time.UTC }})
		if err != nil {
			t.Fatal(err)
		}
		to, err := d.ResolveTarget(t.Context(), report)
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	if got, want := resolve("", "main"), (notify.Target{Session: "main", Channel: "web"}); got != want {
		t.Errorf("before the first message: %+v, want %+v", got, want)
	}
	write("telegram:7", "telegram", "7", provenance.Owner)
	write("mail:eve", "mail", "eve", provenance.Outside)
	own := notify.Target{Session: "telegram:7", Channel: "telegram", Chat: "7"}
	for _, tc := range []struct {
		name, channel, report string
		want                  notify.Target
	}{
		{"the conversation of the cause", "origin", "telegram:7", own},
		{"the last conversation, if the cause has none", "", "", own},
		{"never the conversation of an unknown sender", "", "mail:eve", own},
		{"the configured channel", "slack", "telegram:7", notify.Target{Session: "telegram:7", Channel: "slack"}},
		{"the active channel", Auto, "telegram:7", notify.Target{Session: "telegram:7", Channel: "desktop"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := resolve(tc.channel, tc.report); got != tc.want {
				t.Errorf("ResolveTarget(%q) = %+v, want %+v", tc.report, got, tc.want)
			}
		})
	}
}
