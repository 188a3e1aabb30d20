package file

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/knowledge/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// Files arrive while the process restarts and while commits fail: each is reported exactly
// once.
func TestStorm(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.write("before", "x")
	p.start()
	p.create(config{Recursive: true})
	p.settled()
	rng := rand.New(rand.NewPCG(4, 2))
	files := numbered(300, "d%d/file")
	for i, f := range files {
		files[i] = fmt.Sprintf("%s-%d", f, i)
		p.write(files[i], "x")
		switch {
		case i%60 == 20:
			p.sink.Fail(watcherstest.ErrSink)
		case i%60 == 50:
			p.sink.Fail(nil)
		case i%97 == 96:
			p.restart()
			<-time.After(time.Duration(rng.IntN(100)) * time.Millisecond)
			p.start()
		}
		<-time.After(time.Duration(rng.IntN(8)) * time.Millisecond)
	}
	p.sink.Fail(nil)
	p.restart() // also ends the retry delay after failures
	p.start()
	for i, f := range files {
		files[i] = "created " + f
	}
	p.hears(files...)
}

// More simultaneous changes than the list of changed paths holds.
func TestThousands(t *testing.T) {
	t.Parallel()
	const n = 2*maxDirty + 100
	p := newPlace(t, false)
	p.start()
	p.create(config{})
	p.settled()
	for _, f := range numbered(n, "file-%05d") {
		p.write(f, "")
	}
	p.hears(numbered(n, "created file-%05d")...)
}

func TestFiftyWatchersAreCheap(t *testing.T) {
	p := newPlace(t, false)
	before := runtime.NumGoroutine()
	p.start()
	const n = 50
	for i := range n {
		p.create(config{Path: p.path(fmt.Sprintf("f%d", i%10)), Recursive: true})
	}
	p.settled()
	if got := runtime.NumGoroutine() - before; got > n+10 {
		t.Errorf("%d goroutines for %d watchers", got, n)
	}
	p.write("f3/x", "x")
	want := []string{}
	for range n / 10 {
		want = append(want, "created f3/x")
	}
	p.hears(want...)
	// One watcher leaves, the others stay.
	if err := p.st.Write(t.Context(), func(tx *store.Tx) error { _, err := p.m.CancelTx(tx, p.sink.Fired()[0].Watcher); return err }); err != nil {
		t.Fatal(err)
	}
	p.write("f3/y", "x")
	for range n/10 - 1 {
		want = append(want, "created f3/y")
	}
	p.hears(want...)
	p.stop()
	if p.d.hub.fs != nil || len(p.d.hub.dirs) != 0 || len(p.d.hub.subs) != 0 {
		t.Errorf("left at the hub: %v", p.d.hub)
	}
}

// If each file in a watched folder uses a descriptor, a crowded folder is scanned instead.
func TestCrowdedFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.d.hub.budget = 20
	for _, n := range numbered(30, "crowd/%d") {
		p.write(n, "")
	}
	p.start()
	p.create(config{Path: p.path("crowd")})
	watcherstest.Eventually(t, "it is told", func() bool { return len(p.sink.Troubles()) == 1 })
	p.write("calm/old", "")
	p.create(config{Path: p.path("calm")})
	p.settled()
	p.write("calm/new", "")
	p.hears("created calm/new")
	p.d.hub.everything()
	p.write("crowd/new", "")
	p.hears("created calm/new", "created crowd/new")
	p.stop()
	if len(p.d.hub.cost) != 0 {
		t.Errorf("still counted: %v", p.d.hub.cost)
	}
}

func TestOwnFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	home := filepath.Dir(p.st.Path())
	err := p.st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := p.m.CreateTx(tx, watchers.Spec{Kind: Kind, Config: encode(t, config{Path: home})})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "Hob's own folder") {
		t.Errorf("watching Hob's own folder: %v", err)
	}
	p.dir = filepath.Dir(home)
	p.start()
	p.create(config{Recursive: true, Events: []string{created, modified, removed}})
	p.settled()
	p.write("x", "x")
	p.hears("created x")
}

func BenchmarkEvents(b *testing.B) {
	p := newPlace(b, false)
	p.start()
	p.create(config{})
	p.settled()
	const n = 5000
	for i := 0; b.Loop(); i++ {
		have := len(p.sink.Fired())
		for _, f := range numbered(n, fmt.Sprintf("b%d-%%d", i)) {
			p.write(f, "")
		}
		watcherstest.Eventually(b, "all are told", func() bool { return len(p.sink.Fired()) == have+n })
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkStart50k starts over a folder of 50,000 known files.
func BenchmarkStart50k(b *testing.B) {
	p := newPlace(b, false)
	for _, f := range numbered(50_000, "file-%d") {
		p.write(f, "")
	}
	p.create(config{})
	p.start()
	p.settled()
	for i := 0; b.Loop(); i++ {
		p.restart()
		p.start()
		p.write(fmt.Sprintf("new-%d", i), "")
		watcherstest.Eventually(b, "the new one is told", func() bool { return len(p.sink.Fired()) == i+1 })
	}
}
