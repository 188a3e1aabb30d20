// Package bus is Hob's durable queue. It consists of the inbox (events that arrived), the outbox
// (messages to send) and the ledger (started and ended tool calls), which are all in the store. It
// also has a live feed for user interfaces, which may drop events and counts the drops.
//
// It guarantees that nothing is lost and nothing is done twice: an event is stored before its
// source is acknowledged; a reply enters the outbox in the transaction that completes its event; a
// call with effects has a ledger row before it runs. It makes no decisions: Claim selects the next
// event, and callers provide the content.
package bus

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// Limits of the inbox.
const (
	// MaxAttempts is the number of attempts after which an event is dead.
	MaxAttempts = 3
	// MaxCrashes is the number of crashes while processing an event after which the event is dead.
	MaxCrashes = 20
	// counted is the maximum queue position that is counted. It is part of the SQL statement,
	// because SQLite would compile the statement at each call if LIMIT were a parameter.
	counted = "101"
)

// Options holds the options of New.
type Options struct {
	// Route resolves the actual target of a delivery: the name of a running channel, its chat, and
	// whether its clients pull (see channels.PullChannel). Nil means that all channels are pull
	// channels.
	Route func(channel, chat string) (string, string, bool)
	// Redact removes credentials from outgoing messages and stored calls. Nil disables this.
	Redact func(string) string
	// NoticeFilter filters each message passed to EnqueueTx before it is queued, in the same
	// transaction. OutboxItem.ID is the id of the delivery. The filter may change the target; if it
	// returns false, the message is dropped. If it is nil, all messages are queued.
	NoticeFilter func(tx *store.Tx, event string, o OutboxItem) (OutboxItem, bool, error)
	// Lost handles a message to the owner that cannot be delivered. It returns true if the message
	// was sent another way. Nil disables this.
	Lost func(tx *store.Tx, d Delivery) (bool, error)
	// Now returns the time for rows. Nil means time.Now.
	Now func() time.Time
	// Lease is the membership of this process in a fleet that shares the database. Nil means that
	// this is the only process.
	Lease *lease.Member
	// Spool contains the copies of outgoing files. Required in a fleet.
	Spool *channels.Spool
	Log   *slog.Logger // nil discards all messages
}

// Bus combines the inbox, outbox, ledger and feed over one store. The methods of its parts may be
// called concurrently.
type Bus struct {
	Inbox  *Inbox
	Outbox *Outbox
	Ledger *Ledger
	// Scheduled holds the delayed calls.
	Scheduled *ScheduledSends
	Feed      *Feed
	// Owner returns where and when the owner wrote. Pause stops background work.
	Owner *OwnerMessages
	Pause *Pause
	// Hold keeps restored events and messages until the owner releases them.
	Hold *Hold
	// Files shares the files of messages in a fleet.
	Files *SharedFiles
	// Lease is the membership of this process in a fleet; see Options.Lease.
	Lease *lease.Member
}

// New returns a Bus over a store opened with Migrations.
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
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	feed := newFeed(opt.Now)
	files := &SharedFiles{db: db, lease: opt.Lease, now: opt.Now, spool: opt.Spool, log: opt.Log, seen: -1}
	inbox := &Inbox{db: db, files: files, now: opt.Now, lease: opt.Lease, wake: make(chan struct{}, 1), waiters: map[string][]chan struct{}{}, served: map[string]uint64{}, route: opt.Route}
	sends := &ScheduledSends{db: db, now: opt.Now, clean: opt.Redact, wake: make(chan struct{}, 1)}
	outbox := &Outbox{
		db: db, files: files, now: opt.Now, feed: feed, filter: opt.NoticeFilter, lost: opt.Lost, clean: opt.Redact, route: opt.Route, signals: map[string]chan struct{}{},
	}
	opt.Lease.Follow(func() {
		inbox.SignalWork()
		recheckAllWaiters(inbox)
	}, "inbox", "inbox_joined", "pause", "restore_hold", "approvals") // see guard: an event may wait for an approval
	opt.Lease.Follow(outbox.signalAll, "outbox", "restore_hold")
	opt.Lease.Follow(sends.signalWork, "scheduled_sends", "restore_hold")
	return &Bus{
		Inbox:     inbox,
		Outbox:    outbox,
		Ledger:    &Ledger{db: db, now: opt.Now, clean: opt.Redact},
		Scheduled: sends,
		Feed:      feed,
		Files:     files,
		Owner:     &OwnerMessages{db: db},
		Pause:     &Pause{db: db, now: opt.Now, inbox: inbox, feed: feed},
		Hold:      &Hold{db: db, now: opt.Now, inbox: inbox, outbox: outbox, sends: sends, feed: feed},
		Lease:     opt.Lease,
	}
}

// Migrations returns the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "bus", Steps: []string{schema1, schema2, schemaLinks, schemaUndone, schemaPause, schemaKept, schemaChannels, schemaShown, schemaScheduled, schemaHold, schemaRunning, schemaSignals, schemaClaims, schemaFiles}}
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

// schema2 adds delayed sends, which can be canceled, and undone actions per conversation.
const schema2 = `
CREATE INDEX outbox_held ON outbox(channel, not_before) WHERE kind = 'send' AND state = 'queued';
CREATE INDEX ledger_undone ON ledger(session, undone_at) WHERE undone_at > 0;
`

// schemaLinks adds a column for the addresses in a call's result that may be opened next.
const schemaLinks = `ALTER TABLE ledger ADD COLUMN links TEXT NOT NULL DEFAULT '';`

// schemaUndone adds a column for the event that undid an action.
const schemaUndone = `ALTER TABLE ledger ADD COLUMN undone_by TEXT NOT NULL DEFAULT '';`

// NewID returns a UUIDv7. These ids sort by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
