package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxDirty is the maximum number of changed paths per watcher. If there are more, the watcher
	// runs a full scan instead.
	maxDirty = 4096
	// rootCheck is the interval at which watchers check that their root still exists, because the
	// system does not report a removed disk. All watchers check at the same time, so that an idle
	// machine wakes up only once.
	rootCheck = time.Minute
	// fullCheck is the number of root checks between full scans. A full scan finds changes that the
	// system did not report.
	fullCheck = 15
)

// hub shares one fsnotify instance among the watchers of a driver. The instance and the goroutine
// that reads its events exist while at least one watcher is joined. When the last watcher leaves
// the hub, leaveHub waits until the goroutine has ended.
//
// The reading goroutine never calls fsnotify and never locks ops, because fsnotify may hold its own
// lock while it delivers an error.
type hub struct {
	make   func() (*fsnotify.Watcher, error)
	told   bool // no fsnotify: notifications arrive from WithoutSystem
	budget int  // maximum number of entries in the watched folders; 0 means no limit

	ops  sync.Mutex // serializes calls to fsnotify and guards the next five fields
	cost map[string]int
	fs   *fsnotify.Watcher
	end  chan struct{} // closed to stop the reader
	eof  chan struct{} // closed when the reader has ended
	n    int           // number of joined watchers

	checking atomic.Bool // startCheck's goroutine runs

	mu    sync.Mutex // guards the following fields
	subs  map[*sub]struct{}
	dirs  map[string]map[*sub]struct{} // watched folder -> its watchers
	stale []string                     // moved or deleted folders whose watches must be dropped, with all subfolders
}

func newHub() *hub {
	return &hub{make: fsnotify.NewWatcher, budget: maxEntries, cost: map[string]int{}, subs: map[*sub]struct{}{}, dirs: map[string]map[*sub]struct{}{}}
}

func (h *hub) joinHub(root string) *sub {
	s := &sub{hub: h, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}, root: rootState{path: root}}
	h.ops.Lock()
	defer h.ops.Unlock()
	h.n++
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	return s
}

func (h *hub) leaveHub(s *sub) {
	s.keepOnly(nil)
	h.ops.Lock()
	defer h.ops.Unlock()
	h.mu.Lock()
	delete(h.subs, s)
	h.mu.Unlock()
	if h.n--; h.n > 0 || h.fs == nil {
		return
	}
	close(h.end)
	_ = h.fs.Close() // closes the event channels, which ends the reader
	<-h.eof
	h.fs = nil
	clear(h.cost)
	h.mu.Lock()
	clear(h.dirs)
	h.stale = nil
	h.mu.Unlock()
}

// openNotify starts the fsnotify instance. The caller has locked ops.
func (h *hub) openNotify() error {
	if h.fs != nil {
		return nil
	}
	fs, err := h.make()
	if err != nil {
		return err
	}
	h.fs, h.end, h.eof = fs, make(chan struct{}), make(chan struct{})
	go h.readEvents(fs, h.end, h.eof) // leaveHub waits until the reader has ended
	return nil
}

// dropStale ends the watches of moved folders. Otherwise fsnotify would still report changes under
// their old names. The caller has locked ops.
func (h *hub) dropStale() {
	h.mu.Lock()
	var drop []string
	for _, old := range h.stale {
		for dir := range h.dirs {
			if _, in := relativeTo(old, dir); in {
				drop = append(drop, dir)
				delete(h.dirs, dir)
			}
		}
	}
	h.stale = nil
	h.mu.Unlock()
	for _, dir := range drop {
		h.removeWatch(dir)
	}
}

// readEvents distributes the events of fsnotify until its channels are closed.
func (h *hub) readEvents(fs *fsnotify.Watcher, end, eof chan struct{}) {
	defer close(eof)
	check := time.NewTicker(rootCheck)
	defer check.Stop()
	for n := 1; ; {
		select {
		case <-end:
			drainEvents(fs)
			return
		case ev, ok := <-fs.Events:
			if !ok {
				return
			}
			h.handleEvent(ev)
		case err, ok := <-fs.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrClosed) {
				h.rescanAll()
			}
		case <-check.C:
			if h.startCheck(); n%fullCheck == 0 {
				h.rescanAll()
			}
			n++
		}
	}
}

// drainEvents discards the pending events and errors of fsnotify, so that fsnotify can end.
func drainEvents(fs *fsnotify.Watcher) {
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

func (h *hub) handleEvent(ev fsnotify.Event) {
	if ev.Name == "" || (ev.Op == fsnotify.Chmod && !chmodMatters) {
		return
	}
	path := filepath.Clean(ev.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.dirs[filepath.Dir(path)] {
		s.pushPath(path)
	}
	self, watched := h.dirs[path]
	for s := range self {
		s.pushPath(path)
	}
	if watched && (ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename)) {
		h.markLost(path)
	}
}

// markLost marks the watches of a folder and its subfolders to be dropped, and makes the watchers
// of the folder scan again. The caller has locked mu.
func (h *hub) markLost(path string) {
	h.stale = append(h.stale, path)
	for dir, who := range h.dirs {
		if _, in := relativeTo(path, dir); in {
			for s := range who {
				s.markAll()
			}
		}
	}
}

// reserveEntries adds the number of a folder's entries to the total, on systems with a limit. The
// caller has locked ops.
func (h *hub) reserveEntries(dir string) error {
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
		return fmt.Errorf("the watched folders contain more than %d files", h.budget)
	}
	h.cost[dir] = len(names)
	return nil
}

// removeWatch ends fsnotify's watch of a folder. The caller has locked ops.
func (h *hub) removeWatch(dir string) {
	delete(h.cost, dir)
	if h.fs != nil {
		_ = h.fs.Remove(dir) // fails if the watch was already removed
	}
}

// rescanAll makes all watchers scan again, because events were lost.
func (h *hub) rescanAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.markAll()
	}
}

// startCheck checks the roots of all watchers on another goroutine, because a file system may not
// answer. If the previous check still waits for one, each watcher checks its root itself.
func (h *hub) startCheck() {
	if h.checking.CompareAndSwap(false, true) {
		go func() { // ends when the file systems have answered
			defer h.checking.Store(false)
			h.checkAll()
		}()
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.wakeCheck()
	}
}

// checkAll wakes the watchers whose root is not the same as at their last scan. Waking all of them would
// take most of the processor time of an idle Hob.
func (h *hub) checkAll() {
	h.mu.Lock()
	roots := make(map[*sub]rootState, len(h.subs))
	for s := range h.subs {
		roots[s] = s.root
	}
	h.mu.Unlock()
	for s, root := range roots {
		if root.hasMoved() {
			h.mu.Lock()
			s.wakeCheck()
			h.mu.Unlock()
		}
	}
}
