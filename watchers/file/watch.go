package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hob/knowledge/store"
	"hob/watchers"
)

// The pace of a watcher.
const (
	// quiet is how long a file must not have changed before it is told.
	quiet = 500 * time.Millisecond
	// quietGone is how long a file must be missing before it counts as
	// removed: some programs delete a file and write it anew.
	quietGone = time.Second
	// quietPartial is when a file is looked at again beside which an
	// unfinished download of the same name lies.
	quietPartial = 5 * time.Second
	// patience is after how long a known file that never gets quiet, such as a
	// log, is told as changed all the same.
	patience = time.Minute
	// coalesce is the least time between two looks at what is pending.
	coalesce = 50 * time.Millisecond
	// rescanDelay lets a burst of changes pass before everything is looked at.
	rescanDelay = 200 * time.Millisecond
	// pollEvery is the pace where the system gives no notice.
	pollEvery = 30 * time.Second
	// batchSize is how many files are committed together.
	batchSize = 200
)

type fireFunc = func(ctx context.Context, s []watchers.Signal, save func(*store.Tx) error) error

// watch is one file watcher.
type watch struct {
	id   string
	cfg  settings
	deps watchers.Deps
	hub  *hub
	home string // Hob's own folder: its changes would feed on themselves
}

// run is one life of a watch; it belongs to the goroutine of Run.
type run struct {
	*watch
	sub     *sub
	fire    fireFunc
	prog    progress
	root    os.FileInfo         // the watched place at the last scan, nil when it was not there
	real    string              // cfg.root with links resolved; what the system reports lies below it
	pending map[string]*pending // by path relative to root
	due     time.Time           // no pending file is due before; zero when there is none
	rescan  time.Time           // when to look at everything; zero for never
	scanned time.Time
	took    time.Duration
	poll    bool // the system's notices are not enough
	told    map[string]bool
}

// pending is a file that may have changed and has to get quiet first.
type pending struct {
	stamp   stamp
	gone    bool
	changed time.Time // last change that was noticed
	first   time.Time // first one: waiting since
	at      time.Time // look again
}

// Run implements watchers.Watcher.
func (w *watch) Run(ctx context.Context, fire func(ctx context.Context, s []watchers.Signal, save func(*store.Tx) error) error) error {
	r := &run{
		watch: w, fire: fire, sub: w.hub.join(), real: w.cfg.root,
		pending: map[string]*pending{}, told: map[string]bool{}, rescan: time.Now(),
	}
	defer w.hub.leave(r.sub)
	var err error
	if r.prog, err = w.progress(ctx); err == nil {
		err = r.loop(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (r *run) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.sub.wake:
			r.hear(ctx)
		case <-timer.C:
		}
		if err := r.step(ctx); err != nil {
			return err
		}
		if timer.Stop(); !r.due.IsZero() || !r.rescan.IsZero() {
			timer.Reset(max(time.Until(earlier(r.due, r.rescan)), 0))
		}
	}
}

// step does what is due.
func (r *run) step(ctx context.Context) error {
	now := time.Now()
	if !r.rescan.IsZero() && !r.rescan.After(now) {
		if err := r.scan(ctx); err != nil {
			return err
		}
		now = time.Now()
	}
	if !r.due.IsZero() && !r.due.After(now) {
		return r.settle(ctx, now)
	}
	return nil
}

// hear takes the news of the hub.
func (r *run) hear(ctx context.Context) {
	n := r.sub.take()
	now := time.Now()
	if n.check && r.moved() {
		r.sub.lose(r.real)
		n.all = true
	}
	if n.all {
		r.later(now, rescanDelay)
		return
	}
	for path := range n.paths {
		r.touch(ctx, path, now)
	}
}

// moved reports whether the watched place is another one than at the last scan.
func (r *run) moved() bool {
	fi, err := os.Stat(r.cfg.root)
	switch {
	case err != nil:
		return r.root != nil
	case r.root == nil:
		return true
	}
	return r.root.IsDir() != fi.IsDir() || (fi.IsDir() && !os.SameFile(fi, r.root))
}

// later plans a look at everything, not so often that scanning is all it does.
func (r *run) later(now time.Time, delay time.Duration) {
	at := now.Add(delay)
	if least := r.scanned.Add(10 * r.took); !r.scanned.IsZero() && least.After(at) {
		at = least
	}
	r.rescan = earlier(r.rescan, at)
}

// touch looks at one path the system reported.
func (r *run) touch(ctx context.Context, path string, now time.Time) {
	if r.root == nil || !r.root.IsDir() {
		if _, up := below(path, r.real); up { // the place itself, or a folder above it
			if r.root == nil || path != r.real {
				r.later(now, 0)
				return
			}
			r.touchFile(".", now)
		}
		return
	}
	rel, in := below(r.real, path)
	switch {
	case !in:
		return
	case rel == ".":
		r.later(now, rescanDelay)
		return
	case r.outside(rel):
		return
	}
	fi, err := os.Lstat(path)
	if err == nil && fi.IsDir() {
		if r.cfg.recursive && r.enter(path, fi.Name()) {
			r.found(ctx, path, rel, now)
		}
		return
	}
	if r.cfg.match(filepath.Base(path)) {
		r.touchFile(rel, now)
	}
}

// outside reports whether rel lies in a folder that is not watched.
func (r *run) outside(rel string) bool {
	dir := filepath.Dir(rel)
	if dir == "." {
		return false
	}
	if !r.cfg.recursive {
		return true
	}
	for ; dir != "."; dir = filepath.Dir(dir) {
		if ignored(fold(filepath.Base(dir))) {
			return true
		}
	}
	return false
}

// touchFile makes a file wait until it is quiet.
func (r *run) touchFile(rel string, now time.Time) {
	s, state := r.look(rel)
	if state == unknown {
		return
	}
	r.wait(rel, s, state == gone, now)
}

func (r *run) wait(rel string, s stamp, isGone bool, now time.Time) {
	rel = rowKey(rel)
	p, ok := r.pending[rel]
	if !ok {
		p = &pending{first: now}
		r.pending[rel] = p
	}
	p.stamp, p.gone, p.changed = s, isGone, now
	next, limit := p.calm(), p.first.Add(patience)
	if next.After(limit) { // look all the same: judge knows whether it may stay restless
		next = limit
		if !now.Before(limit) {
			next = now.Add(quiet)
			if p.at.After(now) && p.at.Before(next) {
				next = p.at
			}
		}
	}
	p.at = next
	r.due = earlier(r.due, p.at)
}

// calm is when the file will have been quiet for long enough.
func (p *pending) calm() time.Time {
	if p.gone {
		return p.changed.Add(quietGone)
	}
	return p.changed.Add(quiet)
}

// presence is what a look at a path gave.
type presence int

const (
	unknown presence = iota // it could not be seen, or is not a file
	there
	gone
)

// path is where a file lies; "." is the root itself.
func (r *run) path(rel string) string { return filepath.Join(r.real, rel) }

// look says what is at a path. A file is gone only when the folder that held
// it can be seen: a disk that was taken away removes nothing.
func (r *run) look(rel string) (stamp, presence) {
	path := r.path(rel)
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.Mode().IsRegular():
		return stampOf(fi), there
	case err == nil:
		return stamp{}, gone // a folder or a device took its name
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return stamp{}, unknown
	}
	base := r.real
	if rel == "." {
		base = filepath.Dir(r.real)
	}
	if fi, err := os.Stat(base); err != nil || !fi.IsDir() {
		return stamp{}, unknown
	}
	return stamp{}, gone
}

// earlier is the earlier of two times, of which a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
