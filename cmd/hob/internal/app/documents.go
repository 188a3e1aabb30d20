package app

import (
	"context"
	"slices"

	"hob/autonomy/agents"
	"hob/autonomy/guard/clients"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/mind/consolidate"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/trace"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/autonomy/usage"
	channelsall "hob/channels/all"
	"hob/channels/web/a2aserver"
	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/platform/host/browser"
	"hob/platform/store/erase"
	"hob/platform/text/document"
	toolsall "hob/tools/all"
	"hob/tools/files"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// openDocuments creates the document import and the synchronization of folders. Both may read the
// allowed folders and those in [knowledge] folders.
func (d *App) openDocuments() error {
	c, k := d.opt.Config.Files, d.opt.Config.Knowledge
	reach, err := d.openFolders(slices.Concat(c.Allowed, []string{c.Drop}, k.Folders))
	if err != nil {
		return err
	}
	pictures, err := d.openDescriber()
	if err != nil {
		return err
	}
	o := ingest.Options{
		Base: d.base, Store: d.store, Files: reach, Open: func(folders []string) (ingest.Files, error) { return d.openFolders(folders) }, Limits: document.Limits{File: k.MaxFile.Bytes, Helper: d.opt.Reader}, ChunkSize: k.ChunkSize, ChunkOverlap: k.ChunkOverlap, Log: d.opt.Log,
		Entities: d.graph,
	}
	if pictures != nil {
		o.Pictures = pictures
	}
	if d.documents, err = ingest.New(o); err != nil {
		return err
	}
	d.folders, err = ingest.NewSync(ingest.SyncOptions{
		Library: d.documents, Folders: ingest.ResolveFolders(k.Folders, d.opt.UserHome), Driver: watchersall.Folders(),
		Deps: watchers.Deps{
			Store: d.store, Log: d.opt.Log, Zone: d.zone, AllowedRead: d.files.Watchable,
			Trouble: func(ctx context.Context, _ string, err error) {
				d.opt.Log.WarnContext(ctx, "document folder cannot be watched; changes are found later", "err", err)
			},
		},
		Within: files.Reached, Show: d.files.Show, Log: d.opt.Log,
		Tell: func(ctx context.Context, key, text string) {
			if err := d.intake.Notify(ctx, key, text); err != nil {
				d.opt.Log.ErrorContext(ctx, "cannot notify the user about documents", "err", err)
			}
		},
	})
	return err
}

// openFolders returns access to the files in the allowed folders.
func (d *App) openFolders(allowed []string) (*files.Files, error) {
	return files.New(files.Options{
		Allowed: allowed, Trusted: d.opt.Config.Files.Trusted, Home: d.opt.UserHome, Store: d.store, Protected: channelsall.ProtectedPaths(d.opt.Paths, d.opt.Config), MaxFile: d.opt.Config.Knowledge.MaxFile.Bytes,
	})
}

// openErasing creates the service that executes erasures.
func (d *App) openErasing() {
	d.erasing = knowledge.NewErasing(d.store, knowledge.ErasingOptions{
		Erasers: d.listErasers, Running: d.bus.Inbox.Running, Renew: d.store.RenewBackups, Tombstones: d.guard.Tombstones(), Log: d.opt.Log,
	})
}

// listErasers returns the erasers of all packages that store text. A test fails if a table has no
// eraser. Indexes derived from the knowledge come last.
func (d *App) listErasers() []erase.Eraser {
	out := []erase.Eraser{
		d.memoryFiles.Eraser(), d.sessions.Eraser(d.base), d.base.Eraser(), d.bus.Eraser(), d.guard.Eraser(d.bus.Inbox.ResumeTx), prompt.Eraser(), d.learner.Eraser(), d.extractor.Eraser(), consolidate.Eraser(), d.graph.Eraser(), agents.Eraser(), goals.Eraser(), notify.Eraser(),
		trace.Eraser(), usage.Eraser(), modelrouter.Eraser(), pairing.Eraser(), clients.Eraser(), a2aserver.Eraser(), d.watchers.Eraser(), d.results.Eraser(), d.documents.Eraser(),
	}
	out = append(out, watchers.Erasers(watchersall.Drivers())...)
	out = append(out, toolsall.Erasers(d.files)...)
	out = append(out, knowledge.HomeEraser(d.opt.Paths, d.forgetPages, d.opt.Log), d.index.Eraser())
	if d.vectors != nil {
		out = append(out, d.vectors.Eraser())
	}
	return out
}

// forgetPages deletes data about pages from the browser profile.
func (d *App) forgetPages(all bool) error {
	return browser.ForgetPages(d.browser, d.opt.Paths.Browser(), all)
}
