package app

import (
	"context"
	"slices"

	"hob/knowledge/ingest"
	"hob/platform/text/document"
	"hob/tools/files"
	"hob/watchers"
	watchersall "hob/watchers/all"
	"hob/watchers/file"
)

// openDocuments creates the document import and the synchronization of folders. It may read the
// allowed folders and those of [knowledge] folders.
func (d *App) openDocuments() error {
	c, k := d.opt.Config.Files, d.opt.Config.Knowledge
	reach, err := d.openFolders(slices.Concat(c.Allowed, []string{c.Drop}, k.Folders))
	if err != nil {
		return err
	}
	pictures, err := d.pictureDescriber()
	if err != nil {
		return err
	}
	d.documents, err = ingest.New(ingest.Options{
		Base: d.base, Store: d.store, Files: reach, Open: func(folders []string) (ingest.Files, error) { return d.openFolders(folders) }, Limits: document.Limits{File: k.MaxFile.Bytes, Helper: d.opt.Reader}, ChunkSize: k.ChunkSize, ChunkOverlap: k.ChunkOverlap, Log: d.opt.Log,
		Entities: d.graph, Pictures: pictures,
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(watchersall.Drivers(), func(w watchers.Driver) bool { return w.Describe().Kind == file.Kind })
	d.folders, err = ingest.NewSync(ingest.SyncOptions{
		Library: d.documents, Folders: ingest.ResolveFolders(k.Folders, d.opt.UserHome), Driver: watchersall.Drivers()[i],
		Deps: watchers.Deps{
			Store: d.store, Log: d.opt.Log, Zone: d.zone, AllowedRead: d.files.Watchable,
			Trouble: func(ctx context.Context, _ string, err error) {
				d.opt.Log.WarnContext(ctx, "a folder of documents is not noticed at once", "err", err)
			},
		},
		Within: files.Reached, Show: d.files.Show, Log: d.opt.Log,
		Tell: func(ctx context.Context, key, text string) {
			if err := d.intake.Notify(ctx, key, text); err != nil {
				d.opt.Log.ErrorContext(ctx, "the owner could not be told of documents", "err", err)
			}
		},
	})
	return err
}

// openFolders gives access to the files in some folders.
func (d *App) openFolders(allowed []string) (*files.Files, error) {
	return files.New(files.Options{
		Allowed: allowed, Trusted: d.opt.Config.Files.Trusted, Home: d.opt.UserHome, Store: d.store, Protected: protectedPaths(d.opt.Paths, d.opt.Config),
		MaxFile: d.opt.Config.Knowledge.MaxFile.Bytes,
	})
}

// documentRequests serves the tool that ingests documents.
func (d *App) documentRequests() ingest.Requests {
	return ingest.Requests{Library: d.documents, Sync: d.folders, Files: d.files, Network: d.network}
}
