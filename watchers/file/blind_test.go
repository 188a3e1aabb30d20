package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// These tests run without notifications of the system, in virtual time: only scans find
// changes.

// runVirtual runs f in a synctest bubble with a folder for which the system sends no notifications.
func runVirtual(t *testing.T, f func(p *watchedFolder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, true)
		f(p)
		p.stop()
	})
}

// putFile writes a file with the current virtual time.
func (p *watchedFolder) putFile(name, text string) {
	p.t.Helper()
	p.writeNamed(name, text)
	if err := os.Chtimes(p.filePath(name), time.Now(), time.Now()); err != nil {
		p.t.Fatal(err)
	}
}

// expectAfter lets time pass and expects the events.
func (p *watchedFolder) expectAfter(d time.Duration, want ...string) {
	p.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if got := p.eventList(); strings.Join(got, ",") != strings.Join(want, ",") {
		p.t.Fatalf("after %s: got %q, want %q", d, got, want)
	}
}

func TestBlind_Polls(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.putFile("old", "x")
		time.Sleep(time.Hour)
		p.startManager()
		p.createWatcher(config{Events: []string{created, modified, removed}, Recursive: true})
		p.expectAfter(time.Second)
		if n := len(p.sink.Troubles()); n != 1 {
			t.Errorf("%d reports about missing notifications: %v", n, p.sink.Troubles())
		}
		p.putFile("new", "x")
		p.putFile("sub/new", "x")
		p.expectAfter(pollEvery+2*quiet, "created new", "created sub/new")
		p.removeFile("old")
		p.putFile("new", "xy")
		p.expectAfter(pollEvery+2*quietGone, "created new", "created sub/new", "modified new", "removed old")
	})
}

func TestBlind_FilesSinceCreationAreNew(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.putFile("before", "x")
		time.Sleep(time.Hour)
		p.createWatcher(config{}) // the manager does not run yet
		time.Sleep(time.Hour)
		p.putFile("since", "x")
		p.writeNamed("future", "x") // its modification time is real time, decades ahead
		time.Sleep(time.Hour)
		p.startManager()
		p.expectAfter(time.Minute, "created since")
	})
}

func TestBlind_FilesThatKeepChanging(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.putFile("log", "x")
		time.Sleep(time.Hour)
		p.startManager()
		p.createWatcher(config{Events: []string{created, modified}})
		p.expectAfter(time.Second)
		text := "x"
		grow := func(name string, d time.Duration) {
			for begin := time.Now(); time.Since(begin) < d; time.Sleep(100 * time.Millisecond) {
				text += "x"
				p.putFile(name, text)
				p.notifyPaths(name)
			}
			synctest.Wait()
		}
		grow("log", patience/2)
		p.expectAfter(0)
		grow("log", patience)
		p.expectAfter(0, "modified log") // the file changes continuously, so it is reported after patience
		p.expectAfter(time.Minute, "modified log", "modified log")
		grow("download", 3*patience)
		p.expectAfter(0, "modified log", "modified log") // a new file is reported only when it is complete
		p.expectAfter(time.Minute, "created download", "modified log", "modified log")
	})
}

// notifyPaths passes the paths to the driver as notifications of the system.
func (p *watchedFolder) notifyPaths(names ...string) {
	h := p.d.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		for _, n := range names {
			s.pushPath(p.filePath(n))
		}
	}
}

func TestOverflow(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.startManager()
		p.createWatcher(config{})
		p.expectAfter(time.Second)
		p.putFile("a", "x")
		p.d.hub.rescanAll()
		p.expectAfter(rescanDelay+2*quiet, "created a")
		p.putFile("b", "x")
		p.notifyPaths(numberedNames(maxDirty+1, "no-such-file-%d")...)
		p.expectAfter(rescanDelay+2*quiet, "created a", "created b")
	})
}

func TestUnreadable(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.putFile("locked/file", "x")
		p.putFile("open/file", "x")
		time.Sleep(time.Hour)
		p.createWatcher(config{Recursive: true, Events: []string{created, removed}})
		made, err := p.d.New(p.spec, watchers.Deps{
			Store: p.st, AllowedRead: func(string) error { return nil },
			Trouble: func(_ context.Context, id string, err error) { p.sink.ReportError(context.Background(), id, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		w := made.(*watch)
		r := &run{watch: w, sub: w.hub.joinHub(p.dir), real: p.dir, pending: map[string]*pending{}, told: map[string]bool{}}
		defer w.hub.leaveHub(r.sub)
		r.fire = func(ctx context.Context, sig []watchers.Signal, save func(*store.Tx) error) error {
			return p.sink.Fire(ctx, w.id, sig, save)
		}
		if r.prog, err = w.readProgress(context.Background()); err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(r.scanAll(context.Background()))
		if !r.prog.baseline {
			t.Fatal("the baseline is missing")
		}
		// Unreadable files do not count as removed.
		p.removeFile("locked/file")
		p.removeFile("open/file")
		rows, err := w.knownFiles(context.Background(), nil)
		must(err)
		s := &scan{r: r, rows: rows, now: time.Now()}
		for range 3 {
			s.markUnreadable(context.Background(), "locked", &os.PathError{Op: "open", Path: "locked", Err: fs.ErrPermission})
		}
		s.markMissing(true)
		if len(r.pending) != 1 || r.pending["open/file"] == nil {
			t.Errorf("pending: %v", r.pending)
		}
		var told []string
		for _, err := range p.sink.Troubles() {
			if errors.Is(err, fs.ErrPermission) {
				told = append(told, err.Error())
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], "cannot read") {
			t.Errorf("reported %q", told)
		}
	})
}

func TestBlind_FailedCommitIsRetried(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.startManager()
		p.createWatcher(config{})
		p.expectAfter(time.Second)
		for _, n := range numberedNames(3*batchSize, "file-%04d") {
			p.putFile(n, "x")
		}
		p.sink.Fail(watcherstest.ErrSink)
		p.expectAfter(10 * time.Minute)
		p.sink.Fail(nil)
		p.expectAfter(10*time.Minute, numberedNames(3*batchSize, "created file-%04d")...)
	})
}

func TestBlind_PausedAndResumed(t *testing.T) {
	runVirtual(t, func(p *watchedFolder) {
		p.startManager()
		p.createWatcher(config{})
		p.expectAfter(time.Second)
		set := func(state watchers.State) {
			t.Helper()
			if err := p.st.Write(context.Background(), func(tx *store.Tx) error {
				_, err := p.m.SetStateTx(tx, p.spec.ID, state)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		set(watchers.Paused)
		p.putFile("in the pause", "x")
		p.expectAfter(time.Hour)
		set(watchers.Active)
		p.expectAfter(time.Minute)
		p.putFile("afterwards", "x")
		p.expectAfter(time.Minute, "created afterwards")
	})
}
