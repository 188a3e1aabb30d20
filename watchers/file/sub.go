package file

// sub is one watcher joined to the hub.
type sub struct {
	hub  *hub
	wake chan struct{} // capacity 1

	// Guarded by hub.mu.
	dirty  map[string]struct{}
	rescan bool
	check  bool
}

// watch makes changes in dir wake s.
func (s *sub) watch(dir string) error {
	h := s.hub
	h.ops.Lock()
	defer h.ops.Unlock()
	if !h.told {
		if err := h.open(); err != nil {
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
	err := h.afford(dir)
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
		h.unwatch(dir)
	}
}

// news describes changes: paths, everything, or possibly the root itself.
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

// lose marks dir as changed although the system reported nothing.
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
