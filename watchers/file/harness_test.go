package file

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// TestMain runs many tests in parallel: they wait for the system, not for the processor.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// clockTick is at least the resolution of file times.
const clockTick = 10 * time.Millisecond

// watchedFolder is a watched folder with its manager, store and sink.
type watchedFolder struct {
	t     testing.TB
	dir   string
	blind bool // without fsnotify: only scans find changes
	d     *Driver
	st    *store.Store
	sink  *watcherstest.Sink
	m     *watchers.Manager
	stop  func()
	spec  watchers.Spec
}

func newPlace(t testing.TB, blind bool) *watchedFolder {
	p := &watchedFolder{t: t, dir: t.TempDir(), blind: blind, st: watcherstest.Open(t, New()), stop: func() {}}
	p.sink = watcherstest.NewSink(p.st)
	p.restartManager()
	return p
}

// restartManager stops the manager and creates a new driver and manager, as a restart of the
// process does.
func (p *watchedFolder) restartManager() {
	p.stop()
	p.d = New()
	if p.blind {
		p.d.hub.make = func() (*fsnotify.Watcher, error) { return nil, errors.New("no notices here") }
	}
	m, err := watchers.New(watcherstest.Options(p.st, p.sink, p.d))
	if err != nil {
		p.t.Fatal(err)
	}
	p.m = m
}

func (p *watchedFolder) startManager() { p.stop = watcherstest.Start(p.t, p.m) }

// createWatcher creates a watcher and waits until the existing files are known.
func (p *watchedFolder) createWatcher(c config) watchers.Spec {
	p.t.Helper()
	if c.Path == "" {
		c.Path = p.dir
	}
	if !p.blind {
		<-time.After(4 * clockTick) // so that the files written before have an earlier modification time
	}
	p.spec = watcherstest.Create(p.t, p.st, p.m, watchers.Spec{Kind: Kind, Config: encodeConfig(p.t, c), Report: "main"})
	return p.spec
}

func (p *watchedFolder) waitKnown() {
	p.t.Helper()
	watcherstest.Eventually(p.t, "the baseline is taken", func() bool {
		var n int
		err := p.st.Read().QueryRowContext(context.Background(), "SELECT count(*) FROM file_watches WHERE baseline = 0").Scan(&n)
		return err == nil && n == 0
	})
}

func (p *watchedFolder) filePath(name string) string { return filepath.Join(p.dir, name) }

func (p *watchedFolder) writeNamed(name, text string) {
	p.t.Helper()
	path := p.filePath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	writeFile(p.t, path, text)
}

func (p *watchedFolder) renameFile(from, to string) {
	p.t.Helper()
	if err := os.Rename(p.filePath(from), p.filePath(to)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *watchedFolder) removeFile(name string) {
	p.t.Helper()
	if err := os.RemoveAll(p.filePath(name)); err != nil {
		p.t.Fatal(err)
	}
}

// eventList returns the events so far, sorted: "created invoice.pdf".
func (p *watchedFolder) eventList() []string {
	out := []string{}
	for _, f := range p.sink.Fired() {
		var got payload
		if err := json.Unmarshal(f.Payload, &got); err != nil {
			p.t.Fatal(err)
		}
		path := got.Path
		if got.Raw != nil {
			path = string(got.Raw)
		}
		rel, err := filepath.Rel(p.dir, path)
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, got.Event+" "+filepath.ToSlash(rel))
	}
	slices.Sort(out)
	return out
}

// expectEvents waits for exactly these events, and briefly for an extra one.
func (p *watchedFolder) expectEvents(want ...string) {
	p.t.Helper()
	slices.Sort(want)
	p.waitEvents(len(want))
	<-time.After(quietGone + quiet/2)
	if d := cmp.Diff(append([]string{}, want...), p.eventList()); d != "" {
		p.t.Fatalf("events (-want +got):\n%s\ntroubles: %v", d, p.sink.Troubles())
	}
}

// waitEvents waits for n events.
func (p *watchedFolder) waitEvents(n int) {
	deadline := time.Now().Add(60 * time.Second)
	for len(p.sink.Fired()) < n && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}
}

func numberedNames(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}
