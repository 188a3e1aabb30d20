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
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// batch is the number of chunks per transaction. It limits how long a turn waits for the
// transaction. A source with fewer changes is replaced in one transaction.
const batch = 400

// peopleAtOnce is the number of people per transaction. Storing a person takes as long as storing
// several chunks.
const peopleAtOnce = 50

// Put ingests one source and replaces its previous version. If the source cannot be read, Put keeps
// the previous version and returns an error that wraps an error of package document.
func (l *Library) Put(ctx context.Context, in Input) (Outcome, error) {
	r := l.held.addReading(in.Realm, in.Source, in.Size, unixNanos(in.Modified))
	defer l.held.removeReading(r)
	return l.putSource(ctx, r, in)
}

// PutAndReport works like Put, but adds an unreadable file to the Report, as Ingest does.
func (l *Library) PutAndReport(ctx context.Context, in Input) (r Report, err error) {
	o, err := l.Put(ctx, in)
	if err != nil && isFileFault(err) {
		r.addSkipped(in.Name, err)
		return r, nil
	}
	if err == nil {
		r.addOutcome(o)
	}
	return r, err
}

func (l *Library) putSource(ctx context.Context, r *activeReading, in Input) (Outcome, error) {
	l.work.Lock()
	defer l.work.Unlock()
	out := Outcome{Source: in.Source}
	if in.Now.IsZero() {
		in.Now = time.Now()
	}
	in.Provenance = provenance.Worst(in.Provenance)
	sum := sha256.Sum256(in.Content)
	known, err := l.findSource(ctx, &in, sum[:])
	if err != nil {
		return out, err
	}
	if known != nil && known.failed != "" && !in.Asked && bytes.Equal(known.digest, sum[:]) {
		return out, storedError(known.failed)
	}
	if known != nil && known.failed == "" && in.Title == "" && bytes.Equal(known.digest, sum[:]) && known.trust.stillApplies(in.Trust) {
		return l.updateFileTimes(ctx, known, in, out)
	}
	out.Fresh = known == nil
	w := &sourceWriter{l: l, ctx: ctx, in: in, r: r, sum: sum[:]}
	if !in.Dry {
		err = w.beginSource()
	}
	if errors.Is(err, errTried) {
		return out, w.recordFailure(err)
	}
	if err != nil {
		return out, err
	}
	docs, err := l.parseContent(ctx, &w.in, &out)
	if err != nil {
		if !in.Dry {
			err = w.recordFailure(err)
		}
		return out, err
	}
	out.Kind, out.Documents = docs[0].Kind, len(docs)
	out.Title = docs[0].Title
	if in.Dry {
		for _, d := range docs {
			out.Chunks += len(l.documentChunks(in, d))
		}
		return out, nil
	}
	if err := w.replaceSource(docs, &out); err != nil {
		return out, w.recordAborted(err)
	}
	return out, nil
}

// storedError is the stored reason why a file could not be read.
type storedError string

func (t storedError) Error() string { return string(t) }

func (storedError) Is(target error) bool { return target == document.ErrBroken }

// deferredError is the reason why a file is deferred.
type deferredError string

func (w deferredError) Error() string { return string(w) }

func (deferredError) Is(target error) bool {
	return target == ErrLater || target == document.ErrUnsupported
}

// updateFileTimes records new times of a file with unchanged content.
func (l *Library) updateFileTimes(ctx context.Context, k *storedSource, in Input, out Outcome) (Outcome, error) {
	out.Unchanged = true
	q := l.opt.Store.Reader(ctx)
	err := q.QueryRow(`SELECT count(*), coalesce(sum(chunks), 0), coalesce(min(title), ''), coalesce(min(kind), '') FROM documents WHERE src = ?`, k.n).Scan(&out.Documents, &out.Chunks, &out.Title, &out.Kind)
	if err != nil {
		return out, fmt.Errorf("ingest: read the documents of a source: %w", err)
	}
	folder, asked := cmp.Or(k.folder, in.Folder), k.asked || in.Folder == ""
	if in.Dry || k.size == in.Size && k.mtime == unixNanos(in.Modified) && k.folder == folder && k.asked == asked {
		return out, nil
	}
	return out, l.opt.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE doc_sources SET size = ?, mtime = ?, folder = ?, asked = ? WHERE n = ? AND source = ?`, in.Size, unixNanos(in.Modified), folder, asked, k.n, k.source)
		return err
	})
}

// parseContent parses the content into documents.
func (l *Library) parseContent(ctx context.Context, in *Input, out *Outcome) ([]document.Document, error) {
	f, err := document.Parse(ctx, in.Name, in.Content, l.opt.Limits)
	if err != nil && document.Detect(in.Name, in.Content) == "image" {
		f, err = l.describePicture(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range f.Skipped {
		out.Skipped = append(out.Skipped, knowledge.SkippedPart{Name: textnorm.Ellipsize(s.Name, 120), Reason: errorReason(s.Err)})
	}
	for i := range f.Documents {
		d := &f.Documents[i]
		if in.Title != "" && i == 0 {
			d.Title = in.Title
		}
		d.Title = textnorm.Ellipsize(cmp.Or(d.Title, d.Name, path.Base(strings.ReplaceAll(in.Name, `\`, "/"))), 200)
		if d.At.IsZero() {
			d.At = in.Modified
		}
		if d.Cut {
			out.Skipped = append(out.Skipped, knowledge.SkippedPart{Name: d.Title, Reason: "truncated: the document is too large"})
		}
	}
	return f.Documents, nil
}

// errorReason shortens an error text for storage.
func errorReason(err error) string { return textnorm.Ellipsize(err.Error(), 300) }

// documentChunks returns the rows of one document.
func (l *Library) documentChunks(in Input, d document.Document) []knowledge.Doc {
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
		title := sectionTitle(d.Title, s)
		for _, text := range Split(s, l.opt.ChunkSize, l.opt.ChunkOverlap) {
			out = append(out, knowledge.Doc{
				Kind: knowledge.KindChunk, Title: title, Text: text, At: at, Provenance: in.Provenance, Origins: list,
				Realm: in.Realm, Pos: len(out), Source: in.Source, Speaker: sectionSpeaker(d, s),
			})
		}
	}
	return out
}

// sectionSpeaker returns the author of a section of an email, or "" for quoted text.
func sectionSpeaker(d document.Document, s document.Section) string {
	if d.Kind != "mail" || s.Quoted || len(d.People) == 0 {
		return ""
	}
	return textnorm.Ellipsize(d.Author, 100)
}

// sectionTitle returns the path of a section: "Manual › Boiler › Pressure (page 3)".
func sectionTitle(title string, s document.Section) string {
	parts := []string{title}
	for _, h := range s.Heading {
		if h != parts[len(parts)-1] {
			parts = append(parts, h)
		}
	}
	out := textnorm.Ellipsize(strings.Join(parts, " › "), 300)
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

// documentPlan lists the changes to make for one document.
type documentPlan struct {
	doc    document.Document
	id     string
	chunks []knowledge.Doc // chunks to write
	gone   []string        // refs of the chunks to remove
	people []document.Person
	total  int
}

// replaceSource replaces all documents of the source.
func (w *sourceWriter) replaceSource(docs []document.Document, out *Outcome) error {
	q := w.l.opt.Store.Reader(w.ctx)
	have, err := readParts(q, w.src)
	if err != nil {
		return fmt.Errorf("ingest: read the documents of a source: %w", err)
	}
	w.people = mayHavePeople(have)
	var plans []documentPlan
	work := 0
	for _, d := range docs {
		if gone, err := isPartForgotten(q, w.in, d.Part); err != nil {
			return err
		} else if gone {
			continue
		}
		p, err := w.l.planDocument(q, w.in, d, have[d.Part].id)
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
	if err := w.addStep(w.markReadable); err != nil {
		return err
	}
	for i := range plans {
		if err := w.writeDocument(&plans[i]); err != nil {
			return err
		}
	}
	for _, p := range have {
		if err := w.dropDocument(p.id); err != nil {
			return err
		}
	}
	return w.finishSource()
}

// planDocument compares a document with its stored version.
func (l *Library) planDocument(q store.Querier, in Input, d document.Document, id string) (documentPlan, error) {
	p := documentPlan{doc: d, id: id}
	if l.opt.Entities != nil {
		p.people = peopleOf(d)
	}
	var old []knowledge.Doc
	if id == "" {
		p.id = shortid.New("d")
	} else {
		var err error
		if old, err = l.opt.Base.GroupRows(q, knowledge.KindChunk, id); err != nil {
			return p, err
		}
	}
	at := map[string]knowledge.Doc{}
	for _, o := range old {
		at[o.Ref] = o
	}
	for _, c := range l.documentChunks(in, d) {
		c.Group, c.Ref = p.id, fmt.Sprintf("%s.%d", p.id, c.Pos)
		if o, ok := at[c.Ref]; !ok || !isSameDoc(o, c) {
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

// maxCorrespondents is the maximum number of people in an email or event for which all people are
// stored. If there are more, for example on a mailing list, only the first is stored: the sender or
// the organizer.
const maxCorrespondents = 12

// peopleOf returns the people of a document to store in the graph: people with an employer, an
// address or a number. It omits automatic senders.
func peopleOf(d document.Document) []document.Person {
	list := d.People
	if d.Kind != "cards" && len(list) > maxCorrespondents {
		list = list[:1]
	}
	return slices.DeleteFunc(slices.Clone(list), func(x document.Person) bool {
		return x.Name == "" || strings.Contains(x.Name, "@") || x.Org == "" && len(x.Mails)+len(x.Phones) == 0 || slices.ContainsFunc(x.Mails, isAutomaticSender)
	})
}

// isAutomaticSender reports whether an email address belongs to a program.
func isAutomaticSender(mail string) bool {
	local, _, _ := strings.Cut(strings.ToLower(mail), "@")
	return slices.ContainsFunc([]string{"noreply", "no-reply", "no_reply", "donotreply", "do-not-reply", "mailer-daemon", "newsletter", "notification", "bounce"}, func(s string) bool { return strings.HasPrefix(local, s) })
}

func isSameDoc(a, b knowledge.Doc) bool {
	return a.Title == b.Title && a.Text == b.Text && a.Source == b.Source && a.Speaker == b.Speaker && a.Provenance == b.Provenance && a.Realm == b.Realm && store.Millis(a.At) == store.Millis(b.At)
}

func unixNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
