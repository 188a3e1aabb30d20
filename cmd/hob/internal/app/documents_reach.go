package app

import (
	"context"
	"errors"

	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/platform/store"
	"hob/platform/text/document"
	"hob/tools"
	"hob/tools/files"
)

// contactEntities gives the graph the employers of contacts.
type contactEntities struct{ d *App }

// PeopleTx implements ingest.Entities.
func (p contactEntities) PeopleTx(tx *store.Tx, list []document.Person, from ingest.Origin) (out []string, err error) {
	for _, who := range list {
		l, err := p.d.graph.LinkTx(tx, knowledge.Link{
			From: who.Name, FromKind: knowledge.Person, Relation: "works at", To: who.Org, ToKind: knowledge.Company,
			Realm: from.Realm, Provenance: from.Provenance, Source: from.Source, At: from.At,
		})
		switch {
		case err == nil:
			out = append(out, l.Relation.ID)
		case !errors.Is(err, knowledge.ErrNoEntity) && !errors.Is(err, knowledge.ErrAmbiguous) && !errors.Is(err, knowledge.ErrSame):
			return nil, err
		}
	}
	return out, nil
}

// KeepTx implements ingest.Entities.
func (p contactEntities) KeepTx(tx *store.Tx, from ingest.Origin, ids []string) error {
	return p.d.graph.KeepTx(tx, from.Realm, from.Source, ids)
}

// openFolders is the way to the files in some folders.
func (d *App) openFolders(allowed []string) (documentFiles, error) {
	c := d.opt.Config.Files
	f, err := files.New(files.Options{
		Allowed: allowed, Trusted: c.Trusted, Home: d.opt.UserHome, Store: d.store, Protected: protectedPaths(d.opt.Paths, d.opt.Config), MaxFile: d.opt.Config.Knowledge.MaxFile.Bytes,
	})
	return documentFiles{f}, err
}

// documentFiles gives the documents of tools/files to package ingest.
type documentFiles struct{ f *files.Files }

// Walk implements ingest.Files.
func (r documentFiles) Walk(ctx context.Context, path string, visit func(ingest.Entry) error) (string, error) {
	var own error
	left, err := r.f.Documents(ctx, path, func(x files.Document) error {
		own = visit(ingest.Entry{Path: x.Path, Size: x.Size, Modified: x.Modified, Trusted: x.Trusted})
		return own
	})
	if own != nil {
		return left, own
	}
	return left, markTransient(err)
}

// markTransient marks errors that may be resolved without a change of the file.
func markTransient(err error) error {
	if code := tools.CodeOf(err); err != nil && (code == tools.Failed || code == tools.TimedOut) {
		return ingest.Retryable(err)
	}
	return err
}

// Read implements ingest.Files.
func (r documentFiles) Read(ctx context.Context, path string, limit int64) (ingest.File, error) {
	x, err := r.f.ReadDocument(ctx, path, limit)
	return ingest.File{Entry: ingest.Entry{Path: x.Path, Size: x.Size, Modified: x.Modified}, Content: x.Content, Source: x.Source, Origins: x.Origins}, markTransient(err)
}

// Exists implements ingest.Files.
func (r documentFiles) Exists(_ context.Context, path string) (bool, error) { return r.f.Exists(path) }
