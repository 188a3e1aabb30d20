package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxDirty is how many changed paths a watcher may have waiting before it
	// looks at everything instead.
	maxDirty = 4096
	// rootCheck is how often the watchers compare their folder with what is
	// there, because the system says nothing when a disk is taken away; all at
	// once, so that an idle machine wakes up once for all of them.
	rootCheck = time.Minute
	// fullCheck is after how many of them they look at everything, for what the
	// system never reported.
	fullCheck = 15
)

// hub shares one fsnotify instance among the watchers of a driver. The instance
// and the goroutine that reads it live as long as somebody is joined; whoever
// leaves last waits for the goroutine.
//
// The reading goroutine never calls into fsnotify and never takes ops: fsnotify
// may hold its own lock while it hands over an error.
type hub struct {
	make   func() (*fsnotify.Watcher, error)
	told   bool // there is no fsnotify: the notices come through Notice
	budget int  // how many entries the watched folders may have; 0: any number

	ops  sync.Mutex // one call into fsnotify at a time; guards the next five
	cost map[string]int
	fs   *fsnotify.Watcher
	end  chan struct{} // closed when fs shall not be read any more
	eof  chan struct{} // closed when the reader has ended
	n    int           // who is joined

	mu    sync.Mutex // guards the rest
	subs  map[*sub]struct{}
	dirs  map[string]map[*sub]struct{} // watched folder -> who wants it
	stale []string                     // folders that moved or vanished: to be dropped with all below
}

func newHub() *hub {
	return &hub{make: fsnotify.NewWatcher, budget: maxEntries, cost: map[string]int{}, subs: map[*sub]struct{}{}, dirs: map[string]map[*sub]struct{}{}}
}

func (h *hub) join() *sub {
	s := &sub{hub: h, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}}
	h.ops.Lock()
	defer h.ops.Unlock()
	h.n++
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	return s
}

func (h *hub) leave(s *sub) {
	s.keep(nil)
	h.ops.Lock()
	defer h.ops.Unlock()
	h.mu.Lock()
	delete(h.subs, s)
	h.mu.Unlock()
	if h.n--; h.n > 0 || h.fs == nil {
		return
	}
	close(h.end)
	_ = h.fs.Close() // closes the channels, which ends the reader
	<-h.eof
	h.fs = nil
	clear(h.cost)
	h.mu.Lock()
	clear(h.dirs)
	h.stale = nil
	h.mu.Unlock()
}

// open starts the fsnotify instance. The caller holds ops.
func (h *hub) open() error {
	if h.fs != nil {
		return nil
	}
	fs, err := h.make()
	if err != nil {
		return err
	}
	h.fs, h.end, h.eof = fs, make(chan struct{}), make(chan struct{})
	go h.read(fs, h.end, h.eof) // leave waits for it
	return nil
}

// dropStale ends the watches of folders that are no longer where they were;
// fsnotify would go on reporting them under their old names. The caller holds
// ops.
func (h *hub) dropStale() {
	h.mu.Lock()
	var drop []string
	for _, old := range h.stale {
		for dir := range h.dirs {
			if _, in := below(old, dir); in {
				drop = append(drop, dir)
				delete(h.dirs, dir)
			}
		}
	}
	h.stale = nil
	h.mu.Unlock()
	for _, dir := range drop {
		h.unwatch(dir)
	}
}

// read hands out what fsnotify reports until its channels are closed.
func (h *hub) read(fs *fsnotify.Watcher, end, eof chan struct{}) {
	defer close(eof)
	check := time.NewTicker(rootCheck)
	defer check.Stop()
	for n := 1; ; {
		select {
		case <-end:
			drain(fs)
			return
		case ev, ok := <-fs.Events:
			if !ok {
				return
			}
			h.event(ev)
		case err, ok := <-fs.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrClosed) {
				h.everything()
			}
		case <-check.C:
			if h.check(); n%fullCheck == 0 {
				h.everything()
			}
			n++
		}
	}
}

// drain lets fsnotify end, which may be waiting to hand something over.
func drain(fs *fsnotify.Watcher) {
	for events, errs := fs.Events, fs.Errors; events != nil || errs != nil; {
		select {
		case _, ok := <-events:
			if !ok {
				events = nil
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			}
		}
	}
}

func (h *hub) event(ev fsnotify.Event) {
	if ev.Name == "" || (ev.Op == fsnotify.Chmod && !chmodMatters) {
		return
	}
	path := filepath.Clean(ev.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.dirs[filepath.Dir(path)] {
		s.push(path)
	}
	self, watched := h.dirs[path]
	for s := range self {
		s.push(path)
	}
	if watched && (ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename)) {
		h.lost(path)
	}
}

// lost marks a folder and all below for dropping and makes everybody who
// watches them look again. The caller holds mu.
func (h *hub) lost(path string) {
	h.stale = append(h.stale, path)
	for dir, who := range h.dirs {
		if _, in := below(path, dir); in {
			for s := range who {
				s.all()
			}
		}
	}
}

// afford counts what a folder costs, on systems where it costs anything. The
// caller holds ops.
func (h *hub) afford(dir string) error {
	if h.budget == 0 {
		return nil
	}
	used := 0
	for _, n := range h.cost {
		used += n
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(h.budget - used + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if used+len(names) > h.budget {
		return fmt.Errorf("more than %d files lie in the watched folders", h.budget)
	}
	h.cost[dir] = len(names)
	return nil
}

// unwatch ends fsnotify's watch of a folder. The caller holds ops.
func (h *hub) unwatch(dir string) {
	delete(h.cost, dir)
	if h.fs != nil {
		_ = h.fs.Remove(dir) // mostly it is gone already
	}
}

// everything makes everybody look again: reports were lost.
func (h *hub) everything() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.all()
	}
}

// check makes everybody compare their folder with what is there.
func (h *hub) check() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.check = true
		s.nudge()
	}
}
