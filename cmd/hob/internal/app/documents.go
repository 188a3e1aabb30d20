package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/document"
	"hob/tools"
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
		Entities: contactEntities{d}, Pictures: pictures,
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(watchersall.Drivers(), func(w watchers.Driver) bool { return w.Describe().Kind == file.Kind })
	d.folders, err = ingest.NewSync(ingest.SyncOptions{
		Library: d.documents, Folders: d.documentFolders(k.Folders), Driver: watchersall.Drivers()[i],
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

// documentFolders returns absolute paths with resolved links, because files below them are
// named that way.
func (d *App) documentFolders(list []string) []string {
	var out []string
	for _, p := range list {
		if rest, ok := strings.CutPrefix(p, "~"); ok && d.opt.UserHome != "" {
			p = filepath.Join(d.opt.UserHome, rest)
		} else if abs, err := system.Expand(p); err == nil {
			p = abs
		}
		out = append(out, resolvePath(p))
	}
	return out
}

func resolvePath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}

// documents gives the library to the tools.
type documents struct{ d *App }

// CheckURL implements memory.Documents.
func (x documents) CheckURL(raw string) (*url.URL, error) {
	u, err := x.d.network.Check(raw)
	return u, refusedURL(err)
}

func refusedURL(err error) error {
	e, ok := errors.AsType[*safehttp.Error](err)
	if !ok {
		return err
	}
	out := &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.Message, Remedy: e.Remedy, Err: err}
	switch {
	case e.Kind == safehttp.BadURL:
		out.Code = tools.InvalidArguments
	case e.Refusal():
		out.Code = tools.PolicyDenied
	case e.Kind == safehttp.NotFound:
		out.Code = tools.NotFound
	case e.Kind == safehttp.TimedOut:
		out.Code = tools.TimedOut
	}
	if e.Sent || e.Kind == safehttp.TLS || e.Kind == safehttp.Proxy { // others chose these words
		out.Source = provenance.Outside
	}
	return out
}

// Ingest implements memory.Documents.
func (x documents) Ingest(ctx context.Context, c tools.Call, want knowledge.DocumentRequest) (knowledge.DocumentResult, error) {
	if want.URL != "" {
		return x.ingestPage(ctx, c, want)
	}
	place, err := x.d.files.Inspect(want.Path)
	if err != nil {
		return knowledge.DocumentResult{}, err
	}
	if place.Folder {
		return x.ingestFolder(ctx, c, place.Path)
	}
	r, err := x.d.documents.Ingest(ctx, ingest.FileOptions{
		Path: place.Path, Title: want.Title, Tags: want.Tags, Realm: c.Realm, Asked: true, Now: c.Now, Provenance: c.Provenance, Origins: c.Origins,
		Progress: func(done, total int, name string) { c.Progress(float64(done)/float64(max(total, 1)), name) },
	})
	return documentResult(r, place.Path), documentError(err)
}

// enough is how long a call imports a folder; the rest follows in the background.
const enough = 2 * time.Minute

func (x documents) ingestFolder(ctx context.Context, c tools.Call, path string) (knowledge.DocumentResult, error) {
	f := ingest.Folder{Path: path, Realm: c.Realm}
	fresh := false
	if !x.d.folders.IsConfigured(f) { // else it is kept in step, and stays so
		var err error
		if fresh, err = x.d.documents.AddFolder(ctx, f, c.Now); err != nil {
			return knowledge.DocumentResult{}, err
		}
	}
	short, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	r, err := x.d.documents.Reconcile(short, f, func(done, total int, name string) {
		c.Progress(float64(done)/float64(max(total, 1)), filepath.Base(name))
	})
	x.d.folders.Wake()
	out := documentResult(r, path)
	if fresh {
		out.Folder = path
	}
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		out.More, err = true, nil
	}
	return out, documentError(err)
}

func documentResult(r ingest.Report, path string) knowledge.DocumentResult {
	t := knowledge.DocumentResult{Documents: r.Documents, Chunks: r.Chunks, Unchanged: r.Unchanged, Fresh: r.Fresh, Origins: []provenance.Origin{{Kind: "file", Label: path, Via: "ingest_document"}}}
	for _, s := range r.Skipped {
		t.Skipped = append(t.Skipped, s)
	}
	return t
}

// documentError adds the code to an error of a file.
func documentError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, document.ErrTooLarge), errors.Is(err, document.ErrUnsupported), errors.Is(err, document.ErrEncrypted), errors.Is(err, document.ErrNoText), errors.Is(err, document.ErrBroken):
		return tools.Errorf(tools.Unsupported, "%w", err)
	case errors.Is(err, ingest.ErrForgotten):
		return tools.Errorf(tools.Conflict, "%w", err)
	}
	return err
}

// ingestPage fetches one and takes it in.
func (x documents) ingestPage(ctx context.Context, c tools.Call, want knowledge.DocumentRequest) (knowledge.DocumentResult, error) {
	limit := x.d.opt.Config.Knowledge.MaxFile.Bytes
	resp, err := x.d.network.Fetch(ctx, safehttp.Request{URL: want.URL, MaxBody: limit})
	if err != nil {
		return knowledge.DocumentResult{}, refusedURL(err)
	}
	if resp.Status < 200 || resp.Status > 299 {
		return knowledge.DocumentResult{}, tools.Errorf(tools.Failed, "%s answered %d %s", resp.URL.Host, resp.Status, tools.Clean(http.StatusText(resp.Status)))
	}
	final := resp.URL.String()
	origins := provenance.Join([]provenance.Origin{{Kind: "web", Label: final, Via: "ingest_document"}}, c.Origins)
	out, err := x.d.documents.Put(ctx, ingest.Input{
		Source: "url:" + final, Name: cmp.Or(strings.Trim(path.Base(resp.URL.Path), "/."), resp.URL.Host), Title: want.Title, Tags: want.Tags,
		Content: resp.Body, Size: int64(len(resp.Body)), Provenance: provenance.Outside, Origins: origins, Realm: c.Realm, Now: c.Now, Asked: true,
	})
	if err != nil {
		return knowledge.DocumentResult{}, tools.Quoting(documentError(err), provenance.Outside)
	}
	t := knowledge.DocumentResult{Documents: out.Documents, Chunks: out.Chunks, Origins: origins}
	if out.Unchanged {
		t.Unchanged = out.Documents
	}
	if out.Fresh {
		t.Fresh = []string{out.Source}
	}
	for _, s := range out.Skipped {
		t.Skipped = append(t.Skipped, s)
	}
	return t, nil
}

// Forget implements memory.Documents. A document in a synchronized folder is imported again.
func (x documents) Forget(ctx context.Context, realm string, t knowledge.DocumentResult) error {
	defer x.d.folders.RescanAll()
	if t.Folder != "" {
		f := ingest.Folder{Path: t.Folder, Realm: realm}
		if err := x.d.documents.RemoveFolder(ctx, f); err != nil {
			return err
		}
		if err := x.d.folders.WaitStopped(ctx, f); err != nil {
			return err
		}
		return x.d.documents.RemoveAll(ctx, f)
	}
	for _, s := range t.Fresh {
		if err := x.d.documents.Remove(ctx, realm, s); err != nil && !errors.Is(err, ingest.ErrNotFound) {
			return fmt.Errorf("documents: %w", err)
		}
	}
	return nil
}
