package daemon

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

	"hob/channels/web"
	"hob/knowledge/port"
	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
)

// MemoryImport implements web.Memory.
func (b *backend) MemoryImport(ctx context.Context, in web.MemoryImport, step func(any)) (err error) {
	key, err := b.d.sealKey()
	if err != nil {
		return classify(err)
	}
	if !filepath.IsAbs(in.Path) {
		return fmt.Errorf("%w: the path %q must be absolute", web.ErrInvalid, in.Path)
	}
	src, err := port.Open(in.Path, key)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", in.Path, web.ErrNotFound)
	}
	if err != nil {
		return classify(err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if !strings.HasPrefix(string(src.Format), in.Format) { // "hob" matches both of its formats
		return fmt.Errorf("%w: it is no %s file; it looks like %s", web.ErrInvalid, in.Format, src.Format)
	}
	im := &importer{d: b.d, in: in, src: src, step: step, name: cmp.Or(in.Name, filepath.Base(in.Path)), out: imported{Format: src.Format, Sealed: src.Sealed, DryRun: in.DryRun, Counts: map[string]int{}}}
	if src.Records() {
		if err := im.records(ctx); err != nil {
			return classify(err)
		}
	}
	switch src.Format {
	case port.Vault, port.Folder, port.Document:
		if err := im.documents(ctx); err != nil {
			return classify(err)
		}
	}
	im.out.Text = im.out.words(im.name)
	step(im.out)
	return nil
}

// imported is the result of an import.
type imported struct {
	Text    string         `json:"text"`
	Format  port.Format    `json:"format"`
	Sealed  bool           `json:"sealed"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Counts  map[string]int `json:"added"` // by kind
	Added   int            `json:"total"`
	Known   int            `json:"known"`
	Skipped []string       `json:"skipped,omitempty"`
	More    int            `json:"skipped_more,omitempty"`
}

func (o imported) words(name string) string {
	verb := "Took in"
	if o.DryRun {
		verb = "Would take in"
	}
	var parts []string
	for _, k := range []string{"fact", "preference", "lesson", "entity", "relation", "note", "document", "chunk", "turn", "session", "message"} {
		if n := o.Counts[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, plural(k, n)))
		}
	}
	s := fmt.Sprintf("%s nothing new from %s (%s)", verb, name, o.Format)
	if len(parts) > 0 {
		s = fmt.Sprintf("%s %s from %s (%s)", verb, strings.Join(parts, ", "), name, o.Format)
	}
	if o.Known > 0 {
		s += fmt.Sprintf("; %d were known already", o.Known)
	}
	if n := len(o.Skipped) + o.More; n > 0 {
		s += fmt.Sprintf("; %d could not be read", n)
	}
	return s + "."
}

func plural(kind string, n int) string {
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

// importer puts records where they belong.
type importer struct {
	d    *Daemon
	in   web.MemoryImport
	src  *port.Source
	name string
	step func(any)
	out  imported

	batch []port.Record
	size  int
	read  int64
	// pos numbers the messages of conversations that become rows only.
	pos map[string]int
	// into is the conversation into which one is put back.
	into map[string]string
	// entities are the ids here of those in the file.
	entities map[string]string
	// here are documents of the file whose parts are here already.
	here map[string]bool
}

// Limits of one transaction and of the reported skips.
const (
	importBatch = 100
	importBytes = 4 << 20
	importTold  = 20
)

// errDry rolls back a dry run.
var errDry = errors.New("a dry run")

// errUnfit is about one record, which is skipped.
type errUnfit struct{ error }

func (im *importer) records(ctx context.Context) error {
	im.pos, im.into, im.entities, im.here = map[string]int{}, map[string]string{}, map[string]string{}, map[string]bool{}
	err := im.src.Read(func(r port.Record) error {
		im.batch = append(im.batch, r)
		im.size += weight(r)
		if len(im.batch) >= importBatch || im.size >= importBytes {
			return im.flush(ctx)
		}
		return ctx.Err()
	}, im.skip, func(read int64) { im.read = read })
	if err != nil {
		return errors.Join(err, im.flush(ctx)) // what was whole is kept; the rest follows with the next import
	}
	return im.flush(ctx)
}

// weight is about what a record takes, in bytes.
func weight(r port.Record) int {
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

func (im *importer) skip(where string, err error) {
	if len(im.out.Skipped) >= importTold {
		im.out.More++
		return
	}
	im.out.Skipped = append(im.out.Skipped, phrase.Cut(where+": "+err.Error(), 300))
}

// flush writes a batch. Writes are idempotent, so an interrupted import is simply run again.
func (im *importer) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	err := im.d.store.Write(ctx, func(tx *store.Tx) error {
		t := putting{im: im, tx: tx, touched: map[string]bool{}}
		for _, r := range im.batch {
			if err := t.put(r); err != nil {
				return err
			}
		}
		if err := t.end(); err != nil {
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
	im.step(struct {
		Doing string `json:"doing"`
		Done  int64  `json:"done"`
		Total int64  `json:"total"`
	}{"reading", im.read, max(im.src.Size, im.read)})
	return nil
}

// own: it is Hob's own export, or the owner vouches for it.
func (im *importer) own() bool { return im.src.Sealed || im.in.Trust }

// ours: the ids come from this or another home of Hob.
func (im *importer) ours() bool {
	return im.src.Format == port.HobJSONL || im.src.Format == port.HobMarkdown
}

// source returns the source of an item, by which it can be forgotten.
func (im *importer) source(said string) string {
	if im.ours() && im.own() { // restored unchanged
		return said
	}
	return "import:" + im.name
}

// trust limits a provenance: no item is more trusted than the file may claim.
func (im *importer) trust(p provenance.Source, said []provenance.Origin) (provenance.Source, []provenance.Origin) {
	if p != provenance.Owner && p != provenance.Hob && p != provenance.Tool || !im.own() {
		p = provenance.Outside
	}
	if !p.Tainted() {
		return p, nil
	}
	if im.ours() && im.own() {
		return p, said
	}
	return p, provenance.Join([]provenance.Origin{{Kind: "file", Label: im.name, Via: "import"}}, said)
}

// vouched is trust for items without origins. With --trust they count as the user's own words.
func (im *importer) vouched(p provenance.Source) provenance.Source {
	if !im.ours() && im.in.Trust {
		return provenance.Owner
	}
	p, _ = im.trust(p, nil)
	return p
}

// id returns the id of an imported item. A foreign file may contain an id of ours on purpose,
// so its items get another id, the same at every import.
func (im *importer) id(prefix, said string) string {
	if im.own() || !im.ours() || said == "" {
		return said
	}
	sum := sha256.Sum256([]byte(im.name + "\x00" + said))
	return prefix + hex.EncodeToString(sum[:9])
}
