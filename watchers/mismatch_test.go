package watchers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/watchers"
	"hob/watchers/message"
)

// Messages that match no watcher are recorded with the reason, except for the user's own messages
// and messages that Hob does not answer.
func TestMismatch_IsRecordedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, message.New())
		h.startManager()
		h.createWatcher("message", `{"from":"Ada","words":"launch"}`)
		heard := 0
		hear := func(m watchers.Message) {
			t.Helper()
			m.Channel, m.At = "x", time.Now()
			err := h.writeTx(func(tx *store.Tx) error {
				list, err := h.m.DispatchTx(tx, m)
				heard += len(list)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		hear(watchers.Message{ID: "m1", Sender: "ada", SenderName: "Ada", Text: "the launch is on"})
		hear(watchers.Message{ID: "m2", Sender: "ada", SenderName: "Ada", Text: "lunch?"})
		hear(watchers.Message{ID: "m3", Sender: "bob", SenderName: "Bob", Text: "the launch is off"})
		hear(watchers.Message{ID: "m4", Owner: true, Text: "my own launch"})
		hear(watchers.Message{ID: "m5", Sender: "eve", Ignored: true, Text: "a stranger's launch"})
		if _, err := h.m.WantsMessage(t.Context(), watchers.Message{ID: "m6", Channel: "x", Sender: "bob", Text: "only looked at", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		want := func(words, why string) {
			t.Helper()
			found, err := h.m.Passed(t.Context(), []string{words}, time.Time{}, 10)
			if err != nil || (why == "") != (len(found) == 0) || why != "" && (found[0].Why != why || found[0].Rule != watchers.RuleCondition) {
				t.Errorf("%s: Passed = %+v %v", words, found, err)
			}
		}
		check := func() {
			t.Helper()
			want("lunch", `it contains none of the requested words: "launch"`)
			want("off", `the sender is not "Ada"`)
			for _, words := range []string{"own", "stranger", "looked"} {
				want(words, "")
			}
		}
		check()
		h.stop() // writes the data that is only in memory
		h.restartManager(0)
		h.startManager()
		check()
		if heard != 1 {
			t.Errorf("%d messages matched, want 1", heard)
		}
		// Erasing a message also erases the record of its mismatch.
		err := h.writeTx(func(tx *store.Tx) error {
			_, err := h.m.Eraser().EraseTx(tx, &erase.Erasure{Events: []string{"m3"}}, erase.NewScrubber())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want("off", "")
		h.stop()
	})
}
