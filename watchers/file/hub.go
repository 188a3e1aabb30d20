package file

import (
	"errors"
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
)

// hub shares one fsnotify instance among the watchers of a driver. The instance
// and the goroutine that reads it live as long as somebody is joined; whoever
// leaves last waits for the goroutine.
//
// The reading goroutine never calls into fsnotify and never takes ops: fsnotify
// may hold its own lock while it hands over an error.
type hub struct {
	make func() (*fsnotify.Watcher, error)

	ops sync.Mutex // one call into fsnotify at a time; guards the next four
	fs  *fsnotify.Watcher
	end chan struct{} // closed when fs shall not be read any more
	eof chan struct{} // closed when the reader has ended
	n   int           // who is joined

	mu    sync.Mutex // guards the rest
	subs  map[*sub]struct{}
	dirs  map[string]map[*sub]struct{} // watched folder -> who wants it
	stale []string                     // folders that moved or vanished: to be dropped with all below
}

// sub is one watcher at the hub.
type sub struct {
	hub  *hub
	wake chan struct{} // has room for one

	// Guarded by hub.mu.
	dirty  map[string]struct{}
	rescan bool
	check  bool
}

func newHub() *hub {
	return &hub{make: fsnotify.NewWatcher, subs: map[*sub]struct{}{}, dirs: map[string]map[*sub]struct{}{}}
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
	h.mu.Lock()
	clear(h.dirs)
	h.stale = nil
	h.mu.Unlock()
}

// watch makes changes in dir wake s.
func (s *sub) watch(dir string) error {
	h := s.hub
	h.ops.Lock()
	defer h.ops.Unlock()
	if err := h.open(); err != nil {
		return err
	}
	h.dropStale()
	h.mu.Lock()
	who, watched := h.dirs[dir]
	if !watched {
		who = map[*sub]struct{}{}
		h.dirs[dir] = who
	}
	who[s] = struct{}{}
	h.mu.Unlock()
	if watched {
		return nil
	}
	if err := h.fs.Add(dir); err != nil {
		h.mu.Lock()
		delete(h.dirs, dir)
		h.mu.Unlock()
		return err
	}
	return nil
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
		_ = h.fs.Remove(dir) // mostly it is gone already
	}
}

// keep ends the watches of s that are not in dirs.
func (s *sub) keep(dirs map[string]struct{}) {
	h := s.hub
	h.ops.Lock()
	defer h.ops.Unlock()
	var drop []string
	h.mu.Lock()
	for dir, who := range h.dirs {
		if _, mine := who[s]; !mine {
			continue
		}
		if _, wanted := dirs[dir]; wanted {
			continue
		}
		if delete(who, s); len(who) == 0 {
			delete(h.dirs, dir)
			drop = append(drop, dir)
		}
	}
	h.mu.Unlock()
	for _, dir := range drop {
		_ = h.fs.Remove(dir)
	}
}

// news is what changed: paths, everything, or perhaps the watched folder itself.
type news struct {
	paths map[string]struct{}
	all   bool
	check bool
}

// take returns what changed since the last call.
func (s *sub) take() news {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	n := news{s.dirty, s.rescan, s.check}
	s.dirty, s.rescan, s.check = map[string]struct{}{}, false, false
	return n
}

// read hands out what fsnotify reports until its channels are closed.
func (h *hub) read(fs *fsnotify.Watcher, end, eof chan struct{}) {
	defer close(eof)
	check := time.NewTicker(rootCheck)
	defer check.Stop()
	for {
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
			h.check()
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

// lose says that dir is not what it was, although the system reported nothing.
func (s *sub) lose(dir string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.lost(dir)
	s.all()
}

// push marks a path as changed. The caller holds hub.mu.
func (s *sub) push(path string) {
	if s.dirty[path] = struct{}{}; len(s.dirty) > maxDirty {
		s.all()
		return
	}
	s.nudge()
}

// all marks everything as changed. The caller holds hub.mu.
func (s *sub) all() {
	s.rescan = true
	clear(s.dirty)
	s.nudge()
}

func (s *sub) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
