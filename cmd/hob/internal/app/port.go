package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"io"
	"time"

	"hob/autonomy/session"
	"hob/knowledge"
	"hob/knowledge/transfer"
	"hob/platform/host/system"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/tools/memory"
)

// sealKey is the key of this home's exports.
func (d *App) sealKey() ([]byte, error) {
	k, err := system.EnsureKey(d.opt.Paths.AuditKeyFile())
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, k)
	m.Write([]byte("hob memory export"))
	return m.Sum(nil), nil
}

// transfers exports and imports the memory.
type transfers struct{ d *App }

// MemoryExport implements service.Transfer.
func (b transfers) MemoryExport(ctx context.Context, to io.Writer, format string, conversations bool) error {
	key, err := b.d.sealKey()
	if err != nil {
		return err
	}
	var w transfer.Writer
	if format == "markdown" {
		w, err = transfer.NewMarkdown(to, key, time.Now(), b.d.zone())
	} else {
		w, err = transfer.NewJSONL(to, key, time.Now())
	}
	if err != nil {
		return err
	}
	x := exporter{d: b.d, w: w, q: b.d.store.Reader(ctx)}
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

// exporter writes everything, a kind at a time.
type exporter struct {
	d *App
	w transfer.Writer
	q store.Querier
}

func (x exporter) exportFacts(context.Context) error {
	return x.d.base.EachFact(x.q, func(f knowledge.Fact) error { return x.w.Write(transfer.Record{Fact: &f}) })
}

func (x exporter) exportLearned(ctx context.Context) error {
	return x.d.learner.Each(ctx,
		func(raw json.RawMessage) error { return x.w.Write(transfer.Record{Lesson: raw}) },
		func(raw json.RawMessage) error { return x.w.Write(transfer.Record{Preference: raw}) })
}

func (x exporter) exportNotes(ctx context.Context) error {
	list, err := memory.Notes(ctx, x.d.store, 1<<30)
	if err != nil {
		return err
	}
	for _, n := range list {
		r := transfer.Note{ID: n.ID, Title: n.Title, Text: n.Text, Provenance: n.Provenance, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt}
		if n.Provenance.Tainted() {
			if r.Origins, err = origins.Of(x.q, origins.Row, n.ID); err != nil {
				return err
			}
		}
		if err := x.w.Write(transfer.Record{Note: &r}); err != nil {
			return err
		}
	}
	return nil
}

// exportDocs exports the parts of documents, and the messages of imported conversations.
func (x exporter) exportDocs(ctx context.Context) error {
	const page = 500
	for after := int64(0); ; {
		list, err := x.d.base.RowsAfter(x.q, after, page)
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
	_, ours := session.MessageOf(d.Ref)
	if d.Kind != knowledge.KindChunk && (d.Kind != knowledge.KindTurn || ours) {
		return nil
	}
	if d.Provenance.Tainted() {
		if d.Origins, err = origins.Of(x.q, origins.Row, d.Ref); err != nil {
			return err
		}
	}
	if d.Kind == knowledge.KindChunk {
		return x.w.Write(transfer.Record{Chunk: &d})
	}
	return x.w.Write(transfer.Record{Turn: &d})
}

func (x exporter) exportConversations(ctx context.Context) error {
	return x.d.sessions.ForEach(ctx,
		func(i session.Info) error {
			return x.w.Write(transfer.Record{Session: &transfer.Session{ID: i.ID, Channel: i.Channel, Chat: i.Chat, Turns: i.Turns, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}})
		},
		func(id string, r session.Row, raw []byte) error {
			return x.w.Write(transfer.Record{Message: &transfer.Message{Session: id, Turn: r.Turn, At: r.CreatedAt, Message: raw}})
		})
}
