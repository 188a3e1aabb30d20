package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/storetest"
)

// notifierFixture is a notifier over a real store and bus. The test does the work of the loop.
type notifierFixture struct {
	t    *testing.T
	dir  string
	opt  Options
	db   *store.Store
	bus  *bus.Bus
	n    *Notifier
	said int
}

func newFixture(t *testing.T, o Options) *notifierFixture {
	t.Helper()
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	h := &notifierFixture{t: t, dir: t.TempDir(), opt: o}
	h.startNotifier()
	t.Cleanup(func() { _ = h.db.Close() })
	return h
}

func (h *notifierFixture) startNotifier() {
	h.t.Helper()
	var err error
	h.db, err = storetest.Open(context.Background(), filepath.Join(h.dir, "hob.db"), []store.MigrationSet{bus.Migrations(), Migrations()}, store.Options{})
	failOn(h.t, err)
	route := func(channel, chat string) (string, string, bool) { return channel, chat, channel == "web" }
	h.bus = bus.New(h.db, bus.Options{Route: route, Lost: func(tx *store.Tx, d bus.Delivery) (bool, error) { return h.n.Undelivered(tx, d) }, NoticeFilter: func(tx *store.Tx, event string, o bus.OutboxItem) (bus.OutboxItem, bool, error) {
		return h.n.FilterNotice(tx, event, o)
	}})
	_, err = h.bus.Inbox.Recover(context.Background())
	failOn(h.t, err)
	o := h.opt
	o.Store, o.Bus = h.db, h.bus
	h.n, err = New(o)
	failOn(h.t, err)
}

// restartNotifier simulates a kill: only the database remains.
func (h *notifierFixture) restartNotifier() {
	h.t.Helper()
	failOn(h.t, h.db.Close())
	h.startNotifier()
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// event describes the event of a notice.
type event struct {
	kind    bus.Kind
	source  string
	payload map[string]any
	from    provenance.Source
	sender  string
}

func watcherEvent(text string) event {
	return event{kind: bus.Watcher, source: "watcher:w1", payload: map[string]any{"watcher": "w1", "title": "Mail", "signal": text}}
}

// endWithNotice ends an event with a notice.
func (h *notifierFixture) endWithNotice(ev event, text string) string {
	h.t.Helper()
	return h.endWithText(ev, bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{Kind: channels.Notice, Session: "main", Channel: "web", Text: text}})
}

func (h *notifierFixture) endWithText(ev event, out bus.OutboxItem) string {
	h.t.Helper()
	raw, err := json.Marshal(ev.payload)
	failOn(h.t, err)
	h.said++
	id := fmt.Sprintf("event-%d", h.said)
	if ev.from == "" {
		ev.from = provenance.Outside
	}
	failOn(h.t, h.db.Write(h.t.Context(), func(tx *store.Tx) error {
		if _, err := h.bus.Inbox.PutTx(tx, bus.Event{ID: id, Kind: ev.kind, Source: ev.source, Session: "s", Sender: ev.sender, Channel: "telegram", Text: out.Text, Payload: raw, Provenance: ev.from}); err != nil {
			return err
		}
		return h.bus.Outbox.EnqueueTx(tx, id, out)
	}))
	failOn(h.t, h.db.Write(h.t.Context(), func(tx *store.Tx) error { _, err := h.bus.Inbox.DropTx(tx, id, "done"); return err }))
	return id
}

// runDue runs the due work and then, like the loop, delivers a digest.
func (h *notifierFixture) runDue() time.Time {
	h.t.Helper()
	ctx := h.t.Context()
	next, err := h.n.Due(ctx, time.Now())
	failOn(h.t, err)
	h.runDigests()
	return next
}

func (h *notifierFixture) runDigests() {
	h.t.Helper()
	events, _, err := h.bus.Inbox.Claim(h.t.Context(), 10)
	failOn(h.t, err)
	for _, ev := range events {
		if ev.Source != Source {
			h.t.Fatalf("claimed %s %s", ev.Kind, ev.Source)
		}
		failOn(h.t, h.db.Write(h.t.Context(), func(tx *store.Tx) error {
			text, src, err := h.n.DigestTx(tx, ev.ID)
			if err != nil {
				return err
			}
			if err := h.bus.Inbox.FinishTx(tx, ev.ID, text); err != nil || text == "" {
				return err
			}
			return h.bus.Outbox.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: src, Delivery: channels.Delivery{Kind: channels.Notice, Session: "main", Channel: "web", Text: text}})
		}))
	}
}

// sentDeliveries lists the sent notices, oldest first.
func (h *notifierFixture) sentDeliveries() (out []bus.Delivery) {
	h.t.Helper()
	list, err := h.bus.Outbox.Deliveries(h.t.Context(), "", "", "", 100_000)
	failOn(h.t, err)
	slices.Reverse(list)
	return list
}

func (h *notifierFixture) sentTexts() (out []string) {
	for _, d := range h.sentDeliveries() {
		out = append(out, d.Text)
	}
	return out
}

func nightWindow(zone *time.Location) QuietWindow {
	return QuietWindow{Start: 22*60 + 30, End: 7*60 + 30, Zone: zone}
}

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	failOn(t, err)
	return loc
}

// A week around a clock change: by day each notice is sent immediately, and after the night in one
// digest. Each is sent once, across restarts.
func TestQuietHours_Week(t *testing.T) {
	for _, tc := range []struct {
		zone       string
		from       time.Time
		start, end string
	}{
		{"Europe/Vilnius", time.Date(2000, 3, 23, 12, 0, 0, 0, time.UTC), "22:30", "07:30"},
		{"Europe/Vilnius", time.Date(2000, 10, 26, 12, 0, 0, 0, time.UTC), "22:30", "03:30"},   // which occurs twice
		{"America/New_York", time.Date(2000, 3, 30, 12, 0, 0, 0, time.UTC), "23:00", "02:30"},  // 02:30 does not exist on one day
		{"America/New_York", time.Date(2000, 10, 26, 12, 0, 0, 0, time.UTC), "00:00", "06:00"}, // not over midnight
		{"Australia/Lord_Howe", time.Date(2000, 3, 23, 12, 0, 0, 0, time.UTC), "21:00", "01:45"},
	} {
		t.Run(fmt.Sprintf("%s %s %s", tc.zone, tc.from.Format("Jan"), tc.end), func(t *testing.T) {
			loc := loadZone(t, tc.zone)
			start, err := ParseClock(tc.start)
			failOn(t, err)
			end, err := ParseClock(tc.end)
			failOn(t, err)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(tc.from))
				h := newFixture(t, Options{Quiet: []QuietWindow{{Start: start, End: end}}, Zone: func() *time.Location { return loc }})
				var want []string
				night := 0
				for i := range 7 * 24 {
					if i%41 == 40 {
						h.restartNotifier()
					}
					h.runDue()
					local := time.Now().In(loc)
					wall := TimeOfDay(local.Hour()*60 + local.Minute())
					quiet := wall >= start || wall < end
					if start < end {
						quiet = wall >= start && wall < end
					}
					text := "thing " + local.Format("Jan 2 15:04 MST")
					h.endWithNotice(watcherEvent(text), text)
					switch {
					case quiet:
						night++
					case night > 0:
						want = append(want, fmt.Sprintf("%d deferred notifications", night), text)
						night = 0
					default:
						want = append(want, text)
					}
					time.Sleep(time.Hour)
				}
				var got []string
				for _, s := range h.sentTexts() {
					if head, _, digest := strings.Cut(s, " ("); digest {
						s = head
					}
					got = append(got, s)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				h.db.Close()
			})
		})
	}
}

// TestDeferred_Notices checks which notices are deferred and which never are.
func TestDeferred_Notices(t *testing.T) {
	owner := map[string]any{"made": "owner", "watcher": "c1", "title": "Backup"}
	with := func(more map[string]any) map[string]any {
		out := map[string]any{"made": "owner", "watcher": "c1", "title": "Backup"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	mail := func(from string) event {
		return event{kind: bus.Watcher, payload: map[string]any{"watcher": "w1", "title": "Mail", "data": map[string]any{"from": []any{map[string]any{"name": "Ada Lovelace", "address": from}}}}}
	}
	rules := []Rule{
		{People: []string{"ada@example.org"}, Urgency: Critical},
		{Watchers: []string{"Nightly"}, Urgency: Low},
		{Words: []string{"server down"}, Causes: []string{"webhook"}, Urgency: Critical},
		{Within: time.Hour, Urgency: Critical},
	}
	soon, later := map[string]any{"start": "2000-01-01T23:45:00Z"}, map[string]any{"start": "2000-01-02T12:00:00Z"}
	for _, tc := range []struct {
		name string
		ev   event
		text string
		held bool
		why  string
	}{
		{"a watcher", watcherEvent("x"), "x", true, "quiet hours 22:30-07:30"},
		{"an answer", event{kind: bus.Message, from: provenance.Owner}, "x", false, "never deferred"},
		{"another person's message", event{kind: bus.Message, sender: "7"}, "x", true, "quiet hours"},
		{"a reminder of the user", event{kind: bus.Schedule, payload: with(map[string]any{"mode": "remind"})}, "x", false, "you chose this time"},
		{"a reminder of low priority", event{kind: bus.Schedule, payload: with(map[string]any{"mode": "remind", "urgency": "low"})}, "x", true, "quiet hours"},
		{"a critical reminder of the user that is late", event{kind: bus.Schedule, payload: with(map[string]any{"mode": "remind", "urgency": "critical", "late": 9 * time.Hour})}, "x", false, "critical"},
		{"a critical reminder influenced by untrusted text", event{kind: bus.Schedule, payload: map[string]any{"made": "outside", "mode": "remind", "urgency": "critical"}}, "x", true, "quiet hours"},
		{"a schedule of the user", event{kind: bus.Schedule, payload: owner}, "x", false, "you chose this time"},
		{"a schedule influenced by untrusted text", event{kind: bus.Schedule, payload: map[string]any{"made": "outside", "mode": "remind"}}, "x", true, "quiet hours"},
		{"a schedule of the user named by a rule", event{kind: bus.Schedule, payload: with(map[string]any{"title": "nightly"})}, "x", true, "quiet hours"},
		{"a late schedule of the user", event{kind: bus.Schedule, payload: with(map[string]any{"late": 9 * time.Hour})}, "x", true, "quiet hours"},
		{"a late reminder of the user", event{kind: bus.Schedule, payload: with(map[string]any{"mode": "remind", "late": 9 * time.Hour})}, "x", true, "quiet hours"},
		{"late, due in this night", event{kind: bus.Schedule, payload: with(map[string]any{"late": 20 * time.Minute})}, "x", false, "you chose this time"},
		{"late, due in the previous night", event{kind: bus.Schedule, payload: with(map[string]any{"late": 20 * time.Hour})}, "x", true, "quiet hours"},
		{"a skipped schedule of the user", event{kind: bus.Schedule, payload: with(map[string]any{"data": map[string]any{"skipped": 2}})}, "x", true, "quiet hours"},
		{"the plan of the day", event{kind: bus.System, source: "plan"}, "x", false, "you chose this time"},
		{"an alarm of Hob", event{kind: bus.System, source: "hob", payload: map[string]any{"urgency": "critical"}}, "x", false, "critical"},
		{"news of Hob's own", event{kind: bus.System, source: "hob"}, "x", true, "quiet hours"},
		{"an untrusted text that claims to be critical", event{kind: bus.Watcher, payload: map[string]any{"urgency": "critical"}}, "x", true, "quiet hours"},
		{"a webhook that claims to be the plan", event{kind: bus.Webhook, source: "trigger:plan"}, "x", true, "quiet hours"},
		{"a task the user delegated", event{kind: bus.Task, source: "crew", payload: map[string]any{"attended": true}}, "x", false, "never deferred"},
		{"a task of a watcher", event{kind: bus.Task, source: "crew"}, "x", true, "quiet hours"},
		{"mail of a person in a rule", mail("ada@example.org"), "x", false, "critical"},
		{"mail of a sender who only uses the name", mail("eve@example.net"), "x", true, "quiet hours"},
		{"text of a rule", event{kind: bus.Webhook}, "the Server Down again", false, "critical"},
		{"text of a rule with another cause", watcherEvent("x"), "the server down again", true, "quiet hours"},
		{"text of a rule within other text", event{kind: bus.Webhook}, "observer downtown", true, "quiet hours"},
		{"an event that starts soon", event{kind: bus.Watcher, payload: map[string]any{"data": soon}}, "x", false, "critical"},
		{"an event that starts later", event{kind: bus.Watcher, payload: map[string]any{"data": later}}, "x", true, "quiet hours"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(23 * time.Hour)
				h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}, Rules: rules})
				id := h.endWithNotice(tc.ev, tc.text)
				if got := len(h.sentDeliveries()) == 0; got != tc.held {
					t.Errorf("deferred = %v", got)
				}
				rows, err := h.n.Why(t.Context(), id)
				failOn(t, err)
				if len(rows) != 1 || !strings.Contains(rows[0].Why, tc.why) || rows[0].Rule == "" {
					t.Errorf("%+v", rows)
				}
				h.db.Close()
			})
		})
	}
}

// Deferred notices are sent once, even if Hob is killed at any moment or is not running at the end
// of the quiet hours.
func TestRelease_Once(t *testing.T) {
	for _, tc := range []struct {
		name string
		kill func(h *notifierFixture)
		wait time.Duration
	}{
		{"uninterrupted", func(*notifierFixture) {}, 9 * time.Hour},
		{"killed while the notice was deferred", func(h *notifierFixture) { h.restartNotifier() }, 9 * time.Hour},
		{"killed before the digest", func(h *notifierFixture) {
			time.Sleep(9 * time.Hour)
			_, err := h.n.Due(h.t.Context(), time.Now())
			failOn(h.t, err)
			h.restartNotifier()
		}, 0},
		{"killed in the digest", func(h *notifierFixture) {
			time.Sleep(9 * time.Hour)
			_, err := h.n.Due(h.t.Context(), time.Now())
			failOn(h.t, err)
			_, _, err = h.bus.Inbox.Claim(h.t.Context(), 1)
			failOn(h.t, err)
			h.restartNotifier()
		}, 0},
		{"off for three days", func(h *notifierFixture) { h.restartNotifier() }, 82 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(23 * time.Hour)
				h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}})
				h.endWithNotice(watcherEvent("one"), "one")
				h.endWithNotice(watcherEvent("two"), "two")
				next := h.runDue()
				if len(h.sentDeliveries()) > 0 || !next.Equal(time.Date(2000, 1, 2, 7, 30, 0, 0, time.UTC)) {
					t.Fatal(h.sentDeliveries(), next)
				}
				tc.kill(h)
				time.Sleep(tc.wait)
				for range 3 {
					h.runDue()
					h.restartNotifier()
				}
				got := h.sentTexts()
				if len(got) != 1 || !strings.Contains(got[0], "23:00 one") || !strings.Contains(got[0], "23:00 two") {
					t.Error(got)
				}
				h.db.Close()
			})
		})
	}
}

// A digest that becomes due while Hob is off, and runs only in the next night, waits for the
// end of that night.
func TestDigest_WaitsForTheEndOfTheNextNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}})
		h.endWithNotice(watcherEvent("one"), "one")
		time.Sleep(10 * time.Hour)
		_, err := h.n.Due(t.Context(), time.Now())
		failOn(t, err)
		h.restartNotifier()
		time.Sleep(14 * time.Hour) // 23:00 again
		h.runDue()
		if got := h.sentTexts(); len(got) > 0 {
			t.Fatal(got)
		}
		time.Sleep(9 * time.Hour)
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 || !strings.HasPrefix(got[0], "one\n") {
			t.Error(got)
		}
		h.db.Close()
	})
}

// A change of the quiet hours or of the time zone also applies to deferred notices.
func TestQuietHours_Change(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}})
		h.endWithNotice(watcherEvent("one"), "one")
		h.runDue()
		h.opt.Zone = func() *time.Location { return time.FixedZone("east", 9*3600) } // a zone in which it is 08:00
		h.restartNotifier()
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 {
			t.Error(got)
		}
		h.db.Close()
	})
}

// A question is deferred without changing its text. If it was answered in the meantime, it is not
// sent.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		answered := map[string]bool{}
		h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}, Waiting: func(_ store.Querier, event, _ string) ([]string, error) {
			if answered[event] {
				return nil, nil
			}
			return []string{event}, nil
		}})
		ask := func(text string) string {
			return h.endWithText(watcherEvent(""), bus.OutboxItem{Provenance: provenance.Outside, Delivery: channels.Delivery{Kind: channels.Question, Session: "main", Channel: "web", Text: text}})
		}
		gone := ask("May I?")
		answered[gone] = true
		open := ask("Shall I?")
		time.Sleep(9 * time.Hour)
		h.runDue()
		got := h.sentDeliveries()
		if len(got) != 1 || got[0].Text != "Shall I?" || got[0].Kind != channels.Question || got[0].Event != open {
			t.Errorf("sentDeliveries = %+v", got)
		}
		rows, err := h.n.Why(t.Context(), gone)
		failOn(t, err)
		if s := rows[0].Line(time.Time.String); !strings.HasSuffix(s, "and not sent: no longer needed") {
			t.Error(s)
		}
		h.db.Close()
	})
}

// Deferred notices are erased like other texts, and the provenance of a digest is the worst of the
// texts that it quotes.
func TestDeferred_CanBeErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		h := newFixture(t, Options{Quiet: []QuietWindow{nightWindow(nil)}})
		gone := h.endWithNotice(watcherEvent("all of it"), "all of it")
		h.endWithNotice(watcherEvent("the key is Kestrel"), "the key is Kestrel")
		e := &erase.Erasure{Events: []string{gone}, Phrases: []string{"Kestrel"}}
		failOn(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := Eraser().EraseTx(tx, e, erase.NewScrubber(e.Phrases...))
			return err
		}))
		time.Sleep(9 * time.Hour)
		h.runDue()
		got := h.sentTexts()
		if len(got) != 1 || strings.Contains(got[0], "Kestrel") || strings.Contains(got[0], "all of it") || !strings.Contains(got[0], erase.Mark) {
			t.Error(got)
		}
		var src provenance.Source
		failOn(t, h.db.Read().QueryRow(`SELECT provenance FROM outbox`).Scan(&src))
		if src != provenance.Outside {
			t.Error(src)
		}
		h.db.Close()
	})
}
