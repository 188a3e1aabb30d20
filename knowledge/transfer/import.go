package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
	"hob/platform/text/textnorm"
)

// MemoryImport imports a file or folder: an export of Hob or of another program, or documents. It
// calls step to report the progress. It skips and reports records that cannot be imported.
func (t *Transfer) MemoryImport(ctx context.Context, in api.MemoryImport, step func(api.MemoryProgress)) (out api.ImportResult, err error) {
	key, err := t.sealKey()
	if err != nil {
		return out, err
	}
	if !filepath.IsAbs(in.Path) {
		return out, fmt.Errorf("%w: the path %q must be absolute", api.ErrInvalid, in.Path)
	}
	src, err := Open(in.Path, key)
	if errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("%s: %w", in.Path, api.ErrNotFound)
	}
	if err != nil {
		return out, err
	}
	defer func() { // count the imported rows even if closing the source fails
		if err := src.Close(); err != nil {
			t.o.Log.Warn("closing an import failed", "err", err)
		}
	}()
	if !strings.HasPrefix(string(src.Format), in.Format) { // "hob" selects both of Hob's formats
		return out, fmt.Errorf("%w: not a %s file (detected: %s); leave out the format, or choose another file", api.ErrInvalid, in.Format, src.Format)
	}
	im := &importer{Options: t.o, in: in, src: src, step: step, name: cmp.Or(in.Name, filepath.Base(in.Path)), out: api.ImportResult{Format: string(src.Format), Sealed: src.Authentic, DryRun: in.DryRun, Counts: map[string]int{}}}
	if src.Records() {
		if err := im.importRecords(ctx); err != nil {
			return out, err
		}
	}
	switch src.Format {
	case Vault, Folder, Document:
		if err := im.importDocuments(ctx); err != nil {
			return out, err
		}
	}
	im.out.Text = importSummary(im.out, im.name)
	return im.out, nil
}

// importSummary describes the result in one sentence.
func importSummary(o api.ImportResult, name string) string {
	verb := "Imported"
	if o.DryRun {
		verb = "Would import"
	}
	var parts []string
	for _, k := range []string{"fact", "preference", "lesson", "entity", "relation", "note", "document", "chunk", "turn", "session", "message"} {
		if n := o.Counts[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, countNoun(k, n)))
		}
	}
	s := fmt.Sprintf("%s nothing new from %s (%s)", verb, name, o.Format)
	if len(parts) > 0 {
		s = fmt.Sprintf("%s %s from %s (%s)", verb, strings.Join(parts, ", "), name, o.Format)
	}
	if o.Known > 0 {
		s += fmt.Sprintf("; %d were already known", o.Known)
	}
	if n := len(o.Skipped) + o.More; n > 0 {
		s += fmt.Sprintf("; %d could not be read", n)
	}
	return s + "."
}

func countNoun(kind string, n int) string {
	names := map[string][2]string{
		"entity": {"person or thing", "people and things"}, "chunk": {"part", "parts"}, "turn": {"message", "messages"}, "session": {"conversation", "conversations"},
	}
	p, ok := names[kind]
	switch {
	case !ok && n == 1:
		return kind
	case !ok:
		return kind + "s"
	case n == 1:
		return p[0]
	}
	return p[1]
}

// importer stores the records of a file in the packages that own them.
type importer struct {
	Options

	in   api.MemoryImport
	src  *Source
	name string
	step func(api.MemoryProgress)
	out  api.ImportResult

	batch []Record
	size  int
	read  int64
	// pos contains the next message number for conversations that are stored only as rows.
	pos map[string]int
	// into maps an imported conversation to the conversation into which it is restored.
	into map[string]string
	// entities maps ids in the file to local ids.
	entities map[string]string
	// here contains the documents in the file whose parts are already stored.
	here map[string]bool
}

// Limits of one transaction and of the number of reported skips.
const (
	importBatch = 100
	importBytes = 4 << 20
	importTold  = 20
)

// errDry rolls back a dry run.
var errDry = errors.New("dry run")

// invalidRecordError is an error that affects only one record. The record is skipped.
type invalidRecordError struct{ error }

func (im *importer) importRecords(ctx context.Context) error {
	im.pos, im.into, im.entities, im.here = map[string]int{}, map[string]string{}, map[string]string{}, map[string]bool{}
	err := im.src.Read(func(r Record) error {
		im.batch = append(im.batch, r)
		im.size += recordBytes(r)
		if len(im.batch) >= importBatch || im.size >= importBytes {
			return im.flushBatch(ctx)
		}
		return ctx.Err()
	}, im.skipRecord, func(read int64) { im.read = read })
	if err != nil {
		return errors.Join(err, im.flushBatch(ctx)) // complete records stay imported; another import adds the rest
	}
	return im.flushBatch(ctx)
}

// recordBytes estimates the size of a record in bytes.
func recordBytes(r Record) int {
	switch {
	case r.Message != nil:
		return len(r.Message.Message)
	case r.Note != nil:
		return len(r.Note.Text)
	case r.Turn != nil:
		return len(r.Turn.Text)
	}
	return 1000
}

func (im *importer) skipRecord(where string, err error) {
	if len(im.out.Skipped) >= importTold {
		im.out.More++
		return
	}
	im.out.Skipped = append(im.out.Skipped, textnorm.Ellipsize(where+": "+err.Error(), 300))
}

// flushBatch writes a batch. Writes are idempotent, so an interrupted import can be repeated.
func (im *importer) flushBatch(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	err := im.Store.Write(ctx, func(tx *store.Tx) error {
		p := batchImport{im: im, tx: tx, touched: map[string]bool{}}
		for _, r := range im.batch {
			if err := p.putRecord(r); err != nil {
				return err
			}
		}
		if err := p.finishBatch(); err != nil {
			return err
		}
		if im.in.DryRun {
			return errDry
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDry) {
		return err
	}
	im.batch, im.size = im.batch[:0], 0
	im.step(api.MemoryProgress{Doing: "reading", Done: im.read, Total: max(im.src.Size, im.read)})
	return nil
}

// isTrustedSource reports whether this Hob exported the file or the user vouches for it.
func (im *importer) isTrustedSource() bool { return im.src.Authentic || im.in.Trust }

// isHobExport reports whether the file has the format of a Hob export. Its ids are then from this
// or another home of Hob.
func (im *importer) isHobExport() bool {
	return im.src.Format == HobJSONL || im.src.Format == HobMarkdown
}

// sourceRef returns the source of an item. The user can erase the item by naming this source.
func (im *importer) sourceRef(said string) string {
	if im.isHobExport() && im.isTrustedSource() { // the original source is kept
		return said
	}
	return "import:" + im.name
}

// limitTrust limits a provenance, so that no item is trusted more than the file.
func (im *importer) limitTrust(p provenance.Source, said []provenance.Origin) (provenance.Source, []provenance.Origin) {
	if p != provenance.Owner && p != provenance.Hob && p != provenance.Tool || !im.isTrustedSource() {
		p = provenance.Outside
	}
	if !p.Tainted() {
		return p, nil
	}
	if im.isHobExport() && im.isTrustedSource() {
		return p, said
	}
	return p, provenance.Join([]provenance.Origin{{Kind: "file", Label: im.name, Via: "import"}}, said)
}

// limitSource returns the provenance of items without origins. With --trust, these items count as
// the user's own words.
func (im *importer) limitSource(p provenance.Source) provenance.Source {
	if !im.isHobExport() && im.in.Trust {
		return provenance.Owner
	}
	p, _ = im.limitTrust(p, nil)
	return p
}

// recordID returns the id of an imported item. Because a foreign file may deliberately contain an
// id of this home, its items get other ids, which are the same in every import.
func (im *importer) recordID(prefix, said string) string {
	if im.isTrustedSource() || !im.isHobExport() || said == "" {
		return said
	}
	sum := sha256.Sum256([]byte(im.name + "\x00" + said))
	return prefix + hex.EncodeToString(sum[:9])
}

// importDocuments imports the file, or the files of the folder, that the user named.
func (im *importer) importDocuments(ctx context.Context) error {
	r, err := im.Documents.Import(ctx, im.in, func(done, total int, name string) {
		im.step(api.MemoryProgress{Doing: "reading " + filepath.Base(name), Done: int64(done), Total: int64(total)})
	})
	if errors.Is(err, document.ErrUnsupported) || errors.Is(err, document.ErrTooLarge) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	if im.src.Format == Document && len(r.Skipped) == 1 && r.Files == 0 {
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
