package watchers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

func (h *managerFixture) execSQL(query string, args ...any) {
	h.t.Helper()
	if err := h.writeTx(func(tx *store.Tx) error { _, err := tx.Exec(query, args...); return err }); err != nil {
		h.t.Fatal(err)
	}
}

func (h *managerFixture) setState(id string, to watchers.State) {
	h.t.Helper()
	if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, id, to); return err }); err != nil {
		h.t.Fatal(err)
	}
}

// A full disk does not shorten the poll interval.
func TestPolled_FullDiskKeepsTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.addItem("a", time.Time{})
		h.sink.Fail(watcherstest.ErrSink)
		time.Sleep(10 * time.Minute)
		before := s.countReads()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := s.countReads() - before; n < 3 || n > 10 {
			t.Errorf("%d requests in two hours, want 3 to 10", n)
		}
		h.sink.Fail(nil)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		h.stop()
		if diff := cmp.Diff([]string{"a"}, h.listKeys()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPolled_ResumePollsImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.failWith(watchers.Later(time.Now().Add(20*time.Hour), errors.New("too many")))
		time.Sleep(12 * time.Minute)
		s.failWith(nil)
		h.setState(w.ID, watchers.Paused)
		time.Sleep(time.Minute)
		before := s.countReads()
		h.setState(w.ID, watchers.Active)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stop()
		if n := s.countReads() - before; n != 1 {
			t.Errorf("%d polls in the minute after resume, want 1", n)
		}
	})
}

// A temporary read error of the database breaks no watcher.
func TestPolled_ReadErrorAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		w := h.createWatcher("source", `{}`)
		h.execSQL("ALTER TABLE watcher_polls RENAME TO away")
		h.startManager()
		time.Sleep(time.Second)
		synctest.Wait()
		h.execSQL("ALTER TABLE away RENAME TO watcher_polls")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		h.stop()
		if got := h.getSpec(w.ID); got.State != watchers.Active || s.countReads() == 0 {
			t.Errorf("state %s (%s) after %d requests", got.State, got.LastError, s.countReads())
		}
	})
}

// A source that invents items does not fill the disk.
func TestPolled_TooManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		h.execSQL(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
			INSERT INTO watcher_keys (watcher, key) SELECT ?, randomblob(16) FROM n`, w.ID)
		s.addItem("one more", time.Time{})
		time.Sleep(time.Hour)
		synctest.Wait()
		h.stop()
		if got := h.getSpec(w.ID); got.State != watchers.Broken || !strings.Contains(got.LastError, "200000 items") || len(h.listKeys()) > 0 {
			t.Errorf("%s (%s), fired %v", got.State, got.LastError, h.listKeys())
		}
	})
}

// A poll that fails does not restore text that was erased from the cursor during the poll.
func TestPolled_FailureKeepsCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		w := h.createWatcher("source", `{}`)
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.take, s.err = 11*time.Minute, errors.New("no answer")
		s.mu.Unlock()
		time.Sleep(12 * time.Minute) // a poll is running
		h.execSQL("UPDATE watcher_polls SET cursor = '7' WHERE watcher = ?", w.ID)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		h.stop()
		var cursor string
		var fails int
		err := h.st.Reader(t.Context()).QueryRow("SELECT cursor, fails FROM watcher_polls").Scan(&cursor, &fails)
		if err != nil || cursor != "7" || fails == 0 {
			t.Errorf("cursor %q after %d failures, %v", cursor, fails, err)
		}
	})
}

// The daily limit does not drop a watcher's notices about itself.
func TestPolled_NoticeAboveTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		h := newFixture(t, s)
		h.startManager()
		h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.PerDay = 1 })
		time.Sleep(time.Minute)
		for i := range 3 {
			s.addItem(fmt.Sprint(i), time.Time{})
		}
		s.mu.Lock()
		s.extra.Signals = []watchers.Signal{{Key: "left", Text: "Some were left out.", Notice: true}}
		s.mu.Unlock()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		h.stop()
		if n := h.sink.Notices(); len(h.listKeys()) != 1 || len(n) != 2 || n[0].Text != "Some were left out." {
			t.Errorf("fired %v, reported %v", h.listKeys(), n)
		}
	})
}
