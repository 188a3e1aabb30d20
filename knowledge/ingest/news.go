package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
	"hob/watchers"
)

// watchFolder runs the driver, which reports changes, until ctx ends.
func (s *Sync) watchFolder(ctx context.Context, f Folder, n *pendingPaths) {
	config, err := json.Marshal(map[string]any{"path": f.Path, "recursive": true, "events": []string{"created", "modified", "removed"}})
	if err != nil { // encoding strings cannot fail
		panic(err)
	}
	spec := watchers.Spec{ID: watcherID(f), Kind: s.opt.Driver.Describe().Kind, Config: config, State: watchers.Active}
	failed := false
	sup := retry.Supervisor{
		Backoff: retry.Backoff{First: againAfter, Max: againAfter},
		Failed: func(err error, delay time.Duration) (time.Duration, bool) {
			failed = true
			s.opt.Log.WarnContext(ctx, "watching a document folder failed", "err", err)
			return delay, true
		},
	}
	err = sup.Run(ctx, func(ctx context.Context) error { // Run returns an error only if the function panics after ctx ended
		if failed {
			n.markEverything() // changes since the failure were not reported, so scan everything
		}
		return cmp.Or(s.watchOnce(ctx, spec, n), errors.New("the watch stopped without an error"))
	})
	if err != nil {
		s.opt.Log.WarnContext(ctx, "watching a document folder failed", "err", err)
	}
}

func (s *Sync) watchOnce(ctx context.Context, spec watchers.Spec, n *pendingPaths) error {
	made, err := s.opt.Driver.New(spec, s.opt.Deps)
	if err != nil {
		return err
	}
	w, ok := made.(watchers.Watcher)
	if !ok {
		return errors.New("ingest: the driver cannot watch folders")
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
				if p.Path == "" {
					n.markEverything()
					continue
				}
				n.addPath(p.Path)
			}
		}
		return nil
	})
}

// watcherID returns the id of a folder's watcher, which identifies its saved state.
func watcherID(f Folder) string {
	sum := sha256.Sum256([]byte(f.Realm + "\x00" + f.Path))
	return "documents-" + hex.EncodeToString(sum[:8])
}

// pendingPaths collects the reported paths.
type pendingPaths struct {
	wake chan struct{}

	mu    sync.Mutex
	paths []string
	all   bool // scan the entire folder
}

// maxNews is the maximum number of pending paths. If there are more, the whole folder is scanned.
const maxNews = 5000

func (n *pendingPaths) addPath(path string) {
	n.mu.Lock()
	if n.paths = append(n.paths, path); len(n.paths) > maxNews {
		n.paths, n.all = nil, true
	}
	n.mu.Unlock()
	n.wakeSync()
}

func (n *pendingPaths) markEverything() {
	n.mu.Lock()
	n.paths, n.all = nil, true
	n.mu.Unlock()
	n.wakeSync()
}

func (n *pendingPaths) wakeSync() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *pendingPaths) takePending() (paths []string, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	paths, all = n.paths, n.all
	n.paths, n.all = nil, false
	return paths, all
}
