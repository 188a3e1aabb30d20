package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/document"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/shortid"
)

// batch is the number of chunks per transaction, which limits how long a turn waits. A source with
// fewer changes is replaced in one transaction.
const batch = 400

// peopleAtOnce is the number of people per transaction. Each takes as long as several chunks.
const peopleAtOnce = 50

// Put ingests one source and replaces its previous version. If the source cannot be read, Put
// returns an error that wraps one of package document and keeps the previous version.
func (l *Library) Put(ctx context.Context, in Input) (Outcome, error) {
	r := l.held.hold(in.Realm, in.Source, in.Size, stamp(in.Modified))
	defer l.held.let(r)
	return l.put(ctx, r, in)
}

// Take runs Put, but reports an unreadable file in the Report as Ingest does.
func (l *Library) Take(ctx context.Context, in Input) (r Report, err error) {
	o, err := l.Put(ctx, in)
	if err != nil && known(err) {
		r.skip(in.Name, err)
		return r, nil
	}
	if err == nil {
		r.add(o)
	}
	return r, err
}

func (l *Library) put(ctx context.Context, r *reading, in Input) (Outcome, error) {
	l.work.Lock()
	defer l.work.Unlock()
	out := Outcome{Source: in.Source}
	if in.Now.IsZero() {
		in.Now = time.Now()
	}
	in.Provenance = provenance.Worst(in.Provenance)
	sum := sha256.Sum256(in.Content)
	known, err := l.known(ctx, &in, sum[:])
	if err != nil {
		return out, err
	}
	if known != nil && known.failed != "" && !in.Asked && bytes.Equal(known.digest, sum[:]) {
		return out, told(known.failed)
	}
	if known != nil && known.failed == "" && in.Title == "" && bytes.Equal(known.digest, sum[:]) && known.trust.holds(in.Trust) {
		return l.same(ctx, known, in, out)
	}
	out.Fresh = known == nil
	w := &writing{l: l, ctx: ctx, in: in, r: r, sum: sum[:]}
	if !in.Dry {
		err = w.begin()
	}
	if errors.Is(err, errTried) {
		return out, w.failed(err)
	}
	if err != nil {
		return out, err
	}
	docs, err := l.read(ctx, &w.in, &out)
	if err != nil {
		if !in.Dry {
			err = w.failed(err)
		}
		return out, err
	}
	out.Kind, out.Documents = docs[0].Kind, len(docs)
	out.Title = docs[0].Title
	if in.Dry {
		for _, d := range docs {
			out.Chunks += len(l.chunks(in, d))
		}
		return out, nil
	}
	if err := w.all(docs, &out); err != nil {
		return out, w.ended(err)
	}
	return out, nil
}

// told is the stored reason why a file could not be read.
type told string

func (t told) Error() string { return string(t) }

func (told) Is(target error) bool { return target == document.ErrBroken }

// waits is the reason why a file is deferred.
type waits string

func (w waits) Error() string { return string(w) }

func (waits) Is(target error) bool { return target == ErrLater || target == document.ErrUnsupported }

// same records new times of a file with unchanged content.
func (l *Library) same(ctx context.Context, k *kept, in Input, out Outcome) (Outcome, error) {
	out.Unchanged = true
	q := l.opt.Store.Reader(ctx)
	err := q.QueryRow(`SELECT count(*), coalesce(sum(chunks), 0), coalesce(min(title), ''), coalesce(min(kind), '') FROM documents WHERE src = ?`, k.n).Scan(&out.Documents, &out.Chunks, &out.Title, &out.Kind)
	if err != nil {
		return out, fmt.Errorf("ingest: %w", err)
	}
	folder, asked := cmp.Or(k.folder, in.Folder), k.asked || in.Folder == ""
	if in.Dry || k.size == in.Size && k.mtime == stamp(in.Modified) && k.folder == folder && k.asked == asked {
		return out, nil
	}
	return out, l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET size = ?, mtime = ?, folder = ?, asked = ? WHERE n = ? AND source = ?`, in.Size, stamp(in.Modified), folder, asked, k.n, k.source)
		return err
	})
}

// read parses the content into documents.
func (l *Library) read(ctx context.Context, in *Input, out *Outcome) ([]document.Document, error) {
	f, err := document.Parse(ctx, in.Name, in.Content, l.opt.Limits)
	if err != nil && document.Detect(in.Name, in.Content) == "image" {
		f, err = l.picture(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range f.Skipped {
		out.Skipped = append(out.Skipped, SkippedPart{phrase.Cut(s.Name, 120), reason(s.Err)})
	}
	for i := range f.Documents {
		d := &f.Documents[i]
		if in.Title != "" && i == 0 {
			d.Title = in.Title
		}
		d.Title = phrase.Cut(cmp.Or(d.Title, d.Name, path.Base(strings.ReplaceAll(in.Name, `\`, "/"))), 200)
		if d.At.IsZero() {
			d.At = in.Modified
		}
		if d.Cut {
			out.Skipped = append(out.Skipped, SkippedPart{d.Title, "truncated: the document is too large"})
		}
	}
	return f.Documents, nil
}

// reason shortens an error text for storage.
func reason(err error) string { return phrase.Cut(err.Error(), 300) }

// chunks returns the rows of one document.
func (l *Library) chunks(in Input, d document.Document) []knowledge.Doc {
	var out []knowledge.Doc
	at := d.At
	if at.IsZero() {
		at = in.Now
	}
	list := in.Origins
	if in.Provenance.Tainted() && len(list) == 0 {
		list = []provenance.Origin{originOf(in.Source)}
	}
	for _, s := range d.Sections {
		title := titled(d.Title, s)
		for _, text := range Split(s, l.opt.ChunkSize, l.opt.ChunkOverlap) {
			out = append(out, knowledge.Doc{
				Kind: knowledge.KindChunk, Title: title, Text: text, At: at, Provenance: in.Provenance, Origins: list,
				Realm: in.Realm, Pos: len(out), Source: in.Source, Speaker: speaker(d, s),
			})
		}
	}
	return out
}

// speaker returns the author of a section of a mail, or "" for quoted text.
func speaker(d document.Document, s document.Section) string {
	if d.Kind != "mail" || s.Quoted || len(d.People) == 0 {
		return ""
	}
	return phrase.Cut(d.Author, 100)
}

// titled returns the path of a section: "Manual › Boiler › Pressure (page 3)".
func titled(title string, s document.Section) string {
	parts := []string{title}
	for _, h := range s.Heading {
		if h != parts[len(parts)-1] {
			parts = append(parts, h)
		}
	}
	out := phrase.Cut(strings.Join(parts, " › "), 300)
	if s.Place != "" {
		out += " (" + s.Place + ")"
	}
	return out
}

func originOf(source string) provenance.Origin {
	kind, name, _ := strings.Cut(source, ":")
	if kind == "url" {
		kind = "web"
	}
	if kind == "import" {
		kind = "file"
	}
	return provenance.Origin{Kind: kind, Label: name}
}

// planned lists the changes to make for one document.
type planned struct {
	doc    document.Document
	id     string
	chunks []knowledge.Doc // to write
	gone   []string        // to remove
	people []document.Person
	total  int
}

// all replaces all documents of the source.
func (w *writing) all(docs []document.Document, out *Outcome) error {
	q := w.l.opt.Store.Reader(w.ctx)
	have, err := parts(q, w.src)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	w.people = had(have)
	var plans []planned
	work := 0
	for _, d := range docs {
		if gone, err := away(q, w.in, d.Part); err != nil {
			return err
		} else if gone {
			continue
		}
		p, err := w.l.plan(q, w.in, d, have[d.Part].id)
		if err != nil {
			return err
		}
		delete(have, d.Part)
		plans = append(plans, p)
		work += len(p.chunks) + len(p.gone) + len(p.people)*batch/peopleAtOnce
		w.people = w.people || len(p.people) > 0
		out.Chunks += p.total
	}
	w.whole = work <= batch
	if err := w.add(w.read); err != nil {
		return err
	}
	for i := range plans {
		if err := w.document(&plans[i]); err != nil {
			return err
		}
	}
	for _, p := range have {
		if err := w.drop(p.id); err != nil {
			return err
		}
	}
	return w.done()
}

// plan compares a document with its stored version.
func (l *Library) plan(q store.Querier, in Input, d document.Document, id string) (planned, error) {
	p := planned{doc: d, id: id}
	if l.opt.Entities != nil {
		p.people = slices.DeleteFunc(slices.Clone(d.People), func(x document.Person) bool { return x.Name == "" || x.Org == "" })
	}
	var old []knowledge.Doc
	if id == "" {
		p.id = shortid.New("d")
	} else {
		var err error
		if old, err = l.opt.Base.Group(q, knowledge.KindChunk, id); err != nil {
			return p, err
		}
	}
	at := map[string]knowledge.Doc{}
	for _, o := range old {
		at[o.Ref] = o
	}
	for _, c := range l.chunks(in, d) {
		c.Group, c.Ref = p.id, fmt.Sprintf("%s.%d", p.id, c.Pos)
		if o, ok := at[c.Ref]; !ok || !equal(o, c) {
			p.chunks = append(p.chunks, c)
		}
		delete(at, c.Ref)
		p.total++
	}
	for ref := range at {
		p.gone = append(p.gone, ref)
	}
	return p, nil
}

func equal(a, b knowledge.Doc) bool {
	return a.Title == b.Title && a.Text == b.Text && a.Source == b.Source && a.Speaker == b.Speaker && a.Provenance == b.Provenance && a.Realm == b.Realm && store.Millis(a.At) == store.Millis(b.At)
}

func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
