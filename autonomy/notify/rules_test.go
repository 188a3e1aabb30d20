package notify

import (
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
)

// A rule matches a person, not a display name that anyone can choose.
func TestPeople(t *testing.T) {
	type m = map[string]any
	saw := func(data any) event {
		return event{kind: bus.Watcher, payload: m{"watcher": "w1", "title": "Inbox", "data": data}}
	}
	mail := func(name, address string) event {
		return saw(m{"from": []any{m{"name": name, "address": address}}})
	}
	wrote := func(sender, name string) event {
		return event{kind: bus.Message, sender: sender, payload: m{"name": name}}
	}
	for _, tc := range []struct {
		name string
		want string
		ev   event
		fits bool
	}{
		{"mail of the address", "ada@example.org", mail("Ada", "ada@example.org"), true},
		{"in other letters", " Ada@Example.org", mail("Ada", "ada@example.org"), true},
		{"an address as a name", "ada@example.org", mail("ada@example.org", "x@evil.example"), false},
		{"an address within a name", "ada@example.org", mail("Ada <ada@example.org>", "x@evil.example"), false},
		{"an address within an address", "ada@example.org", mail("", "<ada@example.org>x@evil.example"), false},
		{"mail of a name", "Ada", mail("Ada Lovelace", "a@example.org"), true},
		{"part of a name", "Ada", mail("Adalbert", "x@example.org"), false},
		{"a message of the id", "telegram:7", wrote("7", "Bob"), true},
		{"an id as a name", "telegram:7", wrote("8", "telegram:7"), false},
		{"a message of a name", "Bob", wrote("8", "Bob"), true},
		{"an overheard message of the id", "matrix:@ada:example.org", saw(m{"channel": "matrix", "from": "@ada:example.org", "name": "Eve"}), true},
		{"an overheard message with the id as a name", "@ada:example.org", saw(m{"channel": "matrix", "from": "@eve:example.org", "name": "@ada:example.org"}), false},
		{"an overheard message of a name", "Ada", saw(m{"channel": "matrix", "from": "@x:example.org", "name": "Ada"}), true},
		{"a file with this name", "Ada", saw(m{"name": "Ada.pdf", "path": "/in/Ada.pdf"}), false},
		{"an author with that display name", "ada@example.org", saw(m{"author": "ada@example.org", "title": "News"}), false},
		{"an author's name", "Ada", saw(m{"author": "Ada", "title": "News"}), true},
		{"the sender", "ada", saw(m{"by": "ada"}), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}, Rules: []Rule{{People: []string{tc.want}, Urgency: Critical}}}, func(t *testing.T, h *notifierFixture) {
				time.Sleep(11 * time.Hour) // at night
				h.endWithNotice(tc.ev, "x")
				if got := len(h.sentDeliveries()) > 0; got != tc.fits {
					t.Errorf("fits: %v", got)
				}
			})
		})
	}
}

// A chat does not match a watcher's rule because of its name.
func TestRules_ChatNamedLikeAWatcher(t *testing.T) {
	type m = map[string]any
	for _, tc := range []struct {
		name string
		ev   event
		fits bool
	}{
		{"a guest in a chat", event{kind: bus.Message, sender: "7", payload: m{"title": "Alarm", "watcher": "w9"}}, false},
		{"a chat that was overheard", event{kind: bus.Watcher, payload: m{"watcher": "w1", "title": "Chats", "data": m{"channel": "matrix", "chat": "Alarm"}}}, false},
		{"the watcher", event{kind: bus.Watcher, payload: m{"watcher": "w9", "title": "alarm"}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}, Rules: []Rule{{Watchers: []string{"Alarm", "w9"}, Urgency: Critical}}}, func(t *testing.T, h *notifierFixture) {
				time.Sleep(11 * time.Hour) // at night
				id := h.endWithText(tc.ev, bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{Kind: channels.Question, Session: "main", Channel: "web", Text: "May I?"}})
				if got := len(h.sentDeliveries()) > 0; got != tc.fits {
					t.Errorf("fits: %v", got)
				}
				rows, err := h.n.Why(t.Context(), id)
				failOn(t, err)
				if tc.ev.kind == bus.Message && (len(rows) != 1 || rows[0].Watcher != "" || rows[0].Subject != "") {
					t.Errorf("%+v", rows)
				}
			})
		})
	}
}
