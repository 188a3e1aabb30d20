package transfer

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// Graph is the graph of people and other entities. RestoreEntityTx and RestoreRelationTx return
// knowledge.ErrNoEntity for unusable data. RestoreRelationTx returns knowledge.ErrNoEnd if an
// entity of the relation is missing.
type Graph interface {
	// CatchUp processes pending changes of the memory, for a limited time.
	CatchUp(ctx context.Context, b knowledge.ChangeSource) error
	ForEach(q store.Querier, entity func(knowledge.Entity) error, relation func(knowledge.Relation) error) error
	// RestoreEntityTx imports an entity and returns its local id.
	RestoreEntityTx(tx *store.Tx, e knowledge.Entity) (id string, added bool, err error)
	RestoreRelationTx(tx *store.Tx, r knowledge.Relation) (added bool, err error)
}

// Notes stores the user's notes. RestoreTx returns a *tools.Error for an unusable note.
type Notes interface {
	Notes(ctx context.Context, q api.Query) ([]api.Note, error)
	RestoreTx(tx *store.Tx, n api.Note, from []provenance.Origin) (added bool, err error)
}

// Learned stores lessons and preferences, in the format of the package that learns them.
type Learned interface {
	Each(ctx context.Context, lesson, preference func(json.RawMessage) error) error
	RestoreLessonTx(tx *store.Tx, raw json.RawMessage) (added bool, err error)
	RestorePreferenceTx(tx *store.Tx, raw json.RawMessage) (added bool, err error)
}

// Documents stores the ingested documents.
type Documents interface {
	Documents(ctx context.Context, q api.Query) ([]api.Document, error)
	// RestoreTx adds a document without its chunks. parts is false if the chunks already exist.
	RestoreTx(tx *store.Tx, d api.Document) (added, parts bool, err error)
	// Import ingests the file, or the files of the folder, that the user named.
	Import(ctx context.Context, in api.MemoryImport, step func(done, total int, name string)) (knowledge.IngestReport, error)
}

// Conversations stores the user's conversations with Hob. Messages are in the stored format.
type Conversations interface {
	// ForEach calls session for every conversation, and then message for each of its messages.
	ForEach(ctx context.Context, session func(api.Session) error, message func(session, turn string, at time.Time, raw []byte) error) error
	// RestoreTx adds a conversation and returns its name. If the name is already used, it chooses
	// another one.
	RestoreTx(tx *store.Tx, s api.Session) (id string, added bool, err error)
	RestoreMessageTx(tx *store.Tx, session, turn string, at time.Time, raw []byte) (added bool, err error)
	// ResetTx excludes the messages of a conversation from later requests.
	ResetTx(tx *store.Tx, session string) error
	// MessageText returns the text of a message.
	MessageText(raw []byte) (string, error)
	// OwnsRow reports whether ref, the reference of a memory row, refers to a stored message.
	OwnsRow(ref string) bool
}

// Options of New. All are required.
type Options struct {
	Store         *store.Store
	Memory        *knowledge.Base
	Graph         Graph
	Notes         Notes
	Learned       Learned
	Documents     Documents
	Conversations Conversations
	// Unfit lists the errors of these stores that affect only a single record. The import skips
	// such a record.
	Unfit []error
	// Key returns the key of this home. The key of the exports is derived from it.
	Key  func() ([]byte, error)
	Zone func() *time.Location
	Log  *slog.Logger
}

// Transfer exports the memory of this home and imports into it.
type Transfer struct{ o Options }

// New returns a Transfer.
func New(o Options) *Transfer { return &Transfer{o} }

// sealKey returns the key that seals the exports of this home.
func (t *Transfer) sealKey() ([]byte, error) {
	k, err := t.o.Key()
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, k)
	m.Write([]byte("hob memory export"))
	return m.Sum(nil), nil
}

// MemoryExport writes the memory in the format "markdown" or "jsonl". It includes the conversations
// if requested.
func (t *Transfer) MemoryExport(ctx context.Context, to io.Writer, format string, conversations bool) error {
	key, err := t.sealKey()
	if err != nil {
		return err
	}
	var w Writer
	if format == "markdown" {
		w, err = NewMarkdown(to, key, time.Now(), t.o.Zone())
	} else {
		w, err = NewJSONL(to, key, time.Now())
	}
	if err != nil {
		return err
	}
	x := exporter{Options: t.o, w: w, q: t.o.Store.Reader(ctx)}
	parts := []func(context.Context) error{x.exportFacts, x.exportLearned, x.exportGraph, x.exportNotes, x.exportDocuments, x.exportDocs}
	if conversations {
		parts = append(parts, x.exportConversations)
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return w.Close()
}

// exporter writes all records, one kind after another.
type exporter struct {
	Options
	w Writer
	q store.Querier
}

func (x exporter) exportFacts(context.Context) error {
	return x.Memory.EachFact(x.q, func(f knowledge.Fact) error { return x.w.Write(Record{Fact: &f}) })
}

func (x exporter) exportLearned(ctx context.Context) error {
	return x.Learned.Each(ctx,
		func(raw json.RawMessage) error { return x.w.Write(Record{Lesson: raw}) },
		func(raw json.RawMessage) error { return x.w.Write(Record{Preference: raw}) })
}

func (x exporter) exportNotes(ctx context.Context) error {
	list, err := x.Notes.Notes(ctx, api.Query{Limit: 1 << 30})
	if err != nil {
		return err
	}
	for _, n := range list {
		r := Note{ID: n.ID, Title: n.Title, Text: n.Text, Provenance: n.Provenance, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt}
		if n.Provenance.Tainted() {
			if r.Origins, err = origins.Of(x.q, origins.Row, n.ID); err != nil {
				return err
			}
		}
		if err := x.w.Write(Record{Note: &r}); err != nil {
			return err
		}
	}
	return nil
}

// exportDocs exports the parts of documents, and the messages of imported conversations.
func (x exporter) exportDocs(ctx context.Context) error {
	const page = 500
	for after := int64(0); ; {
		list, err := x.Memory.RowsAfter(x.q, after, page)
		if err != nil {
			return err
		}
		for _, c := range list {
			after = c.N
			if err := x.exportDoc(c.Doc); err != nil {
				return err
			}
		}
		if len(list) < page {
			return ctx.Err()
		}
	}
}

func (x exporter) exportDoc(d knowledge.Doc) (err error) {
	if d.Kind != knowledge.KindChunk && (d.Kind != knowledge.KindTurn || x.Conversations.OwnsRow(d.Ref)) {
		return nil
	}
	if d.Provenance.Tainted() {
		if d.Origins, err = origins.Of(x.q, origins.Row, d.Ref); err != nil {
			return err
		}
	}
	if d.Kind == knowledge.KindChunk {
		return x.w.Write(Record{Chunk: &d})
	}
	return x.w.Write(Record{Turn: &d})
}

func (x exporter) exportConversations(ctx context.Context) error {
	return x.Conversations.ForEach(ctx,
		func(s api.Session) error { return x.w.Write(Record{Session: new(Session(s))}) },
		func(session, turn string, at time.Time, raw []byte) error {
			return x.w.Write(Record{Message: &Message{Session: session, Turn: turn, At: at, Message: raw}})
		})
}

func (x exporter) exportGraph(ctx context.Context) error {
	if err := x.Graph.CatchUp(ctx, x.Memory); err != nil {
		return err
	}
	return x.Graph.ForEach(x.q,
		func(e knowledge.Entity) error { return x.w.Write(Record{Entity: &e}) },
		func(r knowledge.Relation) error { return x.w.Write(Record{Relation: &r}) })
}

// mostListed is the maximum number of documents that an export lists.
const mostListed = 1_000_000

// exportDocuments exports the imported documents; their parts follow as rows.
func (x exporter) exportDocuments(ctx context.Context) error {
	list, err := x.Documents.Documents(ctx, api.Query{Limit: mostListed})
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.ID == "" {
			continue // a file that could not be ingested has no id
		}
		raw, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if err := x.w.Write(Record{Document: raw}); err != nil {
			return err
		}
	}
	return nil
}
