package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/mind/learn"
	"hob/autonomy/session"
	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/knowledge/transfer"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
	"hob/tools/memory"
)

// batchImport is one batch of an import.
type batchImport struct {
	im *importer
	tx *store.Tx
	// touched are conversations that got messages back.
	touched map[string]bool
}

func (p batchImport) putRecord(r transfer.Record) error {
	added, err := p.putOne(r)
	var unfit invalidRecordError
	switch {
	case errors.As(err, &unfit):
		p.im.skipRecord(r.Kind(), unfit.error)
		return nil
	case err != nil:
		return err
	case added:
		p.im.out.Counts[r.Kind()]++
		p.im.out.Added++
	default:
		p.im.out.Known++
	}
	return nil
}

func (p batchImport) putOne(r transfer.Record) (added bool, err error) {
	im := p.im
	switch {
	case r.Fact != nil:
		return p.putFact(*r.Fact)
	case r.Note != nil:
		n := memory.Note{ID: im.recordID("n", r.Note.ID), Title: r.Note.Title, Text: r.Note.Text, CreatedAt: r.Note.CreatedAt, UpdatedAt: r.Note.UpdatedAt}
		from := r.Note.Origins
		n.Provenance, from = im.limitTrust(r.Note.Provenance, from)
		added, err = memory.RestoreNoteTx(p.tx, im.d.base, n, from)
		if e, ok := errors.AsType[*tools.Error](err); ok {
			return false, invalidRecordError{e}
		}
		return added, err
	case r.Lesson != nil, r.Preference != nil:
		return p.putLearned(r)
	case r.Entity != nil, r.Relation != nil:
		return p.putGraph(r)
	case r.Document != nil:
		return p.putDocument(r.Document)
	case r.Chunk != nil:
		return p.putDoc(*r.Chunk, knowledge.KindChunk)
	case r.Turn != nil:
		return p.putTurn(*r.Turn)
	case r.Session != nil:
		return p.putSession(*r.Session)
	case r.Message != nil:
		return p.putMessage(*r.Message)
	}
	return false, invalidRecordError{errors.New("it holds nothing that is known")}
}

func (p batchImport) putFact(f knowledge.Fact) (bool, error) {
	im := p.im
	f.ID, f.RetiredBy = im.recordID("f", f.ID), im.recordID("f", f.RetiredBy)
	f.Source = im.sourceRef(f.Source)
	f.Provenance, f.Origins = im.limitTrust(f.Provenance, f.Origins)
	if !im.isHobExport() && im.in.Trust {
		f.Provenance, f.Origins = provenance.Owner, nil
	}
	if !im.isTrustedSource() {
		f.Realm, f.Event = "", ""
	}
	out, err := im.d.base.RestoreTx(p.tx, f)
	if errors.Is(err, knowledge.ErrEmpty) || errors.Is(err, knowledge.ErrTooLong) {
		return false, invalidRecordError{err}
	}
	return err == nil && !out.Known, err
}

// putLearned imports lessons and preferences only from the user's own exports: Hob learns nothing
// from untrusted text.
func (p batchImport) putLearned(r transfer.Record) (added bool, err error) {
	if !p.im.isTrustedSource() {
		return false, invalidRecordError{errors.New("nothing is learned from a file of others; say --trust if it is yours")}
	}
	if r.Lesson != nil {
		added, err = p.im.d.learner.RestoreLessonTx(p.tx, r.Lesson)
	} else {
		added, err = p.im.d.learner.RestorePreferenceTx(p.tx, r.Preference)
	}
	if errors.Is(err, learn.ErrNotLearned) {
		return false, invalidRecordError{err}
	}
	return added, err
}

// putDocument restores a document, so that its parts belong to their file again. From foreign
// files only the parts are imported.
func (p batchImport) putDocument(raw json.RawMessage) (bool, error) {
	im := p.im
	if !im.isTrustedSource() {
		return false, nil
	}
	var d api.Document
	if err := json.Unmarshal(raw, &d); err != nil {
		return false, invalidRecordError{err}
	}
	d.Provenance, _ = im.limitTrust(d.Provenance, nil)
	added, parts, err := im.d.documents.RestoreTx(p.tx, d)
	if !parts {
		im.here[d.ID] = true
	}
	if errors.Is(err, ingest.ErrTaken) || errors.Is(err, ingest.ErrNotFound) {
		return false, invalidRecordError{err}
	}
	return added, err
}

// putDoc imports a standalone row. It never overwrites an existing one.
func (p batchImport) putDoc(d knowledge.Doc, kind string) (bool, error) {
	im := p.im
	if kind == knowledge.KindChunk && im.here[d.Group] {
		return false, nil
	}
	if strings.TrimSpace(d.Text) == "" || d.Ref == "" {
		return false, invalidRecordError{errors.New("it is empty")}
	}
	d.Kind, d.Ref = kind, im.recordID("i", d.Ref)
	if _, ours := session.MessageOf(d.Ref); ours && kind == knowledge.KindTurn {
		return false, invalidRecordError{errors.New("its id is that of a message of yours")}
	}
	d.Source = im.sourceRef(d.Source)
	d.Provenance, d.Origins = im.limitTrust(d.Provenance, d.Origins)
	if !im.isTrustedSource() {
		d.Realm = ""
	}
	if im.isHobExport() && !im.isTrustedSource() {
		d.Group = im.recordID("g", d.Group)
	}
	var n int
	if err := p.tx.QueryRow(`SELECT count(*) FROM docs WHERE kind = ? AND ref = ?`, d.Kind, d.Ref).Scan(&n); err != nil || n > 0 {
		return false, err
	}
	return true, im.d.base.IndexTx(p.tx, d)
}

// putTurn imports a message of a conversation with another program. It counts as the user's own
// words only with --trust.
func (p batchImport) putTurn(d knowledge.Doc) (bool, error) {
	if d.Speaker == transfer.You && p.im.in.Trust {
		d.Speaker, d.Provenance = session.WhoOwner, provenance.Owner
	}
	if !p.im.isTrustedSource() && (d.Speaker == session.WhoOwner || d.Speaker == session.WhoHob || d.Speaker == session.WhoTool) {
		d.Speaker = session.WhoOutside
	}
	return p.putDoc(d, knowledge.KindTurn)
}

// putSession puts a conversation back under its name, or beside another of the
// same name.
func (p batchImport) putSession(s transfer.Session) (bool, error) {
	im := p.im
	if !im.isTrustedSource() { // its messages become rows alone
		return false, nil
	}
	if s.ID == "" || len(s.ID) > 200 || s.CreatedAt.IsZero() {
		return false, invalidRecordError{errors.New("the conversation has no name or time")}
	}
	info := session.Info{ID: s.ID, Channel: cmp.Or(s.Channel, "web"), Chat: s.Chat, Turns: s.Turns, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}
	var there int64
	err := p.tx.QueryRow(`SELECT coalesce(max(created_at), 0) FROM sessions WHERE id = ?`, s.ID).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("import: %w", err)
	}
	if there != 0 && there != store.Millis(s.CreatedAt) {
		info.ID, info.Channel, info.Chat = s.ID+"-imported", "web", ""
	}
	im.into[s.ID] = info.ID
	return im.d.sessions.RestoreTx(p.tx, info)
}

func (p batchImport) putMessage(m transfer.Message) (bool, error) {
	im := p.im
	msg, err := session.DecodeMessage(m.Message)
	if err != nil || m.Session == "" || m.Turn == "" || m.At.IsZero() || m.At.Before(time.Unix(0, 0)) {
		return false, invalidRecordError{cmp.Or(err, errors.New("it belongs to no conversation"))}
	}
	if !im.isTrustedSource() {
		text, _ := session.Text(msg)
		if strings.TrimSpace(text) == "" {
			return false, nil
		}
		im.pos[m.Session]++
		return p.putDoc(knowledge.Doc{
			Ref: fmt.Sprintf("%s/%s/%d", m.Session, m.Turn, im.pos[m.Session]), Text: text, At: m.At, Provenance: provenance.Outside, Group: m.Session,
			Pos: im.pos[m.Session], Speaker: transfer.You, Title: m.Session,
		}, knowledge.KindTurn)
	}
	id, ok := im.into[m.Session]
	if !ok {
		return false, invalidRecordError{errors.New("its conversation does not stand before it")}
	}
	added, err := im.d.sessions.RestoreMessageTx(p.tx, id, m.Turn, m.At, msg)
	if added {
		p.touched[id] = true
	}
	return added, err
}

// finishBatch excludes the imported messages from later requests, where they would appear after newer
// ones.
func (p batchImport) finishBatch() error {
	for id := range p.touched {
		if err := p.im.d.sessions.ResetTx(p.tx, id); err != nil {
			return err
		}
	}
	return nil
}
