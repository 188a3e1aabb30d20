package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// batchImport is one batch of an import.
type batchImport struct {
	im *importer
	tx *store.Tx
	// touched contains the conversations to which messages were restored.
	touched map[string]bool
}

func (p batchImport) putRecord(r Record) error {
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

func (p batchImport) putOne(r Record) (added bool, err error) {
	im := p.im
	switch {
	case r.Fact != nil:
		return p.putFact(*r.Fact)
	case r.Note != nil:
		n := api.Note{ID: im.recordID("n", r.Note.ID), Title: r.Note.Title, Text: r.Note.Text, CreatedAt: r.Note.CreatedAt, UpdatedAt: r.Note.UpdatedAt}
		from := r.Note.Origins
		n.Provenance, from = im.limitTrust(r.Note.Provenance, from)
		added, err = im.Notes.RestoreTx(p.tx, n, from)
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
	return false, invalidRecordError{errors.New("the record has no known content")}
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
		f.Realm, f.Event, f.Pinned = "", "", false
	}
	out, err := im.Memory.RestoreTx(p.tx, f)
	if errors.Is(err, knowledge.ErrEmpty) || errors.Is(err, knowledge.ErrTooLong) || errors.Is(err, knowledge.ErrFactKind) {
		return false, invalidRecordError{err}
	}
	return err == nil && !out.Known, err
}

// putLearned imports lessons and preferences, but only from the user's own exports, because Hob
// must not learn from untrusted text.
func (p batchImport) putLearned(r Record) (added bool, err error) {
	if !p.im.isTrustedSource() {
		return false, invalidRecordError{errors.New("lessons are not imported from an untrusted file; use --trust if the file is yours")}
	}
	if r.Lesson != nil {
		added, err = p.im.Learned.RestoreLessonTx(p.tx, r.Lesson)
	} else {
		added, err = p.im.Learned.RestorePreferenceTx(p.tx, r.Preference)
	}
	if p.im.isUnfit(err) {
		return false, invalidRecordError{err}
	}
	return added, err
}

// putDocument restores a document, so that its parts belong to their file again. For foreign files,
// only the parts are imported.
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
	added, parts, err := im.Documents.RestoreTx(p.tx, d)
	if !parts {
		im.here[d.ID] = true
	}
	if im.isUnfit(err) {
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
		return false, invalidRecordError{errors.New("the record has no text or no id")}
	}
	d.Kind, d.Ref = kind, im.recordID("i", d.Ref)
	if kind == knowledge.KindTurn && im.Conversations.OwnsRow(d.Ref) {
		return false, invalidRecordError{errors.New("the id of the record belongs to one of your messages")}
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
	return true, im.Memory.IndexTx(p.tx, d)
}

// putTurn imports a message of a conversation with another program. The message counts as the
// user's own words only with --trust.
func (p batchImport) putTurn(d knowledge.Doc) (bool, error) {
	if d.Speaker == You && p.im.in.Trust {
		d.Speaker, d.Provenance = knowledge.ByOwner, provenance.Owner
	}
	if !p.im.isTrustedSource() && (d.Speaker == knowledge.ByOwner || d.Speaker == knowledge.ByHob || d.Speaker == knowledge.ByTool) {
		d.Speaker = knowledge.ByOutside
	}
	return p.putDoc(d, knowledge.KindTurn)
}

// putSession restores a conversation under its name, or under a new name if the name is already
// used.
func (p batchImport) putSession(s Session) (bool, error) {
	im := p.im
	if !im.isTrustedSource() { // messages in an untrusted file become rows without a conversation
		return false, nil
	}
	if s.ID == "" || len(s.ID) > 200 || s.CreatedAt.IsZero() {
		return false, invalidRecordError{errors.New("the conversation has no name or time")}
	}
	said := s.ID
	s.Channel = cmp.Or(s.Channel, "web")
	id, added, err := im.Conversations.RestoreTx(p.tx, api.Session(s))
	im.into[said] = id
	return added, err
}

func (p batchImport) putMessage(m Message) (bool, error) {
	im := p.im
	text, err := im.Conversations.MessageText(m.Message)
	if err != nil || m.Session == "" || m.Turn == "" || m.At.IsZero() || m.At.Before(time.Unix(0, 0)) {
		return false, invalidRecordError{cmp.Or(err, errors.New("the message belongs to no conversation"))}
	}
	if !im.isTrustedSource() {
		if strings.TrimSpace(text) == "" {
			return false, nil
		}
		im.pos[m.Session]++
		return p.putDoc(knowledge.Doc{
			Ref: fmt.Sprintf("%s/%s/%d", m.Session, m.Turn, im.pos[m.Session]), Text: text, At: m.At, Provenance: provenance.Outside, Group: m.Session,
			Pos: im.pos[m.Session], Speaker: You, Title: m.Session,
		}, knowledge.KindTurn)
	}
	id, ok := im.into[m.Session]
	if !ok {
		return false, invalidRecordError{errors.New("the conversation must come before its messages")}
	}
	added, err := im.Conversations.RestoreMessageTx(p.tx, id, m.Turn, m.At, m.Message)
	if added {
		p.touched[id] = true
	}
	return added, err
}

// finishBatch excludes the imported messages from later requests, where they would appear after
// newer messages.
func (p batchImport) finishBatch() error {
	for id := range p.touched {
		if err := p.im.Conversations.ResetTx(p.tx, id); err != nil {
			return err
		}
	}
	return nil
}

// isUnfit reports whether an error affects only one record. Such a record is skipped.
func (im *importer) isUnfit(err error) bool {
	return slices.ContainsFunc(im.Unfit, func(unfit error) bool { return errors.Is(err, unfit) })
}

// putGraph imports entities and relations that were created explicitly. The others are derived from
// facts, which are also imported.
func (p batchImport) putGraph(r Record) (added bool, err error) {
	im := p.im
	if e := r.Entity; e != nil {
		if im.isHobExport() && !e.ByHand || e.ID == knowledge.OwnerID {
			return false, nil
		}
		said := e.ID
		e.ID = im.recordID("e", e.ID)
		e.Source = im.sourceRef(e.Source)
		e.Provenance = im.limitSource(e.Provenance)
		if !im.isTrustedSource() {
			e.Realm = ""
		}
		var id string
		if id, added, err = im.Graph.RestoreEntityTx(p.tx, *e); err == nil {
			im.entities[said] = id
		}
		if errors.Is(err, knowledge.ErrNoEntity) {
			return false, invalidRecordError{err}
		}
		return added, err
	}
	x := r.Relation
	if im.isHobExport() && !x.ByHand {
		return false, nil
	}
	x.ID = im.recordID("r", x.ID)
	x.Fact = im.recordID("f", x.Fact)
	x.Source = im.sourceRef(x.Source)
	x.Provenance = im.limitSource(x.Provenance)
	x.From, x.To = im.localEntityID(x.From), im.localEntityID(x.To)
	if !im.isTrustedSource() {
		x.Realm = ""
	}
	added, err = im.Graph.RestoreRelationTx(p.tx, *x)
	switch {
	case errors.Is(err, knowledge.ErrNoEnd) && im.in.DryRun: // a real import would already have added the missing entity
		return true, nil
	case errors.Is(err, knowledge.ErrNoEnd), errors.Is(err, knowledge.ErrNoEntity):
		return false, invalidRecordError{err}
	}
	return added, err
}

// localEntityID returns the local id of an entity of the file.
func (im *importer) localEntityID(id string) string {
	if e, ok := im.entities[id]; ok {
		return e
	}
	if id == knowledge.OwnerID && im.isTrustedSource() {
		return id
	}
	return ""
}
