package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"hob/autonomy/api"
	"hob/knowledge/transfer"
	"hob/platform/text/document"
)

// mostListed is how many documents an export names.
const mostListed = 1_000_000

// exportDocuments exports the imported documents; their parts follow as rows.
func (x exporter) exportDocuments(ctx context.Context) error {
	list, err := x.d.documents.Documents(ctx, api.Query{Limit: mostListed})
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.ID == "" {
			continue // it could not be read
		}
		raw, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if err := x.w.Write(transfer.Record{Document: raw}); err != nil {
			return err
		}
	}
	return nil
}

// importDocuments imports the file, or the files of the folder, that the user named.
func (im *importer) importDocuments(ctx context.Context) error {
	r, err := im.d.importDocuments(ctx, im.in, func(done, total int, name string) {
		im.step(api.MemoryProgress{Doing: "reading " + filepath.Base(name), Done: int64(done), Total: int64(total)})
	})
	if errors.Is(err, document.ErrUnsupported) || errors.Is(err, document.ErrTooLarge) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	if im.src.Format == transfer.Document && len(r.Skipped) == 1 && r.Files == 0 {
		return fmt.Errorf("%w: %s: %s", api.ErrInvalid, im.name, r.Skipped[0].Reason)
	}
	for _, s := range r.Skipped {
		im.skipRecord(s.Name, errors.New(s.Reason))
	}
	im.out.Known += r.Unchanged
	if n := r.Documents - r.Same; n > 0 {
		im.out.Counts["document"] += n
		im.out.Counts["chunk"] += r.Chunks - r.SameChunks
		im.out.Added += n
	}
	return nil
}
