package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// batch is the number of messages indexed per transaction.
const batch = 200

// LibraryOptions holds functions that return information that conversations do not contain. Both
// are optional.
type LibraryOptions struct {
	// Realm returns the memory namespace of a conversation. Nil means the namespace of the main
	// agent.
	Realm func(ctx context.Context, session string) (string, error)
	// About returns the origin of a turn. Nil means that origins are unknown.
	About func(ctx context.Context, turn string) (About, error)
}

// About describes the origin of a turn.
type About struct {
	Sender string // sender of the message, unless the sender is the owner
	// Call reports whether the owner ran a tool without a conversation. Such messages are not
	// indexed, because the results are found elsewhere.
	Call bool
}

// MessageIndex indexes messages for search. Each searchable message becomes a row in the knowledge
// base, in the background. The id of the last indexed message is stored together with the rows, so
// a crash loses none. The methods may be called concurrently.
type MessageIndex struct {
	s    *Sessions
	base *knowledge.Base
	opt  LibraryOptions

	one sync.Mutex // one run at a time, because concurrent runs would create the same rows
}

// NewLibrary returns a MessageIndex.
func NewLibrary(s *Sessions, base *knowledge.Base, opt LibraryOptions) (*MessageIndex, error) {
	if s == nil || base == nil {
		return nil, errors.New("session: message index needs conversations and a knowledge base")
	}
	if opt.Realm == nil {
		opt.Realm = func(context.Context, string) (string, error) { return "", nil }
	}
	if opt.About == nil {
		opt.About = func(context.Context, string) (About, error) { return About{}, nil }
	}
	return &MessageIndex{s: s, base: base, opt: opt}, nil
}

// MessageRef returns a message's reference in the knowledge base.
func MessageRef(message int64) string { return "m" + strconv.FormatInt(message, 10) }

// MessageOf returns the message that a reference names. It returns false for references to other
// rows.
func MessageOf(ref string) (int64, bool) {
	digits, ok := strings.CutPrefix(ref, "m")
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, ok && err == nil && id > 0
}

// Index adds rows for the messages that are not indexed yet. It is called when Hob is idle and
// before each search.
func (l *MessageIndex) Index(ctx context.Context) error {
	l.one.Lock()
	defer l.one.Unlock()
	for {
		more, err := l.indexBatch(ctx)
		if err != nil {
			return fmt.Errorf("session: index messages: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// Behind returns the number of messages that are not indexed.
func (l *MessageIndex) Behind(ctx context.Context) (n int, err error) {
	err = l.s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM messages WHERE id > (SELECT last FROM indexed)`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("session: count the messages to index: %w", err)
	}
	return n, nil
}

// unindexedMessage is a message that is not indexed yet.
type unindexedMessage struct {
	id  int64
	raw []byte
	doc knowledge.Doc // Kind is "" if the message has no searchable text
}

// indexBatch indexes one batch of messages. It prepares the rows outside the transaction. The
// transaction checks that no message was changed or erased in the meantime.
func (l *MessageIndex) indexBatch(ctx context.Context) (more bool, err error) {
	var last int64
	if err := l.s.db.Read().QueryRowContext(ctx, `SELECT last FROM indexed`).Scan(&last); err != nil {
		return false, err
	}
	list, err := l.messagesAfter(ctx, last)
	if err != nil || len(list) == 0 {
		return false, err
	}
	err = l.s.db.Write(ctx, func(tx *store.Tx) error { return l.keepTx(tx, last, list) })
	if errors.Is(err, errAltered) {
		return true, nil
	}
	return len(list) == batch, err
}

func (l *MessageIndex) messagesAfter(ctx context.Context, last int64) (out []unindexedMessage, err error) {
	rows, err := l.s.db.Read().QueryContext(ctx, `SELECT id, session, turn, message, created_at, origin FROM messages WHERE id > ? ORDER BY id LIMIT `+strconv.Itoa(batch), last)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	w := originCache{l: l, realms: map[string]string{}, turns: map[string]About{}}
	for rows.Next() {
		var r Row
		var id string
		var raw []byte
		var at, origin int64
		if err := rows.Scan(&r.ID, &id, &r.Turn, &raw, &at, &origin); err != nil {
			return nil, err
		}
		f := unindexedMessage{id: r.ID, raw: raw}
		if origin == 0 { // messages copied by a fork are found only in the original conversation
			r.CreatedAt = store.Time(at)
			if f.doc, err = w.newDoc(ctx, id, r, raw); err != nil {
				return nil, err
			}
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// originCache caches information that is the same for several messages.
type originCache struct {
	l      *MessageIndex
	realms map[string]string // keyed by conversation
	turns  map[string]About
}

func (w originCache) newDoc(ctx context.Context, session string, r Row, raw []byte) (d knowledge.Doc, err error) {
	if err := json.Unmarshal(raw, &r.Message); err != nil {
		return d, fmt.Errorf("message %d: %w", r.ID, err)
	}
	d, ok := turnDoc(session, r)
	if !ok {
		return d, nil
	}
	about, ok := w.turns[r.Turn]
	if !ok {
		if about, err = w.l.opt.About(ctx, r.Turn); err != nil {
			return d, err
		}
		w.turns[r.Turn] = about
	}
	if about.Call {
		return knowledge.Doc{}, nil
	}
	if d.Realm, ok = w.realms[session]; !ok {
		if d.Realm, err = w.l.opt.Realm(ctx, session); err != nil {
			return d, err
		}
		w.realms[session] = d.Realm
	}
	if d.Speaker == WhoOutside {
		d.Speaker = senderName(about.Sender)
	}
	return d, nil
}

// turnDoc returns the row for a message. It returns false if the message has no searchable text.
func turnDoc(session string, r Row) (knowledge.Doc, bool) {
	text, src := searchableText(r.Message)
	if strings.TrimSpace(text) == "" {
		return knowledge.Doc{}, false
	}
	return knowledge.Doc{
		Kind: knowledge.KindTurn, Ref: MessageRef(r.ID), Text: text, At: r.CreatedAt, Provenance: src, Origins: OriginsIn(r.Message, session, r.Turn),
		Group: session, Speaker: SpeakerOf(r.Message), Source: "event:" + r.Turn,
	}, true
}

// senderName returns the name of a sender who is not the owner. The result is never a reserved
// name, because senders choose their own names.
func senderName(name string) string {
	name = textnorm.Ellipsize(strings.TrimSpace(name), 60)
	folded := textnorm.Fold(name)
	if name == "" || slices.Contains(Speakers(), folded) {
		return WhoOutside
	}
	return name
}

// errAltered means that a message changed between two reads.
var errAltered = errors.New("the message changed in the meantime")

// keepTx stores the rows, unless another process has already stored them.
func (l *MessageIndex) keepTx(tx *store.Tx, last int64, list []unindexedMessage) error {
	var now int64
	if err := tx.QueryRow(`SELECT last FROM indexed`).Scan(&now); err != nil || now != last {
		return err
	}
	places := map[string]int{}
	for _, f := range list {
		if f.doc.Kind == "" {
			continue
		}
		var same bool
		if err := tx.QueryRow(`SELECT count(*) FROM messages WHERE id = ? AND message = ?`, f.id, f.raw).Scan(&same); err != nil {
			return err
		}
		if !same { // the message was erased, completely or in part
			return errAltered
		}
		var err error
		if f.doc.Pos, err = l.placeTx(tx, places, f.doc); err != nil {
			return err
		}
		if err := l.base.IndexTx(tx, f.doc); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`UPDATE indexed SET last = ?`, list[len(list)-1].id)
	return err
}

// placeTx numbers the rows of a conversation consecutively, so that adjacent messages have
// consecutive numbers. An existing row keeps its number.
func (l *MessageIndex) placeTx(tx *store.Tx, places map[string]int, d knowledge.Doc) (int, error) {
	var pos int
	err := tx.QueryRow(`SELECT pos FROM docs WHERE kind = ? AND ref = ?`, d.Kind, d.Ref).Scan(&pos)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return pos, err
	}
	if places[d.Group] == 0 {
		if err := tx.QueryRow(`SELECT coalesce(max(pos), 0) FROM docs WHERE grp = ? AND kind = ?`, d.Group, d.Kind).Scan(&pos); err != nil {
			return 0, err
		}
		places[d.Group] = pos
	}
	places[d.Group]++
	return places[d.Group], nil
}
