package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/watchers"
)

// SyncOptions of NewSync.
type SyncOptions struct {
	Library *Library // required
	// Folders of the configuration, absolute.
	Folders []string
	// Driver notices changes in folders (the kind "file"); Deps are what it may
	// use.
	Driver watchers.Driver
	Deps   watchers.Deps
	// Within reports whether a file is one that a walk through the folder would
	// come to.
	Within func(folder, path string) bool
	// Tell tells the owner something once for each key.
	Tell func(ctx context.Context, key, text string)
	// Show writes a path for the owner.
	Show func(path string) string
	Log  *slog.Logger
}

// Sync keeps folders in step with the library.
type Sync struct {
	opt  SyncOptions
	wake chan struct{}

	mu      sync.Mutex
	running map[Folder]context.CancelFunc
}

// NewSync checks the options.
func NewSync(opt SyncOptions) (*Sync, error) {
	if opt.Library == nil || opt.Driver == nil {
		return nil, errors.New("ingest: a library and a driver are required")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Sync{opt: opt, wake: make(chan struct{}, 1), running: map[Folder]context.CancelFunc{}}, nil
}

// Wake says that the folders have changed.
func (s *Sync) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run keeps all folders in step until ctx ends.
func (s *Sync) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		want, err := s.folders(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		s.mu.Lock()
		for f, cancel := range s.running {
			if !want[f] {
				cancel()
				delete(s.running, f)
			}
		}
		for f := range want {
			if s.running[f] != nil {
				continue
			}
			fctx, cancel := context.WithCancel(ctx)
			s.running[f] = cancel
			wg.Go(func() { s.keep(fctx, f) })
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			s.mu.Lock()
			for _, cancel := range s.running {
				cancel()
			}
			s.mu.Unlock()
			return nil
		case <-s.wake:
		}
	}
}

func (s *Sync) folders(ctx context.Context) (map[Folder]bool, error) {
	out := map[Folder]bool{}
	for _, p := range s.opt.Folders {
		out[Folder{Path: p}] = true
	}
	more, err := s.opt.Library.Folders(ctx)
	for _, f := range more {
		out[f] = true
	}
	return out, err
}

// Pauses after something went wrong.
const (
	againAfter = 30 * time.Second
	goneAfter  = 5 * time.Minute
	laterAfter = 15 * time.Minute // with what may be read although it has not changed
)

// keep watches one folder. It is watched before it is looked through, so that
// nothing falls in between; what came while nobody watched is found by the look.
func (s *Sync) keep(ctx context.Context, f Folder) {
	news := &news{wake: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.watch(ctx, f, news) })
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		var paths []string
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			news.take()
		case <-news.wake:
			if paths = news.take(); len(paths) == 0 {
				continue
			}
		}
		r, err := s.look(ctx, f, paths)
		if ctx.Err() != nil {
			return
		}
		s.told(ctx, f, r)
		switch {
		case errors.Is(err, ErrFolderGone):
			s.tell(ctx, "gone:"+f.Path, "The folder "+s.show(f.Path)+" is not there, or empty. What I took in from it is kept; when it is back, it is brought in step.")
			next.Reset(goneAfter)
		case err != nil:
			s.opt.Log.WarnContext(ctx, "a folder cannot be brought in step", "err", err)
			next.Reset(againAfter)
		case len(r.later) > 0:
			next.Reset(laterAfter)
		}
	}
}

func (s *Sync) look(ctx context.Context, f Folder, paths []string) (Report, error) {
	if paths == nil {
		return s.opt.Library.Reconcile(ctx, f, nil)
	}
	var within []string
	for _, p := range paths {
		if s.opt.Within == nil || s.opt.Within(f.Path, p) {
			within = append(within, p)
		}
	}
	return s.opt.Library.Changed(ctx, f, within)
}

// told tells the owner of files that cannot be read, without their names: these
// are somebody else's words. Of those that are tried again nothing is said.
func (s *Sync) told(ctx context.Context, f Folder, r Report) {
	n := 0
	sum := sha256.New()
	for _, x := range r.Skipped {
		if x.Name != f.Path && !r.later[x.Name] {
			n++
			sum.Write([]byte(x.Name + "\x00" + x.Reason + "\x00"))
		}
	}
	if n == 0 {
		return
	}
	what := "1 file"
	if n > 1 {
		what = fmt.Sprintf("%d files", n)
	}
	s.tell(ctx, "skipped:"+hex.EncodeToString(sum.Sum(nil)[:8]), what+" in "+s.show(f.Path)+" cannot be taken in; which and why says: hob memory documents")
}

func (s *Sync) tell(ctx context.Context, key, text string) {
	if s.opt.Tell != nil {
		s.opt.Tell(ctx, "documents:"+key, text)
	}
}

func (s *Sync) show(path string) string {
	if s.opt.Show != nil {
		return s.opt.Show(path)
	}
	return path
}

// watch has the driver notice changes until ctx ends.
func (s *Sync) watch(ctx context.Context, f Folder, n *news) {
	config, err := json.Marshal(map[string]any{"path": f.Path, "recursive": true, "events": []string{"created", "modified", "removed"}})
	if err != nil { // texts always encode
		panic(err)
	}
	spec := watchers.Spec{ID: watcherID(f), Kind: s.opt.Driver.Kind(), Config: config, State: watchers.Active}
	for {
		err := s.watchOnce(ctx, spec, n)
		if ctx.Err() != nil {
			return
		}
		s.opt.Log.WarnContext(ctx, "a folder of documents cannot be watched now", "err", err)
		t := time.NewTimer(againAfter)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
			n.add("") // look at everything: what happened meanwhile was not seen
		}
	}
}

func (s *Sync) watchOnce(ctx context.Context, spec watchers.Spec, n *news) error {
	made, err := s.opt.Driver.New(spec, s.opt.Deps)
	if err != nil {
		return err
	}
	w, ok := made.(watchers.Watcher)
	if !ok {
		return errors.New("ingest: the driver watches nothing")
	}
	return w.Run(ctx, func(ctx context.Context, signals []watchers.Signal, save func(*store.Tx) error) error {
		if err := s.opt.Deps.Store.Write(ctx, save); err != nil {
			return err
		}
		for _, sig := range signals {
			var p struct {
				Path string `json:"path"`
				Raw  []byte `json:"path_base64"`
			}
			if json.Unmarshal(sig.Payload, &p) == nil {
				if p.Raw != nil {
					p.Path = string(p.Raw)
				}
				n.add(p.Path)
			}
		}
		return nil
	})
}

// watcherID names the progress of a folder's watcher.
func watcherID(f Folder) string {
	sum := sha256.Sum256([]byte(f.Realm + "\x00" + f.Path))
	return "documents-" + hex.EncodeToString(sum[:8])
}

// news are the paths that were reported.
type news struct {
	wake chan struct{}

	mu    sync.Mutex
	paths []string
}

// maxNews is how many paths wait; beyond them everything is looked at.
const maxNews = 5000

func (n *news) add(path string) {
	n.mu.Lock()
	if path != "" && len(n.paths) < maxNews {
		n.paths = append(n.paths, path)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.paths
	n.paths = nil
	return out
}
