package app

import (
	"context"
	"fmt"
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

// eraseFiles removes erased text from the files in Hob's own folders, and the browser's data.
func (d *App) eraseFiles(ctx context.Context, e *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
	p := d.opt.Paths
	n, err := erase.HomeFiles{
		Texts: []string{p.SoulFile(), p.UserFile(), p.MemoryFile(), p.AgentsFile()}, MoreTexts: filepath.Join(p.AgentDir("*"), "*.md"),
		Templates: p.TemplatesDir(), Pictures: p.Pictures(), Logs: p.Logs, Settings: []string{p.ConfigFile(), p.PolicyDir()},
		Write: system.WriteFile, Log: d.opt.Log,
	}.Erase(ctx, s)
	if err != nil {
		return n, err
	}
	if err := d.forgetPages(e); err != nil { //nolint:contextcheck // how a browser ends is its own affair
		return n, fmt.Errorf("delete browser data: %w", err)
	}
	return n, nil
}
