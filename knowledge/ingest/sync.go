package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/watchers"
)

// SyncOptions configures NewSync.
type SyncOptions struct {
	Library *Library // required
	// Folders lists the absolute paths of the configured folders.
	Folders []string
	// Driver reports changes in folders (kind "file"). Deps are the driver's dependencies.
	Driver watchers.Driver
	Deps   watchers.Deps
	// Within reports whether a walk through the folder would visit the file.
	Within func(folder, path string) bool
	// Tell notifies the user once for each key.
	Tell func(ctx context.Context, key, text string)
	// Show formats a path for the user.
	Show func(path string) string
	Log  *slog.Logger
}

// Sync keeps folders in sync with the library.
type Sync struct {
	opt  SyncOptions
	wake chan struct{}

	mu      sync.Mutex
	running map[Folder]*folderSync
}

// folderSync is one folder that is being synced.
type folderSync struct {
	cancel context.CancelFunc
	done   chan struct{}
	news   *pendingPaths
}

// NewSync validates the options.
func NewSync(opt SyncOptions) (*Sync, error) {
	if opt.Library == nil || opt.Driver == nil {
		return nil, errors.New("ingest: options Library and Driver are required")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Sync{opt: opt, wake: make(chan struct{}, 1), running: map[Folder]*folderSync{}}, nil
}

// Wake signals that the list of folders has changed.
func (s *Sync) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run syncs all folders until ctx ends.
func (s *Sync) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if err := s.updateRunning(ctx, &wg); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
	}
}

// updateRunning starts and stops the goroutines of the folders. It reads the list of folders while
// it holds the lock. WaitStopped relies on this.
func (s *Sync) updateRunning(ctx context.Context, wg *sync.WaitGroup) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := s.configuredFolders(ctx)
	if err != nil {
		return err
	}
	for f, k := range s.running {
		if !want[f] {
			k.cancel()
			delete(s.running, f)
		}
	}
	for f := range want {
		if s.running[f] != nil {
			continue
		}
		fctx, cancel := context.WithCancel(ctx)
		k := &folderSync{cancel: cancel, done: make(chan struct{}), news: &pendingPaths{wake: make(chan struct{}, 1)}}
		s.running[f] = k
		wg.Go(func() {
			defer close(k.done)
			s.syncFolder(fctx, f, k.news)
		})
	}
	return nil
}

// IsConfigured reports whether a folder is in the configuration.
func (s *Sync) IsConfigured(f Folder) bool {
	return f.Realm == "" && slices.Contains(s.opt.Folders, f.Path)
}

// WaitStopped waits until a removed folder is no longer synced. After that, no file of the folder
// is ingested.
func (s *Sync) WaitStopped(ctx context.Context, f Folder) error {
	if s.IsConfigured(f) {
		return nil
	}
	s.mu.Lock()
	k := s.running[f]
	delete(s.running, f)
	s.mu.Unlock()
	if k == nil {
		return nil
	}
	k.cancel()
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RescanAll schedules a full scan of every folder.
func (s *Sync) RescanAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.running {
		k.news.markEverything()
	}
}

func (s *Sync) configuredFolders(ctx context.Context) (map[Folder]bool, error) {
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

// Delays after an error.
const (
	againAfter = 30 * time.Second
	goneAfter  = 5 * time.Minute
	laterAfter = 15 * time.Minute // delay before retrying files that failed for a temporary reason
)

// syncFolder syncs one folder. It starts to watch the folder before the scan, so that no change is
// missed. The scan finds earlier changes.
func (s *Sync) syncFolder(ctx context.Context, f Folder, news *pendingPaths) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.watchFolder(ctx, f, news) })
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		var paths []string
		all := false
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			news.takePending()
			all = true
		case <-news.wake:
			if paths, all = news.takePending(); len(paths) == 0 && !all {
				continue
			}
		}
		r, err := s.scanFolder(ctx, f, paths, all)
		if ctx.Err() != nil {
			return
		}
		s.reportSkipped(ctx, f, r)
		switch {
		case errors.Is(err, ErrFolderGone):
			s.notifyUser(ctx, "gone:"+f.Path, "The folder "+s.displayPath(f.Path)+" does not exist or is empty. I am keeping its documents and will sync it again when it is back.")
			next.Reset(goneAfter)
		case err != nil:
			s.opt.Log.WarnContext(ctx, "folder sync failed", "err", err)
			next.Reset(againAfter)
		case r.again:
			next.Reset(laterAfter)
		}
	}
}

func (s *Sync) scanFolder(ctx context.Context, f Folder, paths []string, all bool) (Report, error) {
	if all {
		return s.opt.Library.Reconcile(ctx, f, nil)
	}
	var within []string
	for _, p := range paths {
		if s.opt.Within == nil || s.opt.Within(f.Path, p) {
			within = append(within, p)
		}
	}
	return s.opt.Library.IngestChanged(ctx, f, within)
}

// reportSkipped notifies the user of files that could not be ingested. It does not mention their
// names, which are untrusted text, and does not count the files that are retried.
func (s *Sync) reportSkipped(ctx context.Context, f Folder, r Report) {
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
	s.notifyUser(ctx, "skipped:"+hex.EncodeToString(sum.Sum(nil)[:8]), what+" in "+s.displayPath(f.Path)+" could not be ingested; for details, run: hob memory documents")
}

func (s *Sync) notifyUser(ctx context.Context, key, text string) {
	if s.opt.Tell != nil {
		s.opt.Tell(ctx, "documents:"+key, text)
	}
}

func (s *Sync) displayPath(path string) string {
	if s.opt.Show != nil {
		return s.opt.Show(path)
	}
	return path
}
