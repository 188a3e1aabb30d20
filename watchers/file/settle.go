package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// change is one file whose state differs from its known state.
type change struct {
	rel   string
	event string
	stamp stamp
}

// reportQuiet reports the pending files that have been unchanged for long enough.
func (r *run) reportQuiet(ctx context.Context, now time.Time) error {
	r.due = time.Time{}
	var ready []string
	for rel, p := range r.pending {
		if p.at.After(now) {
			r.due = earlierTime(r.due, p.at)
			continue
		}
		ready = append(ready, rel)
	}
	slices.Sort(ready)
	for batch := range slices.Chunk(ready, batchSize) {
		if err := r.commitBatch(ctx, batch, now); err != nil {
			return err
		}
	}
	if least := now.Add(coalesce); !r.due.IsZero() && r.due.Before(least) {
		r.due = least
	}
	return nil
}

// commitBatch commits one batch of quiet files.
func (r *run) commitBatch(ctx context.Context, rels []string, now time.Time) error {
	known, err := r.knownFiles(ctx, rels)
	if err != nil {
		return err
	}
	var changes []change
	var done []string
	for _, rel := range rels {
		before, isKnown := known[rowKey(rel)]
		c, ready := r.checkPending(rel, before, isKnown, now)
		if !ready {
			continue
		}
		done = append(done, rel)
		if c.event != "" {
			changes = append(changes, c)
		}
	}
	if err := r.commitChanges(ctx, changes, now); err != nil {
		return err
	}
	for _, rel := range done {
		delete(r.pending, rel)
	}
	return nil
}

// checkPending checks a pending file again. It returns ready = false if the file must wait longer.
// The change has no event if there is nothing to report.
func (r *run) checkPending(rel string, before stamp, known bool, now time.Time) (c change, ready bool) {
	p := r.pending[rel]
	s, state := r.statFile(rel)
	restless := state == there && known && now.Sub(p.first) >= patience
	switch {
	case state == unknown:
		return c, true // a later scan detects the file when it is visible again
	case (state == gone) != p.gone || (s != p.stamp && !restless):
		r.waitQuiet(rel, s, state == gone, now) // the file is still changing
		return c, false
	case p.quietAt().After(now) && !restless:
		p.at = p.quietAt()
		r.due = earlierTime(r.due, p.at)
		return c, false
	case state == there && !known && r.isDownloading(rel):
		p.at = now.Add(quietPartial)
		r.due = earlierTime(r.due, p.at)
		return c, false
	}
	c = change{rel: rel, stamp: s}
	switch {
	case state == there && !known:
		c.event = created
	case state == there && s != before:
		c.event = modified
	case state == gone && known:
		c.event, c.stamp = removed, before
	}
	return c, true
}

// isDownloading reports whether an unfinished download of this file exists in the same folder.
// During a download, Firefox reserves the final name with an empty file.
func (r *run) isDownloading(rel string) bool {
	for _, ending := range [...]string{".part", ".crdownload", ".partial"} {
		if _, err := os.Lstat(r.absPath(rel) + ending); err == nil {
			return true
		}
	}
	return false
}

// commitChanges fires the requested events and records all changes.
func (r *run) commitChanges(ctx context.Context, changes []change, now time.Time) error {
	if len(changes) == 0 {
		return nil
	}
	p := r.prog
	p.seq++
	var signals []watchers.Signal
	for _, c := range changes {
		if r.cfg.wantsEvent(c.event) {
			signals = append(signals, r.changeSignal(c, p.seq, now))
			continue
		}
		s := r.changeSignal(c, p.seq, now)
		r.deps.Pass(watchers.SuppressedSignal{
			Watcher: r.id, Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, At: now, Why: "you asked for files that were " + strings.Join(r.cfg.events, ", "),
		})
	}
	err := r.fire(ctx, signals, func(tx *store.Tx) error {
		for _, c := range changes {
			var err error
			if c.event == removed {
				err = deleteRow(tx, r.id, c.rel)
			} else {
				err = putRow(tx, r.id, c.rel, c.stamp)
			}
			if err != nil {
				return err
			}
		}
		return p.saveProgress(tx, r.id)
	})
	if err == nil {
		r.prog = p
	}
	return err
}

// payload is the JSON form of a signal.
type payload struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Event string `json:"event"`
	Size  int64  `json:"size"`
	// Raw is the path if the path is not valid UTF-8. Path contains only valid UTF-8.
	Raw []byte `json:"path_base64,omitempty"`
}

func (r *run) changeSignal(c change, seq int64, now time.Time) watchers.Signal {
	path := filepath.Join(r.cfg.root, c.rel)
	t := payload{Path: path, Name: filepath.Base(path), Event: c.event, Size: c.stamp.size}
	if !utf8.ValidString(path) {
		t.Raw = []byte(path)
	}
	raw, err := json.Marshal(t)
	if err != nil { // a programming error: payload holds strings and a number
		panic(fmt.Sprintf("file: payload: %v", err))
	}
	sum := sha256.Sum256([]byte(rowKey(c.rel)))
	return watchers.Signal{
		// The batch number makes the key differ if a file was removed and then restored unchanged.
		Key:  fmt.Sprintf("%s:%s:%d:%d:%d", c.event, hex.EncodeToString(sum[:12]), c.stamp.size, c.stamp.mtime, seq),
		Text: r.changeText(c), Payload: raw, Source: provenance.Outside, At: now,
	}
}

func (r *run) changeText(c change) string {
	if c.rel == "." {
		lead := map[string]string{created: "New file: ", modified: "Changed: ", removed: "Removed: "}
		return lead[c.event] + tildePath(r.cfg.root)
	}
	lead := map[string]string{created: "New file in ", modified: "Changed file in ", removed: "Removed from "}
	return lead[c.event] + tildePath(r.cfg.root) + ": " + plainText(c.rel)
}
