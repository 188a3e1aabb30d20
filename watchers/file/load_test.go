package file

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// Files arrive while the process restarts and while commits fail: each file is reported exactly
// once.
func TestLoad_Storm(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.writeNamed("before", "x")
	p.startManager()
	p.createWatcher(config{Recursive: true})
	p.waitKnown()
	rng := rand.New(rand.NewPCG(4, 2))
	files := numberedNames(300, "d%d/file")
	for i, f := range files {
		files[i] = fmt.Sprintf("%s-%d", f, i)
		p.writeNamed(files[i], "x")
		switch {
		case i%60 == 20:
			p.sink.Fail(watcherstest.ErrSink)
		case i%60 == 50:
			p.sink.Fail(nil)
		case i%97 == 96:
			p.restartManager()
			<-time.After(time.Duration(rng.IntN(100)) * time.Millisecond)
			p.startManager()
		}
		<-time.After(time.Duration(rng.IntN(8)) * time.Millisecond)
	}
	p.sink.Fail(nil)
	p.restartManager() // also ends the retry delay after failures
	p.startManager()
	for i, f := range files {
		files[i] = "created " + f
	}
	p.expectEvents(files...)
}

// TestLoad_Thousands changes more files at the same time than maxDirty.
func TestLoad_Thousands(t *testing.T) {
	t.Parallel()
	const n = 2*maxDirty + 100
	p := newPlace(t, false)
	p.startManager()
	p.createWatcher(config{})
	p.waitKnown()
	for _, f := range numberedNames(n, "file-%05d") {
		p.writeNamed(f, "")
	}
	p.expectEvents(numberedNames(n, "created file-%05d")...)
}

func TestLoad_FiftyWatchers(t *testing.T) {
	p := newPlace(t, false)
	before := runtime.NumGoroutine()
	p.startManager()
	const n = 50
	for i := range n {
		p.createWatcher(config{Path: p.filePath(fmt.Sprintf("f%d", i%10)), Recursive: true})
	}
	p.waitKnown()
	got := runtime.NumGoroutine() - before
	for end := time.Now().Add(10 * time.Second); got > n+10 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got = runtime.NumGoroutine() - before // a check of a root may be running
	}
	if got > n+10 {
		t.Errorf("%d goroutines for %d watchers", got, n)
	}
	p.writeNamed("f3/x", "x")
	want := []string{}
	for range n / 10 {
		want = append(want, "created f3/x")
	}
	p.expectEvents(want...)
	// After one watcher is canceled, the other watchers still fire.
	if err := p.st.Write(t.Context(), func(tx *store.Tx) error { _, err := p.m.CancelTx(tx, p.sink.Fired()[0].Watcher); return err }); err != nil {
		t.Fatal(err)
	}
	p.writeNamed("f3/y", "x")
	for range n/10 - 1 {
		want = append(want, "created f3/y")
	}
	p.expectEvents(want...)
	p.stop()
	if p.d.hub.fs != nil || len(p.d.hub.dirs) != 0 || len(p.d.hub.subs) != 0 {
		t.Errorf("the hub still has data of the watchers: %v", p.d.hub)
	}
}

// If each file in a watched folder uses a descriptor, a crowded folder is scanned instead.
func TestLoad_CrowdedFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.d.hub.budget = 20
	for _, n := range numberedNames(30, "crowd/%d") {
		p.writeNamed(n, "")
	}
	p.startManager()
	p.createWatcher(config{Path: p.filePath("crowd")})
	watcherstest.Eventually(t, "it is told", func() bool { return len(p.sink.Troubles()) == 1 })
	p.writeNamed("calm/old", "")
	p.createWatcher(config{Path: p.filePath("calm")})
	p.waitKnown()
	p.writeNamed("calm/new", "")
	p.expectEvents("created calm/new")
	p.d.hub.rescanAll()
	p.writeNamed("crowd/new", "")
	p.expectEvents("created calm/new", "created crowd/new")
	p.stop()
	if len(p.d.hub.cost) != 0 {
		t.Errorf("the hub still counts the cost: %v", p.d.hub.cost)
	}
}

func TestNew_RejectsHobsOwnFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	home := filepath.Dir(p.st.Path())
	err := p.st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := p.m.CreateTx(tx, watchers.Spec{Kind: Kind, Config: encodeConfig(t, config{Path: home})})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "Hob's own folder") {
		t.Errorf("New for Hob's own folder = %v", err)
	}
	p.dir = filepath.Dir(home)
	p.startManager()
	p.createWatcher(config{Recursive: true, Events: []string{created, modified, removed}})
	p.waitKnown()
	p.writeNamed("x", "x")
	p.expectEvents("created x")
}

func BenchmarkEvents(b *testing.B) {
	p := newPlace(b, false)
	p.startManager()
	p.createWatcher(config{})
	p.waitKnown()
	const n = 5000
	for i := 0; b.Loop(); i++ {
		have := len(p.sink.Fired())
		for _, f := range numberedNames(n, fmt.Sprintf("b%d-%%d", i)) {
			p.writeNamed(f, "")
		}
		watcherstest.Eventually(b, "all are told", func() bool { return len(p.sink.Fired()) == have+n })
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkStart50k starts over a folder of 50,000 known files.
func BenchmarkStart50k(b *testing.B) {
	p := newPlace(b, false)
	for _, f := range numberedNames(50_000, "file-%d") {
		p.writeNamed(f, "")
	}
	p.createWatcher(config{})
	p.startManager()
	p.waitKnown()
	for i := 0; b.Loop(); i++ {
		p.restartManager()
		p.startManager()
		p.writeNamed(fmt.Sprintf("new-%d", i), "")
		watcherstest.Eventually(b, "the new one is told", func() bool { return len(p.sink.Fired()) == i+1 })
	}
}
