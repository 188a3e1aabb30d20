package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/platform/provenance"
)

// mailEvent returns the notice of a mail watcher.
func mailEvent(id string) event {
	return event{kind: bus.Watcher, source: "watcher:w1", payload: map[string]any{"watcher": "w1", "title": "Mail", "data": map[string]any{"message_id": id, "received": time.Now()}}}
}

func runVirtual(t *testing.T, o Options, f func(t *testing.T, h *notifierFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12 * time.Hour)
		h := newFixture(t, o)
		f(t, h)
		h.db.Close()
	})
}

// stateList returns the states of the notices, oldest first.
func (h *notifierFixture) stateList() (out []string) {
	h.t.Helper()
	rows, err := h.n.List(h.t.Context(), "", "", 1000)
	failOn(h.t, err)
	for _, r := range slices.Backward(rows) {
		s := string(r.State)
		if r.HeldBy != "" {
			s += " " + r.HeldBy
		}
		out = append(out, s)
	}
	return out
}

func TestRepeat_SameFact(t *testing.T) {
	runVirtual(t, Options{}, func(t *testing.T, h *notifierFixture) {
		trouble := event{kind: bus.System, source: "watcher:w1", payload: map[string]any{"watcher": "w1"}}
		h.endWithNotice(mailEvent("a"), "Mail from Ada: lunch")
		second := mailEvent("a")
		second.payload["watcher"] = "w2"
		h.endWithNotice(second, "Mail  from Ada: lunch ")       // seen by a second watcher
		h.endWithNotice(mailEvent("a"), "Mail from Ada: lunch") // a second signal of the same watcher counts as new
		h.endWithNotice(mailEvent("b"), "Mail from Ada: lunch") // another mail
		h.endWithNotice(trouble, "cannot connect")
		h.restartNotifier()
		for range 5 {
			time.Sleep(5 * time.Minute)
			h.endWithNotice(trouble, "cannot connect")
		}
		want := []string{"told", "repeated", "told", "told", "told", "repeated", "repeated", "repeated", "repeated", "repeated"}
		if diff := cmp.Diff(want, h.stateList()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(10 * time.Minute)
		h.endWithNotice(trouble, "cannot connect")
		got := h.sentTexts()
		if s := got[len(got)-1]; s != "cannot connect\n(Repeated 5 times since 12:00.)" {
			t.Error(s)
		}
		rows, err := h.n.List(t.Context(), "repeated", "", 1)
		failOn(t, err)
		if s := rows[0].Line(func(t time.Time) string { return t.Format("15:04") }); !strings.Contains(s, "not sent: it repeats n-") {
			t.Error(s)
		}
	})
}

// "All is well" from two sources counts as two facts despite the same text. An error is reported
// once, regardless of its source.
func TestRepeat_SameWordsOfTwoSources(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(watcher string) event
		want []string
	}{
		{"triggers without a payload", func(w string) event {
			return event{kind: bus.Webhook, payload: map[string]any{"watcher": w}}
		}, []string{"told", "told"}},
		{"triggers that bring an empty body", func(w string) event {
			return event{kind: bus.Webhook, payload: map[string]any{"watcher": w, "data": map[string]any{}}}
		}, []string{"told", "told"}},
		{"goals", func(w string) event { return event{kind: bus.Goal, payload: map[string]any{"goal": w}} }, []string{"told", "told"}},
		{"schedules of one minute", func(w string) event {
			return event{kind: bus.Schedule, payload: map[string]any{"watcher": w, "made": "outside", "data": map[string]any{"due": "2030-01-01T09:00:00Z"}}}
		}, []string{"told", "told"}},
		{"one fact that two saw", func(w string) event {
			return event{kind: bus.Webhook, payload: map[string]any{"watcher": w, "data": map[string]any{"build": 7}}}
		}, []string{"told", "repeated"}},
		{"an error", func(w string) event {
			return event{kind: bus.System, source: "watcher:" + w, payload: map[string]any{"watcher": w}}
		}, []string{"told", "repeated"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runVirtual(t, Options{}, func(t *testing.T, h *notifierFixture) {
				h.endWithNotice(c.of("w1"), "All is well.")
				h.endWithNotice(c.of("w2"), "All is well.")
				if diff := cmp.Diff(c.want, h.stateList()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A notice of high urgency is not deferred together with a less urgent one, and the digest does not
// contain the notice that the urgent one replaces.
func TestUrgent_ReplacesDeferredNotice(t *testing.T) {
	o := Options{Digests: []TimeOfDay{18 * 60}, Rules: []Rule{{Watchers: []string{"w1"}, Urgency: Low}, {Watchers: []string{"w2"}, Urgency: High}}}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		h.endWithNotice(mailEvent("a"), "Mail from Ada: the house is on fire")
		second := mailEvent("a")
		second.payload["watcher"] = "w2"
		h.endWithNotice(second, "Mail from Ada: the house is on fire")
		if got := h.sentTexts(); len(got) != 1 {
			t.Fatal(got)
		}
		time.Sleep(7 * time.Hour)
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 {
			t.Errorf("the repeated notice was sent: %q", got)
		}
	})
}

// The text about a repetition names the day if the first notice was sent on another day.
func TestRepeat_NamesTheDay(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Hour: "since 12:00", 3 * 24 * time.Hour: "since Sat 12:00", 40 * 24 * time.Hour: "since 1 Jan 12:00", 400 * 24 * time.Hour: "since 1 Jan 2000 12:00"} {
		runVirtual(t, Options{}, func(t *testing.T, h *notifierFixture) {
			trouble := event{kind: bus.System, source: "watcher:w1", payload: map[string]any{"watcher": "w1"}}
			h.endWithNotice(trouble, "cannot connect")
			h.endWithNotice(trouble, "cannot connect")
			time.Sleep(after)
			h.endWithNotice(trouble, "cannot connect")
			if got := h.sentTexts(); !strings.HasSuffix(got[len(got)-1], "(Repeated once "+want+".)") {
				t.Errorf("last text after %s: %q", after, got)
			}
		})
	}
}

// Repeated notices are sent if the user chose their time or if they are critical.
func TestRepeat_SendsWhatTheUserScheduled(t *testing.T) {
	runVirtual(t, Options{PerHour: 1, Rules: []Rule{{Words: []string{"ring"}, Urgency: Critical}}}, func(t *testing.T, h *notifierFixture) {
		remind := event{kind: bus.Schedule, payload: map[string]any{"mode": "remind", "made": "owner", "watcher": "c1"}}
		for range 4 {
			h.endWithNotice(remind, "Reminder: drink")
			h.endWithNotice(event{kind: bus.Webhook}, "ring")
			time.Sleep(time.Minute)
		}
		if got := h.sentTexts(); len(got) != 8 {
			t.Error(got)
		}
	})
}

func TestRepeat_SimilarTexts(t *testing.T) {
	runVirtual(t, Options{PerHour: 1000}, func(t *testing.T, h *notifierFixture) {
		for i := range 18 {
			h.endWithNotice(mailEvent(fmt.Sprint(i)), fmt.Sprintf("timeout after %d s", 30+i))
			time.Sleep(10 * time.Second)
		}
		h.endWithNotice(mailEvent("x"), "something else")
		next := h.runDue()
		if got := h.sentTexts(); len(got) != 4 || !next.Equal(time.Date(2000, 1, 1, 12, 30, 0, 0, time.UTC)) {
			t.Fatal(got, next)
		}
		time.Sleep(time.Until(next))
		h.runDue()
		got := h.sentTexts()
		if s := got[len(got)-1]; len(got) != 5 || !strings.Contains(s, "12:00 timeout after 33 s … and 14 more\n") && !strings.HasSuffix(s, "… and 14 more") {
			t.Errorf("%q", got)
		}
	})
}

func TestCap(t *testing.T) {
	runVirtual(t, Options{PerHour: 5}, func(t *testing.T, h *notifierFixture) {
		names := strings.Fields("ada bob cleo dora eve finn gus hal")
		for _, who := range names {
			h.endWithNotice(mailEvent(who), "Mail from "+who)
			time.Sleep(time.Minute)
		}
		if got := h.sentTexts(); len(got) != 5 {
			t.Fatal(got)
		}
		h.endWithNotice(event{kind: bus.Message, from: provenance.Owner}, "an answer")
		time.Sleep(time.Hour)
		h.runDue()
		got := h.sentTexts()
		if s := got[len(got)-1]; len(got) != 7 || !strings.HasPrefix(s, "3 deferred notifications (5 notifications were sent within an hour (notify.per_hour))") || !strings.Contains(s, "Mail from hal") {
			t.Errorf("%q", got)
		}
	})
}

// Notices of low urgency are sent once each, in two digests a day. An empty digest is not sent.
// Quiet hours take precedence.
func TestDigest_Schedules(t *testing.T) {
	o := Options{Digests: []TimeOfDay{8 * 60, 18 * 60}, Quiet: []QuietWindow{{Start: 22 * 60, End: 9 * 60}}, Rules: []Rule{{Words: []string{"small"}, Urgency: Low}}}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		var got []string
		said := 0
		for i := range 4 * 24 {
			if i%7 == 6 {
				h.restartNotifier()
			}
			h.runDue()
			for _, s := range h.sentTexts()[said:] {
				said++
				head, _, _ := strings.Cut(s, " (")
				got = append(got, time.Now().Format("2 15:04 ")+head)
			}
			if i == 1 || i == 2 || i == 20 || i == 24 {
				h.endWithNotice(mailEvent(fmt.Sprint(i)), "small "+string(rune('a'+i)))
			}
			time.Sleep(time.Hour)
		}
		want := []string{"1 18:00 2 deferred notifications", "2 09:00 small u", "2 18:00 small y"}
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], "\n")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMute(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		ctx := t.Context()
		until, err := h.n.Mute(ctx, time.Now().Add(2*time.Hour))
		failOn(t, err)
		h.endWithNotice(watcherEvent("one"), "one")
		h.restartNotifier()
		h.runDue()
		if got := h.sentTexts(); len(got) > 0 || until.Hour() != 14 {
			t.Fatal(got, until)
		}
		was, err := h.n.Unmute(ctx)
		failOn(t, err)
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 || !was {
			t.Fatal(got, was)
		}
		time.Sleep(11 * time.Hour) // 23:00
		h.endWithNotice(watcherEvent("two"), "two")
		_, err = h.n.Unmute(ctx) // for this night
		failOn(t, err)
		h.runDue()
		h.endWithNotice(watcherEvent("three"), "three")
		time.Sleep(24 * time.Hour)
		h.endWithNotice(watcherEvent("four"), "four")
		h.runDue()
		got := h.sentTexts()
		if len(got) != 3 || !strings.HasPrefix(got[1], "two") || got[2] != "three" {
			t.Errorf("sentTexts = %q", got)
		}
		until, err = h.n.Mute(ctx, time.Now().Add(time.Hour)) // the muting continues in the night
		failOn(t, err)
		if until.Format("15:04") != "07:30" {
			t.Error(until)
		}
	})
}

func TestSnooze(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		ctx := t.Context()
		h.endWithNotice(watcherEvent("the tax"), "the tax")
		first, err := h.n.Snooze(ctx, "", "main", time.Now().Add(11*time.Hour)) // 23:00, at night: sent as requested
		failOn(t, err)
		h.restartNotifier()
		h.runDue()
		time.Sleep(11*time.Hour + time.Minute)
		h.runDue()
		got := h.sentTexts()
		if len(got) != 2 || !strings.HasPrefix(got[1], "the tax\n(from 12:00") || first.Text != "the tax" {
			t.Fatalf("%q %+v", got, first)
		}
		h.endWithNotice(watcherEvent("two"), "two")
		rows, err := h.n.List(ctx, "held", "", 10)
		failOn(t, err)
		if len(rows) != 1 {
			t.Fatal(rows)
		}
		k, err := h.n.Release(ctx, rows[0].ID)
		failOn(t, err)
		h.runDue()
		if got := h.sentTexts(); len(got) != 3 || k != 1 {
			t.Error(got)
		}
		if _, err := h.n.Release(ctx, "n-none"); err == nil {
			t.Error("Release of an unknown notice succeeded")
		}
		if _, err := h.n.Snooze(ctx, "n-none", "", time.Now().Add(time.Hour)); err == nil {
			t.Error("Snooze of an unknown notice succeeded")
		}
	})
}

// A second snooze changes the time; the notice is sent once.
func TestSnooze_Again(t *testing.T) {
	runVirtual(t, Options{}, func(t *testing.T, h *notifierFixture) {
		h.endWithNotice(watcherEvent("the tax"), "the tax")
		for _, hours := range []time.Duration{1, 2} {
			_, err := h.n.Snooze(t.Context(), "", "main", time.Now().Add(hours*time.Hour))
			failOn(t, err)
		}
		time.Sleep(time.Hour + time.Minute)
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 {
			t.Errorf("sent after one hour: %q, want 1", got)
		}
		time.Sleep(time.Hour)
		h.runDue()
		if got := h.sentTexts(); len(got) != 2 {
			t.Errorf("sent after two hours: %q, want 2", got)
		}
	})
}

func TestParseUntil(t *testing.T) {
	now := time.Date(2030, 3, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"1h": "5 13:00", "30m": "5 12:30", "2d": "7 12:00", "for 2 hours": "5 14:00", "until 14:00": "5 14:00", "tomorrow at 9": "6 09:00",
		"": "", "soon": "", "-1h": "", "400h": "", "40d": "", "9999999h": "",
	} {
		at, err := ParseUntil(text, now)
		got := at.Format("2 15:04")
		if err != nil {
			got = ""
		}
		if text == "400h" {
			want = "22 04:00"
		}
		if got != want {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
}

// Records of notices are deleted after a limited time, except those of deferred notices and of
// notices that wait for their channels.
func TestPrune(t *testing.T) {
	o := Options{Digests: []TimeOfDay{18 * 60}, Rules: []Rule{{Words: []string{"small"}, Urgency: Low}}}
	runVirtual(t, o, func(t *testing.T, h *notifierFixture) {
		h.endWithNotice(mailEvent("a"), "told")
		h.tellOn("signal", "nobody fetches it")
		h.endWithNotice(mailEvent("b"), "small and held")
		time.Sleep(100 * 24 * time.Hour)
		h.endWithNotice(mailEvent("c"), "told now")
		for range 2 {
			failOn(t, h.n.Prune(t.Context(), time.Now().Add(-90*24*time.Hour)))
		}
		if diff := cmp.Diff([]string{"told", "held digest", "told"}, h.stateList()); diff != "" {
			t.Error(diff)
		}
		h.runDue()
		if got := h.sentTexts(); !strings.HasPrefix(got[len(got)-1], "small and held") {
			t.Errorf("sentTexts = %q", got)
		}
	})
}
