package file

import "os"

// sub is one watcher that is registered with the hub.
type sub struct {
	hub  *hub
	wake chan struct{} // capacity 1

	// Guarded by hub.mu.
	dirty  map[string]struct{}
	rescan bool
	check  bool
	root   rootState
}

// rootState is the root of a watcher at its last scan.
type rootState struct {
	path string
	info os.FileInfo // nil if it did not exist
}

// hasMoved reports whether the root is no longer the same file or folder.
func (r rootState) hasMoved() bool {
	fi, err := os.Stat(r.path)
	switch {
	case err != nil:
		return r.info != nil
	case r.info == nil:
		return true
	}
	return r.info.IsDir() != fi.IsDir() || (fi.IsDir() && !os.SameFile(fi, r.info))
}

// setRoot records the root that a scan found.
func (s *sub) setRoot(info os.FileInfo) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.root.info = info
}

// watchDir subscribes s to changes in dir.
func (s *sub) watchDir(dir string) error {
	h := s.hub
	h.ops.Lock()
	defer h.ops.Unlock()
	if !h.told {
		if err := h.openNotify(); err != nil {
			return err
		}
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
	if watched || h.told {
		return nil
	}
	err := h.reserveEntries(dir)
	if err == nil {
		err = h.fs.Add(dir)
	}
	if err != nil {
		delete(h.cost, dir)
		h.mu.Lock()
		delete(h.dirs, dir)
		h.mu.Unlock()
		return err
	}
	return nil
}

// keepOnly ends the watches of s for folders that are not in dirs.
func (s *sub) keepOnly(dirs map[string]struct{}) {
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
		h.removeWatch(dir)
	}
}

// news describes reported changes: changed paths, a change of the complete tree, or a possible
// change of the root.
type news struct {
	paths map[string]struct{}
	all   bool
	check bool
}

// takeNews returns the changes since the last call.
func (s *sub) takeNews() news {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	n := news{s.dirty, s.rescan, s.check}
	s.dirty, s.rescan, s.check = map[string]struct{}{}, false, false
	return n
}

// loseDir marks dir as changed even though the system reported no change.
func (s *sub) loseDir(dir string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.markLost(dir)
	s.markAll()
}

// pushPath marks a path as changed. The caller holds hub.mu.
func (s *sub) pushPath(path string) {
	if s.dirty[path] = struct{}{}; len(s.dirty) > maxDirty {
		s.markAll()
		return
	}
	s.wakeRun()
}

// markAll marks the complete tree as changed. The caller holds hub.mu.
func (s *sub) markAll() {
	s.rescan = true
	clear(s.dirty)
	s.wakeRun()
}

// wakeCheck makes the watcher check its root. The caller holds hub.mu.
func (s *sub) wakeCheck() {
	s.check = true
	s.wakeRun()
}

func (s *sub) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
