package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/platform/store"
)

// Each of many notices is sent once and in order, across restarts, even if they do not fit into one
// digest.
func TestDigest_ManyLines(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		time.Sleep(11 * time.Hour)
		var want []string
		for i := range 120 {
			text := "thing " + strings.Repeat("x", i+1) + "."
			h.endWithNotice(watcherEvent(text), text)
			want = append(want, text)
		}
		time.Sleep(9 * time.Hour)
		for range 5 {
			h.runDue()
			h.restartNotifier()
		}
		all := h.sentTexts()
		if len(all) != 3 || !strings.HasSuffix(all[0], "\n70 more will follow.") || !strings.HasSuffix(all[1], "\n20 more will follow.") || strings.Contains(all[2], "follow") {
			t.Fatalf("sentTexts = %q", all)
		}
		told := strings.Join(all, "\n")
		at := 0
		for _, text := range want {
			if k := strings.Count(told, " "+text); k != 1 {
				t.Errorf("%q was sent %d times, want once", text, k)
			}
			if i := strings.Index(told, " "+text); i < at {
				t.Errorf("%q was sent too early", text)
			} else {
				at = i
			}
		}
	})
}

// Lines that do not fit into the first digest are deferred if quiet hours begin in between. A
// notice similar to one with a line needs no line of its own.
func TestDigest_ManyLinesAtNight(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		time.Sleep(11 * time.Hour)
		for i := range 60 {
			text := "thing " + strings.Repeat("x", i+1)
			h.endWithNotice(watcherEvent(text), text)
		}
		for i := range 5 {
			text := fmt.Sprintf("thing x %d", i)
			h.endWithNotice(mailEvent(text), text)
		}
		time.Sleep(9 * time.Hour)
		h.runDue()
		_, err := h.n.Mute(t.Context(), time.Now().Add(time.Hour))
		failOn(t, err)
		h.runDue()
		if got := h.sentTexts(); len(got) != 1 || !strings.HasSuffix(got[0], "\n15 more will follow.") {
			t.Fatalf("sentTexts = %q", got)
		}
		time.Sleep(time.Hour)
		h.runDue()
		got := h.sentTexts()
		if len(got) != 2 || !strings.HasPrefix(got[1], "15 deferred notifications") || !strings.HasSuffix(got[1], "thing x 0 … and 4 more") {
			t.Errorf("sentTexts = %q", got)
		}
	})
}

// The full text of a notice that a digest shortens is available.
func TestDigest_CutsLongTexts(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		time.Sleep(11 * time.Hour)
		long := strings.Repeat("word ", 200) + "end"
		id := h.endWithNotice(watcherEvent("long"), long)
		h.endWithNotice(watcherEvent("short"), "short")
		time.Sleep(9 * time.Hour)
		h.runDue()
		rows, err := h.n.Why(t.Context(), id)
		failOn(t, err)
		if len(rows) != 1 || rows[0].Text != long {
			t.Fatal(rows)
		}
		got := h.sentTexts()
		if len(got) != 1 || !strings.Contains(got[0], "… ("+rows[0].ID+")\n") || !strings.HasSuffix(got[0], "hob notify list --json") {
			t.Errorf("sentTexts = %q", got)
		}
	})
}

// A failed digest loses no notices: the next start sends them, unless quiet hours apply then.
func TestDigest_FailedIsSentLater(t *testing.T) {
	runVirtual(t, Options{Quiet: []QuietWindow{nightWindow(nil)}}, func(t *testing.T, h *notifierFixture) {
		time.Sleep(11 * time.Hour)
		h.endWithNotice(watcherEvent("one"), "one")
		giveUp := func() {
			t.Helper()
			_, err := h.n.Due(t.Context(), time.Now())
			failOn(t, err)
			events, _, err := h.bus.Inbox.Claim(t.Context(), 10)
			failOn(t, err)
			if len(events) != 1 {
				t.Fatal(events)
			}
			failOn(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := h.bus.Inbox.FailTx(tx, events[0], "no luck", time.Time{}, true)
				return err
			}))
		}
		time.Sleep(9 * time.Hour)
		giveUp()
		for range 3 {
			h.runDue() // the failed digest is not retried endlessly
		}
		if got := h.sentTexts(); len(got) > 0 {
			t.Fatal(got)
		}
		h.restartNotifier()
		giveUp()
		time.Sleep(15 * time.Hour)
		h.restartNotifier()
		h.runDue()
		if got := h.sentTexts(); len(got) > 0 {
			t.Fatal(got)
		}
		time.Sleep(9 * time.Hour)
		for range 3 {
			h.runDue()
			h.restartNotifier()
		}
		if got := h.sentTexts(); len(got) != 1 || !strings.HasPrefix(got[0], "one\n") {
			t.Error(got)
		}
	})
}
