package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hob/platform/store"
)

// maxDirs is the maximum number of folders per watcher.
const maxDirs = 20_000

// scan is the state of one full scan.
type scan struct {
	r     *run
	dirs  map[string]struct{} // absolute paths of the watched folders
	blind []string            // relative paths of folders that could not be read
	fresh bool                // true if the scan takes the baseline
	rows  map[string]stamp    // known files that the scan has not found yet
	base  []entry             // files for the baseline
	now   time.Time
}

type entry struct {
	rel   string
	stamp stamp
}

// scanAll compares all files with the known files. Files that differ become pending. The first scan
// of a watcher records all files as known instead.
func (r *run) scanAll(ctx context.Context) error {
	started := time.Now()
	r.rescan, r.poll = time.Time{}, false
	s := &scan{r: r, dirs: map[string]struct{}{}, fresh: !r.prog.baseline, now: started}
	var err error
	if s.rows, err = r.knownFiles(ctx, nil); err != nil {
		return err
	}
	present, err := s.scanRoot(ctx)
	if err != nil {
		return err
	}
	if s.fresh {
		if err := s.flushKnown(ctx, true); err != nil {
			return err
		}
	} else {
		s.markMissing(present)
	}
	r.sub.keepOnly(s.dirs)
	r.scanned, r.took = time.Now(), time.Since(started)
	if r.poll || len(s.blind) > 0 {
		r.scheduleScan(r.scanned, pollEvery)
	}
	return nil
}

// scanRoot scans the root. It returns false if the root does not exist.
func (s *scan) scanRoot(ctx context.Context) (bool, error) {
	r := s.r
	r.real = r.cfg.root
	if real, err := filepath.EvalSymlinks(r.cfg.root); err == nil {
		r.real = real
	}
	fi, err := os.Stat(r.real)
	r.root = fi
	if err != nil {
		r.root = nil
	}
	r.sub.setRoot(r.root)
	if err != nil {
		s.awaitRoot(ctx, err)
		return false, nil
	}
	r.poll = isRemote(r.real)
	if !fi.IsDir() {
		s.watchDir(ctx, filepath.Dir(r.real))
		// read the file's state again, because it may have changed before the watch started
		if fi, err := os.Stat(r.real); err == nil && fi.Mode().IsRegular() {
			return true, s.scanFile(ctx, ".", stampOf(fi))
		}
		return true, nil
	}
	return true, s.walkDirs(ctx, r.real, "")
}

// awaitRoot watches the nearest existing parent folder of a missing root.
func (s *scan) awaitRoot(ctx context.Context, cause error) {
	if !errors.Is(cause, fs.ErrNotExist) {
		s.markUnreadable(ctx, "", cause)
	}
	for dir := filepath.Dir(s.r.real); ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			// append the missing part of the path to the target of the links
			if rest, ok := relativeTo(dir, s.r.real); ok {
				s.r.real = filepath.Join(real, rest)
			}
			s.watchDir(ctx, real)
			if _, err := os.Stat(s.r.real); err == nil { // the root was created in the meantime
				s.r.scheduleScan(s.now, 0)
			}
			return
		}
		if dir == filepath.Dir(dir) {
			s.r.poll = true
			return
		}
	}
}

// walkDirs scans a folder and its subfolders. It watches each folder before it reads the folder, so
// that it misses no change in between.
func (s *scan) walkDirs(ctx context.Context, dir, rel string) error {
	stack := []entry{{rel: rel}}
	for len(stack) > 0 {
		at := stack[len(stack)-1].rel
		stack = stack[:len(stack)-1]
		if len(s.dirs) >= maxDirs {
			s.r.reportOnce(ctx, fmt.Errorf("more than %d folders are below %s, so some of them are not watched; watch a smaller folder", maxDirs, tildePath(s.r.cfg.root)))
			s.blind = append(s.blind, at)
			continue
		}
		abs := filepath.Join(dir, strings.TrimPrefix(at, rel))
		s.watchDir(ctx, abs)
		more, err := s.readDir(ctx, abs, at)
		if err != nil {
			return err
		}
		for _, m := range more {
			stack = append(stack, entry{rel: m})
		}
	}
	return nil
}

// readDir scans one folder and returns its subfolders to scan.
func (s *scan) readDir(ctx context.Context, abs, rel string) (dirs []string, err error) {
	d, err := os.Open(abs)
	if err != nil {
		s.markUnreadable(ctx, rel, err)
		return nil, nil
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(1024)
		for _, e := range list {
			name := filepath.Join(rel, e.Name())
			if e.IsDir() {
				if s.r.cfg.recursive && s.r.mayEnter(filepath.Join(abs, e.Name()), e.Name()) {
					dirs = append(dirs, name)
				}
				continue
			}
			if err := s.scanEntry(ctx, filepath.Join(abs, e.Name()), name, e); err != nil {
				return nil, err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, io.EOF):
			return dirs, nil
		case err != nil:
			s.markUnreadable(ctx, rel, err)
			return dirs, nil
		}
	}
}

func (s *scan) scanEntry(ctx context.Context, abs, rel string, e fs.DirEntry) error {
	if !s.r.cfg.matchesName(e.Name()) || (!e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0) {
		return nil
	}
	fi, err := os.Stat(abs) // Stat follows links, so a link to a file is treated like the file
	if err != nil || !fi.Mode().IsRegular() {
		return nil // deleted since, or a link to a folder or to a missing file
	}
	return s.scanFile(ctx, rel, stampOf(fi))
}

// scanFile compares one file with its known state.
func (s *scan) scanFile(ctx context.Context, rel string, now stamp) error {
	before, known := s.rows[rowKey(rel)]
	delete(s.rows, rowKey(rel))
	changed := time.Unix(0, now.mtime)
	switch {
	case known && before == now:
	case !s.fresh || (!known && !changed.Before(s.r.prog.since) && !changed.After(s.now)):
		s.r.addPending(rel, now, s.now)
	default:
		s.base = append(s.base, entry{rel, now})
		if len(s.base) >= 5*batchSize {
			return s.flushKnown(ctx, false)
		}
	}
	return nil
}

// addPending makes a file pending unless it already is.
func (r *run) addPending(rel string, st stamp, now time.Time) {
	if p, ok := r.pending[rel]; !ok || p.gone {
		r.waitQuiet(rel, st, false, now)
	}
}

// flushKnown records files as known. If last is set, it also marks the baseline as complete.
func (s *scan) flushKnown(ctx context.Context, last bool) error {
	p := s.r.prog
	p.baseline = last
	err := s.r.fire(ctx, nil, func(tx *store.Tx) error {
		for _, e := range s.base {
			if err := putRow(tx, s.r.id, e.rel, e.stamp); err != nil {
				return err
			}
		}
		return p.saveProgress(tx, s.r.id)
	})
	if err != nil {
		return err
	}
	s.r.prog = p
	s.base = s.base[:0]
	return nil
}

// markMissing makes the known files pending that the scan did not find, except in unreadable
// folders. If the root does not exist, markMissing does this only for a watched single file,
// because a folder may be on a removed disk.
func (s *scan) markMissing(present bool) {
	for rel := range s.rows {
		hidden := !present && rel != "."
		for _, b := range s.blind {
			if _, in := relativeTo(b, rel); b == "" || in {
				hidden = true
			}
		}
		if p, ok := s.r.pending[rel]; !hidden && (!ok || !p.gone) {
			s.r.waitQuiet(rel, stamp{}, true, s.now)
		}
	}
}

// scanNewDir scans a folder that was created below the root.
func (r *run) scanNewDir(ctx context.Context, abs, rel string, now time.Time) {
	// rows is empty, so all files become pending. checkPending compares them with the database.
	s := &scan{r: r, dirs: map[string]struct{}{}, rows: map[string]stamp{}, now: now}
	_ = s.walkDirs(ctx, abs, rel) // returns an error only when ctx ends
	if r.poll || len(s.blind) > 0 {
		r.scheduleScan(now, pollEvery)
	}
}

// mayEnter reports whether a folder below the root must be scanned.
func (r *run) mayEnter(abs, name string) bool {
	if isIgnored(foldName(name)) || isVirtual(abs) {
		return false
	}
	return name != filepath.Base(r.home) || !samePlace(abs, r.home)
}

// watchDir requests notifications for a folder. If that fails, the watcher uses periodic scans.
func (s *scan) watchDir(ctx context.Context, dir string) {
	s.dirs[dir] = struct{}{}
	err := s.r.sub.watchDir(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.r.poll = true
	if errors.Is(err, fs.ErrPermission) {
		return // the error is reported when the folder is read
	}
	remedy := ""
	if runtime.GOOS == "linux" && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE)) {
		remedy = "; for immediate notices, raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl"
	}
	s.r.reportOnce(ctx, fmt.Errorf("the system reports no changes in %s, so I check this folder every %s%s: %w", tildePath(dir), pollEvery, remedy, err))
}

func (s *scan) markUnreadable(ctx context.Context, rel string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // the folder was deleted; the scan of its parent reports the deletion
	}
	s.blind = append(s.blind, rel)
	s.r.reportOnce(ctx, fmt.Errorf("cannot read %s, so I miss changes in this folder; allow Hob to read the folder: %w", tildePath(s.r.absPath(rel)), err))
}

// reportOnce reports an error that does not stop the watcher. It reports each kind of error once.
func (r *run) reportOnce(ctx context.Context, err error) {
	if !r.told[err.Error()] {
		r.told[err.Error()] = true
		r.deps.Trouble(ctx, r.id, err)
	}
}
