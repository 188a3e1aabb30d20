package notify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// tellOn sends a notice on a channel.
func (h *notifierFixture) tellOn(channel, text string) string {
	return h.endWithText(watcherEvent(text), bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{Kind: channels.Notice, Session: "main", Channel: channel, Text: text}})
}

// recordMessage records a message of the owner.
func (h *notifierFixture) recordMessage(channel, chat string, shared bool) {
	h.t.Helper()
	h.said++
	payload := []byte("{}")
	if shared {
		payload = []byte(`{"shared": true}`)
	}
	id := bus.NewID()
	failOn(h.t, h.db.Write(h.t.Context(), func(tx *store.Tx) error {
		_, err := h.bus.Inbox.PutTx(tx, bus.Event{ID: id, Kind: bus.Message, Source: channel, Session: channel + ":" + chat, Channel: channel, Chat: chat, Text: "hi", Payload: payload, Provenance: provenance.Owner})
		return err
	}))
	failOn(h.t, h.db.Write(h.t.Context(), func(tx *store.Tx) error { _, err := h.bus.Inbox.DropTx(tx, id, "done"); return err }))
}

func (h *notifierFixture) sentChannels() (out []string) {
	for _, d := range h.sentDeliveries() {
		out = append(out, string(d.State)+" "+d.Channel+" "+d.Chat+": "+d.Text)
	}
	return out
}

func (h *notifierFixture) expectChannels(want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.sentChannels()); diff != "" {
		h.t.Error(diff)
	}
}

// An undeliverable notice is sent on the next channel, once per channel.
func TestFallback(t *testing.T) {
	o := Options{Fallback: []string{"mail", "telegram", "matrix", "web"}, Usable: func(c string) bool { return c != "mail" }}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		h.recordMessage("matrix", "room", true) // a chat that other people read
		h.recordMessage("telegram", "42", false)
		lose := func(channel string) {
			t.Helper()
			rows, err := h.bus.Outbox.ClaimDeliveries(t.Context(), channel, 1)
			failOn(t, err)
			if len(rows) != 1 {
				t.Fatal(channel, h.sentChannels())
			}
			failOn(t, h.bus.Outbox.DeadLetter(t.Context(), rows[0].ID, "no such chat"))
		}
		id := h.tellOn("signal", "one")
		lose("signal")
		h.restartNotifier()
		lose("telegram")
		lose("matrix")
		h.expectChannels("dead signal : one", "dead telegram 42: one", "dead matrix : one", "sent web : one")
		rows, err := h.n.Why(t.Context(), id)
		failOn(t, err)
		if len(rows) != 1 || rows[0].Channel != "web" || rows[0].Place != "matrix could not deliver it: no such chat (notify.fallback)" {
			t.Errorf("%+v", rows)
		}
	})
}

// TestUnreachable checks a channel that is unreachable for a long time, and a stopped channel.
func TestUnreachable(t *testing.T) {
	stopped := ""
	o := Options{Fallback: []string{"telegram"}, Unreachable: 15 * time.Minute, Usable: func(c string) bool { return c != stopped }}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		h.recordMessage("telegram", "42", false)
		h.tellOn("signal", "one")
		next := h.runDue()
		if time.Until(next) != 15*time.Minute {
			t.Fatal(next)
		}
		rows, err := h.bus.Outbox.ClaimDeliveries(t.Context(), "signal", 1)
		failOn(t, err)
		time.Sleep(16 * time.Minute)
		h.runDue()
		h.expectChannels("sending signal : one") // the channel may be delivering the notice at this moment
		failOn(t, h.bus.Outbox.Retry(t.Context(), rows[0].ID, time.Now().Add(time.Minute), "no network", false))
		time.Sleep(time.Minute)
		h.runDue()
		h.expectChannels("cancelled signal : one", "queued telegram 42: one")
		stopped = "signal"
		h.tellOn("signal", "two")
		h.expectChannels("cancelled signal : one", "queued telegram 42: one", "queued telegram 42: two")
		time.Sleep(time.Hour)
		h.runDue()
		h.runDue() // without another channel, the notices wait
		h.expectChannels("cancelled signal : one", "queued telegram 42: one", "queued telegram 42: two")
	})
}

// A deferred question whose channel is unavailable is sent on another channel, like other notices,
// and does not block later notices.
func TestRelease_QuestionFallsBack(t *testing.T) {
	o := Options{Fallback: []string{"telegram"}, Unreachable: 15 * time.Minute, Quiet: []QuietWindow{nightWindow(nil)}, Usable: func(string) bool { return true }}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		h.recordMessage("telegram", "42", false)
		time.Sleep(11 * time.Hour) // 23:00
		h.endWithText(watcherEvent(""), bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{Kind: channels.Question, Session: "main", Channel: "signal", Text: "May I?"}})
		time.Sleep(9 * time.Hour)
		h.runDue()
		h.tellOn("signal", "one")
		h.expectChannels("queued signal : May I?", "queued signal : one")
		time.Sleep(16 * time.Minute)
		h.runDue()
		h.expectChannels("cancelled signal : May I?", "cancelled signal : one", "queued telegram 42: May I?", "queued telegram 42: one")
	})
}

// Notices follow the user to the current channel.
func TestActiveChannel(t *testing.T) {
	o := Options{Recent: 10 * time.Minute, Pushes: func(c string) bool { return c != "web" }}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		is := func(from, session, channel string) {
			t.Helper()
			p, elsewhere, err := h.n.ActiveChannel(t.Context(), from)
			if err != nil || elsewhere != (channel != "") || elsewhere && (p.Channel != channel || p.Session != session) {
				t.Error(p, elsewhere, err)
			}
		}
		is("web", "", "")
		h.recordMessage("telegram", "42", false)
		is("web", "telegram:42", "telegram")
		is("telegram", "", "")
		h.recordMessage("matrix", "room", true) // in a shared chat
		is("web", "telegram:42", "telegram")
		time.Sleep(11 * time.Minute)
		is("web", "", "")
		h.recordMessage("web", "", false) // the user would have to open it
		is("telegram", "", "")
	})
}
