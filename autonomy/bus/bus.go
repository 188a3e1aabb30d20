// Package bus is Hob's durable queue: the inbox (events that arrived), the outbox (messages to
// send) and the ledger (started and ended tool calls), all in the store, plus a live feed for
// user interfaces that may drop events and counts the drops.
//
// It guarantees that nothing is lost and nothing is done twice: an event is stored before its
// source is acknowledged; a reply enters the outbox in the transaction that finishes its event;
// a call with effects is a ledger row before it runs. It makes no decisions: Claim selects the
// next event, and callers provide the texts.
package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Limits of the inbox.
const (
	// MaxAttempts is the number of attempts before an event is dead.
	MaxAttempts = 3
	// MaxCrashes is the number of crashes during an event before it is dead.
	MaxCrashes = 20
	// counted is the limit for counting a queue position. (With a bound LIMIT SQLite compiles
	// the statement each time.)
	counted = "101"
)

// Options of New.
type Options struct {
	// Route resolves the actual target of a delivery: the name of a running channel, its chat,
	// and whether its clients pull (see channels.PullChannel). nil means that every channel is
	// pulled.
	Route func(channel, chat string) (string, string, bool)
	// Redact removes credentials from outgoing texts and stored calls; nil disables it.
	Redact func(string) string
	// Gate filters each text of EnqueueTx before it is queued, in its transaction; Out.ID is the id
	// of its delivery. It may change the target; false drops the text. nil: all are queued.
	NoticeFilter func(tx *store.Tx, event string, o OutboxItem) (OutboxItem, bool, error)
	// Lost handles a text to the owner that cannot be delivered; true means that it was sent
	// another way. nil disables it.
	Lost func(tx *store.Tx, d Delivery) (bool, error)
	// Now returns the time for rows; nil means time.Now.
	Now func() time.Time
}

// Bus is the inbox, outbox, ledger and feed over one store. Its methods may be called
// concurrently.
type Bus struct {
	Feed  *Feed
	db    *store.Store
	route func(string, string) (string, string, bool)
	now   func() time.Time
	clean func(string) string
	gate  func(*store.Tx, string, OutboxItem) (OutboxItem, bool, error)
	lost  func(*store.Tx, Delivery) (bool, error)
	wake  chan struct{}

	mu      sync.Mutex
	waiters map[string][]chan struct{} // by event id
	doors   map[string]chan struct{}   // by channel: rows may be due
	served  map[string]uint64          // lane -> when it was last claimed
	serial  uint64
	calm    idleMark
}

// New makes a bus over a store that was opened with Migrations.
func New(db *store.Store, opt Options) *Bus {
	if opt.Route == nil {
		opt.Route = func(ch, chat string) (string, string, bool) { return ch, chat, true }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Redact == nil {
		opt.Redact = func(s string) string { return s }
	}
	if opt.NoticeFilter == nil {
		opt.NoticeFilter = func(_ *store.Tx, _ string, o OutboxItem) (OutboxItem, bool, error) { return o, true, nil }
	}
	if opt.Lost == nil {
		opt.Lost = func(*store.Tx, Delivery) (bool, error) { return false, nil }
	}
	return &Bus{
		Feed: newFeed(opt.Now), db: db, gate: opt.NoticeFilter, lost: opt.Lost, clean: opt.Redact, route: opt.Route, now: opt.Now, wake: make(chan struct{}, 1),
		waiters: map[string][]chan struct{}{}, doors: map[string]chan struct{}{}, served: map[string]uint64{},
	}
}

// Migrations of the bus's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "bus", Steps: []string{schema1, schema2, schemaLinks, schemaUndone, schemaPause, schemaKept, schemaChannels, schemaShown}}
}

const schema1 = `
CREATE TABLE inbox (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	kind TEXT NOT NULL, source TEXT NOT NULL, session TEXT NOT NULL, lane TEXT NOT NULL,
	command INTEGER NOT NULL DEFAULT 0,
	channel TEXT NOT NULL DEFAULT '', chat TEXT NOT NULL DEFAULT '', sender TEXT NOT NULL DEFAULT '',
	text TEXT NOT NULL, payload BLOB, provenance TEXT NOT NULL,
	received_at INTEGER NOT NULL, key TEXT,
	state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
	not_before INTEGER NOT NULL DEFAULT 0,
	error TEXT NOT NULL DEFAULT '', answer TEXT NOT NULL DEFAULT '', done_at INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX inbox_key ON inbox(source, key) WHERE key IS NOT NULL;
CREATE INDEX inbox_open ON inbox(lane, seq) WHERE state IN ('pending', 'claimed');
CREATE INDEX inbox_session ON inbox(session, seq);
CREATE INDEX inbox_crashed ON inbox(seq) WHERE crashes > 0;

CREATE TABLE outbox (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	event TEXT NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL,
	session TEXT NOT NULL, channel TEXT NOT NULL, chat TEXT NOT NULL DEFAULT '', text TEXT NOT NULL,
	provenance TEXT NOT NULL,
	state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,
	maybe_repeated INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', receipt TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, sent_at INTEGER NOT NULL DEFAULT 0,
	UNIQUE (event, n));
CREATE INDEX outbox_open ON outbox(channel, chat, seq) WHERE state IN ('queued', 'sending', 'failed');
CREATE INDEX outbox_session ON outbox(session, seq);
CREATE INDEX outbox_notices ON outbox(session, seq) WHERE kind = 'notice';

CREATE TABLE ledger (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	call TEXT NOT NULL UNIQUE,
	event TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, args BLOB NOT NULL,
	effects TEXT NOT NULL, state TEXT NOT NULL,
	decision TEXT NOT NULL DEFAULT '', code TEXT NOT NULL DEFAULT '',
	result TEXT NOT NULL DEFAULT '', data BLOB, source TEXT NOT NULL DEFAULT '',
	undo_label TEXT NOT NULL DEFAULT '', undo BLOB, undone_at INTEGER NOT NULL DEFAULT 0,
	started_at INTEGER NOT NULL, finished_at INTEGER NOT NULL DEFAULT 0);
CREATE INDEX ledger_event ON ledger(event);
CREATE INDEX ledger_undo ON ledger(seq) WHERE undo IS NOT NULL;
`

// schema2 adds delayed sends, which can be cancelled, and undone actions per conversation.
const schema2 = `
CREATE INDEX outbox_held ON outbox(channel, not_before) WHERE kind = 'send' AND state = 'queued';
CREATE INDEX ledger_undone ON ledger(session, undone_at) WHERE undone_at > 0;
`

// schemaLinks: the addresses in a call's result that may be opened next.
const schemaLinks = `ALTER TABLE ledger ADD COLUMN links TEXT NOT NULL DEFAULT '';`

// schemaUndone adds the event that undid an action.
const schemaUndone = `ALTER TABLE ledger ADD COLUMN undone_by TEXT NOT NULL DEFAULT '';`

// NewID returns a UUIDv7: ids sort by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Wake is signalled if there may be something to claim.
func (b *Bus) Wake() <-chan struct{} { return b.wake }

// SignalWork makes Wake fire.
func (b *Bus) SignalWork() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Recover puts interrupted events back; they continue during a pause too. Call it once, before
// the first Claim. It returns the events that crashed too often and are dead, also those of
// earlier starts, until a reply or a notice reports them.
func (b *Bus) Recover(ctx context.Context) (dead []Event, err error) {
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		dead = nil
		if _, err := tx.Exec(`UPDATE inbox SET crashes = crashes + 1, attempts = attempts - 1, state = 'pending', not_before = ? WHERE state = 'claimed'`, resumed); err != nil {
			return err
		}
		crashed, err := scanEvents(tx.Query(`SELECT `+eventColumns+` FROM inbox INDEXED BY inbox_crashed WHERE crashes > 0 AND crashes >= ? AND state = 'pending'`, MaxCrashes))
		if err != nil {
			return err
		}
		for _, e := range crashed {
			if err := b.deadTx(tx, e.ID, "Hob stopped unexpectedly over this again and again"); err != nil {
				return err
			}
		}
		dead, err = scanEvents(tx.Query(`SELECT `+eventColumns+` FROM inbox INDEXED BY inbox_crashed WHERE crashes > 0 AND crashes >= ? AND state = 'dead'
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE event = inbox.id AND kind IN ('reply', 'notice')) ORDER BY seq`, MaxCrashes))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: recover: %w", err)
	}
	return dead, nil
}

// Put makes an event durable and returns its id; for a known key, the id of the first event and
// repeated = true.
func (b *Bus) Put(ctx context.Context, e Event) (acc channels.Accepted, err error) {
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		acc, err = b.PutTx(tx, e)
		return err
	})
	if err != nil {
		return channels.Accepted{}, fmt.Errorf("bus: take event: %w", err)
	}
	return acc, nil
}

// PutTx is Put inside the caller's transaction.
func (b *Bus) PutTx(tx *store.Tx, e Event) (channels.Accepted, error) {
	if e.ID == "" {
		e.ID = NewID()
	}
	if e.Lane == "" {
		e.Lane = e.Session
	}
	if e.ReceivedAt.IsZero() {
		e.ReceivedAt = b.now()
	}
	if e.Provenance == "" {
		e.Provenance = provenance.Outside
	}
	var key any
	if e.Key != "" {
		key = e.Key
	}
	var payload any
	if len(e.Payload) > 0 {
		payload = []byte(e.Payload)
	}
	command := e.Lane != e.Session
	if id, err := joinedTx(tx, e); err != nil || id != "" {
		return channels.Accepted{Event: id, Repeated: id != ""}, err
	}
	res, err := tx.Exec(`INSERT INTO inbox (id, kind, source, session, lane, command, channel, chat, sender, text, payload, provenance, received_at, key, state, not_before)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,'pending',?) ON CONFLICT DO NOTHING`,
		e.ID, e.Kind, e.Source, e.Session, e.Lane, command, e.Channel, e.Chat, e.Sender, e.Text, payload, e.Provenance,
		store.Millis(e.ReceivedAt), key, store.Millis(e.NotBefore))
	if err != nil {
		return channels.Accepted{}, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		var id string
		if err := tx.QueryRow(`SELECT id FROM inbox WHERE source = ? AND key = ?`, e.Source, key).Scan(&id); err != nil {
			return channels.Accepted{}, fmt.Errorf("find the first event of key %q: %w", e.Key, err)
		}
		return channels.Accepted{Event: id, Repeated: true}, nil
	}
	acc := channels.Accepted{Event: e.ID}
	if !command {
		if err := tx.QueryRow(`SELECT count(*) - 1 FROM (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ? LIMIT `+counted+`)`,
			e.Lane).Scan(&acc.Position); err != nil {
			return acc, err
		}
	}
	tx.AfterCommit(b.SignalWork)
	return acc, nil
}
