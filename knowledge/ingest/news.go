package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/watchers"
)

// watch lets the driver report changes until ctx ends.
func (s *Sync) watch(ctx context.Context, f Folder, n *news) {
	config, err := json.Marshal(map[string]any{"path": f.Path, "recursive": true, "events": []string{"created", "modified", "removed"}})
	if err != nil { // encoding strings cannot fail
		panic(err)
	}
	spec := watchers.Spec{ID: watcherID(f), Kind: s.opt.Driver.Kind(), Config: config, State: watchers.Active}
	for {
		err := s.watchOnce(ctx, spec, n)
		if ctx.Err() != nil {
			return
		}
		s.opt.Log.WarnContext(ctx, "watching a document folder failed", "err", err)
		t := time.NewTimer(againAfter)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
			n.everything() // changes in the meantime were not seen
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
					n.everything()
					continue
				}
				n.add(p.Path)
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

// news collects the reported paths.
type news struct {
	wake chan struct{}

	mu    sync.Mutex
	paths []string
	all   bool // scan the whole folder
}

// maxNews is the maximum number of pending paths. Beyond it the whole folder is scanned.
const maxNews = 5000

func (n *news) add(path string) {
	n.mu.Lock()
	if n.paths = append(n.paths, path); len(n.paths) > maxNews {
		n.paths, n.all = nil, true
	}
	n.mu.Unlock()
	n.poke()
}

func (n *news) everything() {
	n.mu.Lock()
	n.paths, n.all = nil, true
	n.mu.Unlock()
	n.poke()
}

func (n *news) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *news) take() (paths []string, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	paths, all = n.paths, n.all
	n.paths, n.all = nil, false
	return paths, all
}
