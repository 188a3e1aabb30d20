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

	"hob/knowledge/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// These tests run without notifications of the system, in virtual time: only scans find
// changes.

// bubble runs f in a synctest bubble with a blind place.
func bubble(t *testing.T, f func(p *place)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, true)
		f(p)
		p.stop()
	})
}

// put writes a file with the current virtual time.
func (p *place) put(name, text string) {
	p.t.Helper()
	p.write(name, text)
	if err := os.Chtimes(p.path(name), time.Now(), time.Now()); err != nil {
		p.t.Fatal(err)
	}
}

// after lets time pass and expects the events.
func (p *place) after(d time.Duration, want ...string) {
	p.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if got := p.heard(); strings.Join(got, ",") != strings.Join(want, ",") {
		p.t.Fatalf("after %s: got %q, want %q", d, got, want)
	}
}

func TestPolls(t *testing.T) {
	bubble(t, func(p *place) {
		p.put("old", "x")
		time.Sleep(time.Hour)
		p.start()
		p.create(config{Events: []string{created, modified, removed}, Recursive: true})
		p.after(time.Second)
		if n := len(p.sink.Troubles()); n != 1 {
			t.Errorf("reported %d times that there are no notifications: %v", n, p.sink.Troubles())
		}
		p.put("new", "x")
		p.put("sub/new", "x")
		p.after(pollEvery+2*quiet, "created new", "created sub/new")
		p.remove("old")
		p.put("new", "xy")
		p.after(pollEvery+2*quietGone, "created new", "created sub/new", "modified new", "removed old")
	})
}

func TestFilesSinceCreationAreNew(t *testing.T) {
	bubble(t, func(p *place) {
		p.put("before", "x")
		time.Sleep(time.Hour)
		p.create(config{}) // and no manager runs
		time.Sleep(time.Hour)
		p.put("since", "x")
		p.write("future", "x") // its modification time is real time, decades ahead
		time.Sleep(time.Hour)
		p.start()
		p.after(time.Minute, "created since")
	})
}

func TestRestlessFiles(t *testing.T) {
	bubble(t, func(p *place) {
		p.put("log", "x")
		time.Sleep(time.Hour)
		p.start()
		p.create(config{Events: []string{created, modified}})
		p.after(time.Second)
		text := "x"
		grow := func(name string, d time.Duration) {
			for begin := time.Now(); time.Since(begin) < d; time.Sleep(100 * time.Millisecond) {
				text += "x"
				p.put(name, text)
				p.touched(name)
			}
			synctest.Wait()
		}
		grow("log", patience/2)
		p.after(0)
		grow("log", patience)
		p.after(0, "modified log") // it is never quiet
		p.after(time.Minute, "modified log", "modified log")
		grow("download", 3*patience)
		p.after(0, "modified log", "modified log") // but new files are reported when they are complete
		p.after(time.Minute, "created download", "modified log", "modified log")
	})
}

// touched passes the paths to the driver as notifications of the system.
func (p *place) touched(names ...string) {
	h := p.d.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		for _, n := range names {
			s.push(p.path(n))
		}
	}
}

func TestOverflow(t *testing.T) {
	bubble(t, func(p *place) {
		p.start()
		p.create(config{})
		p.after(time.Second)
		p.put("a", "x")
		p.d.hub.everything()
		p.after(rescanDelay+2*quiet, "created a")
		p.put("b", "x")
		p.touched(numbered(maxDirty+1, "no-such-file-%d")...)
		p.after(rescanDelay+2*quiet, "created a", "created b")
	})
}

func TestUnreadable(t *testing.T) {
	bubble(t, func(p *place) {
		p.put("locked/file", "x")
		p.put("open/file", "x")
		time.Sleep(time.Hour)
		p.create(config{Recursive: true, Events: []string{created, removed}})
		made, err := p.d.New(p.spec, watchers.Deps{
			Store: p.st, AllowedRead: func(string) error { return nil },
			Trouble: func(_ context.Context, id string, err error) { p.sink.Trouble(context.Background(), id, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		w := made.(*watch)
		r := &run{watch: w, sub: w.hub.join(), real: p.dir, pending: map[string]*pending{}, told: map[string]bool{}}
		defer w.hub.leave(r.sub)
		r.fire = func(ctx context.Context, sig []watchers.Signal, save func(*store.Tx) error) error {
			return p.sink.Fire(ctx, w.id, sig, save)
		}
		if r.prog, err = w.progress(context.Background()); err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(r.scan(context.Background()))
		if !r.prog.baseline {
			t.Fatal("no baseline")
		}
		// Unreadable files do not count as removed.
		p.remove("locked/file")
		p.remove("open/file")
		rows, err := w.known(context.Background(), nil)
		must(err)
		s := &scan{r: r, rows: rows, now: time.Now()}
		for range 3 {
			s.unreadable(context.Background(), "locked", &os.PathError{Op: "open", Path: "locked", Err: fs.ErrPermission})
		}
		s.missing(true)
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

func TestFailedCommitIsFoundAgain(t *testing.T) {
	bubble(t, func(p *place) {
		p.start()
		p.create(config{})
		p.after(time.Second)
		for _, n := range numbered(3*batchSize, "file-%04d") {
			p.put(n, "x")
		}
		p.sink.Fail(watcherstest.ErrSink)
		p.after(10 * time.Minute)
		p.sink.Fail(nil)
		p.after(10*time.Minute, numbered(3*batchSize, "created file-%04d")...)
	})
}

func TestPausedAndResumed(t *testing.T) {
	bubble(t, func(p *place) {
		p.start()
		p.create(config{})
		p.after(time.Second)
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
		p.put("in the pause", "x")
		p.after(time.Hour)
		set(watchers.Active)
		p.after(time.Minute)
		p.put("afterwards", "x")
		p.after(time.Minute, "created afterwards")
	})
}
