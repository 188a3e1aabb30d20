package app

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hob/autonomy/agents"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/trace"
	agentbrain "hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/autonomy/usage"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/store/erase"
	toolsall "hob/tools/all"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// openErasing creates the service that executes erasures.
func (d *App) openErasing() {
	d.erasing = knowledge.NewErasing(d.store, knowledge.ErasingOptions{
		Erasers: d.listErasers, Running: d.bus.Inbox.Running, Renew: d.store.RenewBackups, Log: d.opt.Log,
	})
}

// listErasers returns the erasers of all packages that store text; a test fails if a table has
// none. Indexes derived from the knowledge come last.
func (d *App) listErasers() []erase.Eraser {
	out := []erase.Eraser{
		d.sessions.Eraser(d.base), d.base, d.bus.Eraser(), d.guard.Eraser(d.bus.Inbox.ResumeTx), prompt.Eraser(), d.learner.Eraser(), d.extractor.Eraser(), d.graph.Eraser(), agents.Eraser(), goals.Eraser(), notify.Eraser(),
		trace.Eraser(), usage.Eraser(), agentbrain.Eraser(), pairing.Eraser(), d.watchers.Eraser(), d.results.Eraser(),
		d.documents,
	}
	out = append(out, watchers.Erasers(watchersall.Drivers())...)
	out = append(out, toolsall.Erasers(d.files)...)
	out = append(out, erase.Owned{Files: d.eraseFiles}, d.index)
	if d.vectors != nil {
		out = append(out, d.vectors)
	}
	return out
}

// eraseFiles removes erased text from the files in Hob's own folders: the owner's texts for models,
// pictures, and the log, which should not contain any text.
func (d *App) eraseFiles(ctx context.Context, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	p := d.opt.Paths
	texts := []string{p.SoulFile(), p.UserFile(), p.MemoryFile(), p.AgentsFile()}
	more, err := filepath.Glob(filepath.Join(p.AgentDir("*"), "*.md"))
	if err != nil {
		return n, err
	}
	for _, path := range append(texts, more...) {
		m, err := erase.ScrubFile(path, s, system.WriteFile)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	m, err := erase.RemoveFiles(ctx, p.Pictures(), s)
	if err != nil {
		return n, err
	}
	n = n.Add(m)
	if m, err = erase.ScrubFiles(ctx, p.TemplatesDir(), s, system.WriteFile); err != nil { // includes the files saved before a template was applied
		return n, err
	}
	n = n.Add(m)
	if m, err = erase.ScrubFiles(ctx, p.Logs, s, inPlace); err != nil {
		return n, err
	}
	n = n.Add(m)
	if err := d.forgetPages(e); err != nil { //nolint:contextcheck // how a browser ends is its own affair
		return n, fmt.Errorf("delete browser data: %w", err)
	}
	d.reportKept(s)
	return n, nil
}

// inPlace rewrites a log in the same file, because the daemon keeps it open.
func inPlace(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }

// reportKept reports settings of the user that contain deleted text. They are not changed,
// because that could break a feature or allow a denied call.
func (d *App) reportKept(s *erase.Scrubber) {
	p := d.opt.Paths
	for _, root := range []string{p.ConfigFile(), p.PolicyDir()} {
		_ = filepath.WalkDir(root, func(path string, f fs.DirEntry, err error) error {
			if err != nil || !f.Type().IsRegular() {
				return nil //nolint:nilerr // what is not there holds nothing
			}
			if has, err := s.FileHas(path); err == nil && has {
				d.opt.Log.Warn("one of your settings files contains deleted text; it was not changed, remove the text yourself", "file", filepath.Base(path))
			}
			return nil
		})
	}
}
