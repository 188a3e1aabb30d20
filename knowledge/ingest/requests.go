package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/document"
	"hob/tools"
)

// Locator resolves a path as the file tools do, with the same errors.
type Locator interface {
	Locate(path string) (abs string, folder bool, err error)
}

// Requests ingests the documents that tool calls request. It implements the interface that the tool
// ingest_document needs.
type Requests struct {
	Library *Library
	Sync    *Sync
	Files   Locator
	Network *safehttp.Client
}

// CheckURL parses and normalizes an address as a request would, without a DNS lookup.
func (x Requests) CheckURL(raw string) (*url.URL, error) {
	u, err := x.Network.Check(raw)
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
	if e.Sent || e.Kind == safehttp.TLS || e.Kind == safehttp.Proxy { // the text comes from a remote server
		out.Source = provenance.Outside
	}
	return out
}

// Ingest reads a file, a page, or a folder. A folder is kept in sync from then on.
func (x Requests) Ingest(ctx context.Context, c tools.Call, want knowledge.DocumentRequest) (knowledge.DocumentResult, error) {
	if want.URL != "" {
		return x.ingestPage(ctx, c, want)
	}
	path, folder, err := x.Files.Locate(want.Path)
	if err != nil {
		return knowledge.DocumentResult{}, err
	}
	if folder {
		return x.ingestFolder(ctx, c, path)
	}
	r, err := x.Library.Ingest(ctx, FileOptions{
		Path: path, Title: want.Title, Tags: want.Tags, Realm: c.Realm, Asked: true, Now: c.Now, Provenance: c.Provenance, Origins: c.Origins,
		Progress: func(done, total int, name string) { c.Progress(float64(done)/float64(max(total, 1)), name) },
	})
	return documentResult(r, path), documentError(err)
}

// folderPatience is how long a call may import the files of a folder. The remaining files are
// imported in the background.
const folderPatience = 2 * time.Minute

func (x Requests) ingestFolder(ctx context.Context, c tools.Call, path string) (knowledge.DocumentResult, error) {
	f := Folder{Path: path, Realm: c.Realm}
	fresh := false
	if !x.Sync.IsConfigured(f) { // a configured folder is always synced; fresh stays false, so that Forget does not stop the sync
		var err error
		if fresh, err = x.Library.AddFolder(ctx, f, c.Now); err != nil {
			return knowledge.DocumentResult{}, err
		}
	}
	short, cancel := context.WithTimeout(ctx, folderPatience)
	defer cancel()
	r, err := x.Library.Reconcile(short, f, func(done, total int, name string) {
		c.Progress(float64(done)/float64(max(total, 1)), filepath.Base(name))
	})
	x.Sync.Wake()
	out := documentResult(r, path)
	if fresh {
		out.Folder = path
	}
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		out.More, err = true, nil
	}
	return out, documentError(err)
}

func documentResult(r Report, path string) knowledge.DocumentResult {
	t := knowledge.DocumentResult{Documents: r.Documents, Chunks: r.Chunks, Unchanged: r.Unchanged, Fresh: r.Fresh, Skipped: r.Skipped, Origins: []provenance.Origin{{Kind: "file", Label: path, Via: "ingest_document"}}}
	return t
}

// documentError turns an error from a document into a tool error with a code. It returns other
// errors unchanged.
func documentError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, document.ErrTooLarge), errors.Is(err, document.ErrUnsupported), errors.Is(err, document.ErrEncrypted), errors.Is(err, document.ErrNoText), errors.Is(err, document.ErrBroken):
		return tools.Errorf(tools.Unsupported, "%w", err)
	case errors.Is(err, ErrForgotten):
		return tools.Errorf(tools.Conflict, "%w", err)
	}
	return err
}

// ingestPage fetches a page and ingests it.
func (x Requests) ingestPage(ctx context.Context, c tools.Call, want knowledge.DocumentRequest) (knowledge.DocumentResult, error) {
	limit := x.Library.opt.Limits.File
	resp, err := x.Network.Fetch(ctx, safehttp.Request{URL: want.URL, MaxBody: limit})
	if err != nil {
		return knowledge.DocumentResult{}, refusedURL(err)
	}
	if resp.Status < 200 || resp.Status > 299 {
		return knowledge.DocumentResult{}, tools.Errorf(tools.Failed, "%s answered %d %s", resp.URL.Host, resp.Status, tools.Clean(http.StatusText(resp.Status)))
	}
	final := resp.URL.String()
	origins := provenance.Join([]provenance.Origin{{Kind: "web", Label: final, Via: "ingest_document"}}, c.Origins)
	out, err := x.Library.Put(ctx, Input{
		Source: "url:" + final, Name: cmp.Or(strings.Trim(path.Base(resp.URL.Path), "/."), resp.URL.Host), Title: want.Title, Tags: want.Tags,
		Content: resp.Body, Size: int64(len(resp.Body)), Provenance: provenance.Outside, Origins: origins, Realm: c.Realm, Now: c.Now, Asked: true,
	})
	if err != nil {
		return knowledge.DocumentResult{}, tools.Quoting(documentError(err), provenance.Outside)
	}
	t := knowledge.DocumentResult{Documents: out.Documents, Chunks: out.Chunks, Skipped: out.Skipped, Origins: origins}
	if out.Unchanged {
		t.Unchanged = out.Documents
	}
	if out.Fresh {
		t.Fresh = []string{out.Source}
	}
	return t, nil
}

// Forget undoes Ingest. A document in a synced folder is imported again.
func (x Requests) Forget(ctx context.Context, realm string, t knowledge.DocumentResult) error {
	defer x.Sync.RescanAll()
	if t.Folder != "" {
		f := Folder{Path: t.Folder, Realm: realm}
		if err := x.Library.RemoveFolder(ctx, f); err != nil {
			return err
		}
		if err := x.Sync.WaitStopped(ctx, f); err != nil {
			return err
		}
		return x.Library.RemoveAll(ctx, f)
	}
	for _, s := range t.Fresh {
		if err := x.Library.Remove(ctx, realm, s); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("remove the document: %w", err)
		}
	}
	return nil
}
