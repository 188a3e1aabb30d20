package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hob/platform/store"
	"hob/watchers"
)

// Intervals of a watcher.
const (
	// quiet is the time for which a file must be unchanged before it is reported.
	quiet = 500 * time.Millisecond
	// quietGone is the time for which a file must be missing before it counts as removed, because
	// some programs delete a file and write it again.
	quietGone = time.Second
	// quietPartial is the interval between checks of a file while an unfinished download of the
	// same name exists.
	quietPartial = 5 * time.Second
	// patience is the time after which a known file that changes continuously, such as a log, is
	// reported anyway.
	patience = time.Minute
	// coalesce is the shortest interval between two checks of the pending files.
	coalesce = 50 * time.Millisecond
	// rescanDelay is the delay of a full scan, during which a burst of changes can end.
	rescanDelay = 200 * time.Millisecond
	// pollEvery is the scan interval if the system provides no notifications.
	pollEvery = 30 * time.Second
	// batchSize is the number of files per commit.
	batchSize = 200
)

type fireFunc = func(ctx context.Context, s []watchers.Signal, save func(*store.Tx) error) error

// watch is one file watcher.
type watch struct {
	id   string
	cfg  settings
	deps watchers.Deps
	hub  *hub
	home string // Hob's own folder, which is excluded because its changes would cause more changes
}

// run is the state of one call of Run. Only the goroutine of Run uses it.
type run struct {
	*watch
	sub     *sub
	fire    fireFunc
	prog    progress
	root    os.FileInfo         // the root at the last scan, nil if it did not exist
	real    string              // cfg.root with all links resolved; system events contain paths below it
	pending map[string]*pending // pending files by their path relative to root
	due     time.Time           // earliest due time of the pending files; zero if no file is pending
	rescan  time.Time           // time of the next full scan; zero if none is scheduled
	scanned time.Time
	took    time.Duration
	poll    bool // notifications are incomplete, so scan periodically
	told    map[string]bool
}

// pending is a file that may have changed. It is reported when it has been unchanged for long
// enough.
type pending struct {
	stamp   stamp
	gone    bool
	changed time.Time // last detected change
	first   time.Time // time of the first detected change
	at      time.Time // time of the next check
}

// Run implements watchers.Watcher.
func (w *watch) Run(ctx context.Context, fire func(ctx context.Context, s []watchers.Signal, save func(*store.Tx) error) error) error {
	r := &run{
		watch: w, fire: fire, sub: w.hub.joinHub(w.cfg.root), real: w.cfg.root,
		pending: map[string]*pending{}, told: map[string]bool{}, rescan: time.Now(),
	}
	defer w.hub.leaveHub(r.sub)
	var err error
	if r.prog, err = w.readProgress(ctx); err == nil {
		err = r.runLoop(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (r *run) runLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.sub.wake:
			r.handleNews(ctx)
		case <-timer.C:
		}
		if err := r.runDue(ctx); err != nil {
			return err
		}
		if timer.Stop(); !r.due.IsZero() || !r.rescan.IsZero() {
			timer.Reset(max(time.Until(earlierTime(r.due, r.rescan)), 0))
		}
	}
}

// runDue runs the due work.
func (r *run) runDue(ctx context.Context) error {
	now := time.Now()
	if !r.rescan.IsZero() && !r.rescan.After(now) {
		if err := r.scanAll(ctx); err != nil {
			return err
		}
		now = time.Now()
	}
	if !r.due.IsZero() && !r.due.After(now) {
		return r.reportQuiet(ctx, now)
	}
	return nil
}

// handleNews processes the changes reported by the hub.
func (r *run) handleNews(ctx context.Context) {
	n := r.sub.takeNews()
	now := time.Now()
	if n.check && (rootState{r.cfg.root, r.root}).hasMoved() {
		r.sub.loseDir(r.real)
		n.all = true
	}
	if n.all {
		r.scheduleScan(now, rescanDelay)
		return
	}
	for path := range n.paths {
		r.touchPath(ctx, path, now)
	}
}

// scheduleScan schedules a full scan. It limits the frequency of scans, so that the watcher does
// not scan all the time.
func (r *run) scheduleScan(now time.Time, delay time.Duration) {
	at := now.Add(delay)
	if least := r.scanned.Add(10 * r.took); !r.scanned.IsZero() && least.After(at) {
		at = least
	}
	r.rescan = earlierTime(r.rescan, at)
}

// touchPath checks one path that the system reported.
func (r *run) touchPath(ctx context.Context, path string, now time.Time) {
	if r.root == nil || !r.root.IsDir() {
		if _, up := relativeTo(path, r.real); up { // the path is the root itself or a folder above it
			if r.root == nil || path != r.real {
				r.scheduleScan(now, 0)
				return
			}
			r.touchFile(".", now)
		}
		return
	}
	rel, in := relativeTo(r.real, path)
	switch {
	case !in:
		return
	case rel == ".":
		r.scheduleScan(now, rescanDelay)
		return
	case r.isOutside(rel):
		return
	}
	fi, err := os.Lstat(path)
	if err == nil && fi.IsDir() {
		if r.cfg.recursive && r.mayEnter(path, fi.Name()) {
			r.scanNewDir(ctx, path, rel, now)
		}
		return
	}
	if r.cfg.matchesName(filepath.Base(path)) {
		r.touchFile(rel, now)
	}
}

// isOutside reports whether rel is in a folder that is not watched.
func (r *run) isOutside(rel string) bool {
	dir := filepath.Dir(rel)
	if dir == "." {
		return false
	}
	if !r.cfg.recursive {
		return true
	}
	for ; dir != "."; dir = filepath.Dir(dir) {
		if isIgnored(foldName(filepath.Base(dir))) {
			return true
		}
	}
	return false
}

// touchFile makes a file pending until it has been unchanged for long enough.
func (r *run) touchFile(rel string, now time.Time) {
	s, state := r.statFile(rel)
	if state == unknown {
		return
	}
	r.waitQuiet(rel, s, state == gone, now)
}

func (r *run) waitQuiet(rel string, s stamp, isGone bool, now time.Time) {
	rel = rowKey(rel)
	p, ok := r.pending[rel]
	if !ok {
		p = &pending{first: now}
		r.pending[rel] = p
	}
	p.stamp, p.gone, p.changed = s, isGone, now
	next, limit := p.quietAt(), p.first.Add(patience)
	if next.After(limit) { // check at the limit anyway, because checkPending reports a known file that changes continuously
		next = limit
		if !now.Before(limit) {
			next = now.Add(quiet)
			if p.at.After(now) && p.at.Before(next) {
				next = p.at
			}
		}
	}
	p.at = next
	r.due = earlierTime(r.due, p.at)
}

// quietAt returns the time at which the file will have been unchanged for long enough.
func (p *pending) quietAt() time.Time {
	if p.gone {
		return p.changed.Add(quietGone)
	}
	return p.changed.Add(quiet)
}

// presence is the result of checking a path.
type presence int

const (
	unknown presence = iota // the item is not visible, or is not a file
	there
	gone
)

// absPath returns the absolute path of a file; "." is the root itself.
func (r *run) absPath(rel string) string { return filepath.Join(r.real, rel) }

// statFile returns the state of the file at a path. It reports a file as gone only if its folder is
// readable, so that a removed disk does not remove files.
func (r *run) statFile(rel string) (stamp, presence) {
	path := r.absPath(rel)
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.Mode().IsRegular():
		return stampOf(fi), there
	case err == nil:
		return stamp{}, gone // the path is now a folder or a device
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

// earlierTime returns the earlier of two times. It ignores zero times.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
