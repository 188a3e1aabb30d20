package notify

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// State is the state of a notice.
type State string

// Values of State.
const (
	Told     State = "told"     // written to the outbox
	Held     State = "held"     // deferred until Until
	Due      State = "due"      // due, and waiting for the event that sends its digest
	Released State = "released" // sent in the digest that Of names
	Repeated State = "repeated" // repeats the notice that Of names
	Dropped  State = "dropped"  // no longer needed
	Checking State = "checking" // waiting for the user's hooks
	Refused  State = "refused"  // a hook refused it
)

// Reasons why a notice is deferred.
const (
	ByQuiet  = "quiet"  // quiet hours or muting
	ByDigest = "digest" // the urgency is low
	ByLike   = "like"   // many similar notices were sent
	ByCap    = "cap"    // many notices were sent
	BySnooze = "snooze" // the user snoozed the notice
	ByAsked  = "asked"  // the user requested the notice now
)

// Notice is the record of a message that Hob generated unprompted, whether it was sent or not.
type Notice struct {
	ID         string                `json:"id"`
	Event      string                `json:"event"`
	Kind       channels.DeliveryKind `json:"kind"`
	Cause      Cause                 `json:"cause"`
	Subject    string                `json:"subject,omitempty"` // title of the watcher, schedule or goal
	Watcher    string                `json:"watcher,omitempty"` // id of that watcher, schedule or goal
	Session    string                `json:"session"`
	Channel    string                `json:"channel"` // channel that was intended
	Chat       string                `json:"chat,omitempty"`
	Text       string                `json:"text,omitempty"`
	Provenance provenance.Source     `json:"provenance"`
	Urgency    Urgency               `json:"urgency"`
	Rule       string                `json:"rule"`              // what determined the urgency
	Weighed    bool                  `json:"weighed,omitempty"` // whether a model determined the urgency
	State      State                 `json:"state"`
	Why        string                `json:"why"` // reason why the notice was deferred or not
	HeldBy     string                `json:"held_by,omitempty"`
	Until      time.Time             `json:"until,omitzero"`
	Of         string                `json:"of,omitempty"`       // event of the digest that sent this notice, or id of the notice that this one repeats
	Delivery   string                `json:"delivery,omitempty"` // id of the notice's row in the outbox
	Again      int                   `json:"again,omitempty"`    // number of repetitions suppressed since
	CreatedAt  time.Time             `json:"created_at"`
	ToldAt     time.Time             `json:"told_at,omitzero"`

	// Place explains why Channel was chosen. Tried lists channels on which delivery failed.
	Place string `json:"place,omitempty"`
	Tried string `json:"tried,omitempty"`
	Stuck bool   `json:"stuck,omitempty"` // whether the notice is waiting for its channel and no other channel can send it

	Fact, Shape string `json:"-"` // keys for this content and for similar content; "" means that the notice may be repeated
}

// Migrations returns the migrations of the package's table. If a notice was sent immediately, its
// text is only in the outbox.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "notify", Steps: []string{`
CREATE TABLE notices (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	event TEXT NOT NULL, kind TEXT NOT NULL, cause TEXT NOT NULL, subject TEXT NOT NULL,
	session TEXT NOT NULL, channel TEXT NOT NULL, chat TEXT NOT NULL, text TEXT NOT NULL, provenance TEXT NOT NULL,
	urgency TEXT NOT NULL, rule TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL, held_by TEXT NOT NULL, until INTEGER NOT NULL,
	digest TEXT NOT NULL, delivery TEXT NOT NULL, created_at INTEGER NOT NULL, told_at INTEGER NOT NULL);
CREATE INDEX notices_held ON notices(until) WHERE state = 'held';
CREATE INDEX notices_event ON notices(event);
CREATE INDEX notices_digest ON notices(digest) WHERE digest <> '';
CREATE INDEX notices_delivery ON notices(delivery) WHERE delivery <> '';
`, `
ALTER TABLE notices ADD COLUMN fact TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN shape TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notices ADD COLUMN watcher TEXT NOT NULL DEFAULT '';
CREATE INDEX notices_fact ON notices(fact, created_at) WHERE fact <> '';
CREATE INDEX notices_shape ON notices(shape, created_at) WHERE shape <> '';
CREATE INDEX notices_told ON notices(told_at) WHERE state = 'told';
CREATE TABLE quiet_mode (one INTEGER PRIMARY KEY CHECK (one = 1), held INTEGER NOT NULL, until INTEGER NOT NULL);
`, `
ALTER TABLE notices ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN tried TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN stuck INTEGER NOT NULL DEFAULT 0;
`, `
ALTER TABLE notices ADD COLUMN weighed INTEGER NOT NULL DEFAULT 0;
`, `
CREATE INDEX notices_created ON notices(created_at);
`}}
}

// Eraser returns the eraser for the table. It deletes the rows for events that are erased
// completely. Their deferred messages are not sent.
func Eraser() erase.Eraser {
	return erase.Owned{Besides: []string{"quiet_mode"}, Before: clearContentKeys, List: []erase.Table{{
		Name: "notices", Key: []string{"seq"}, Text: []string{"text", "subject", "rule", "why", "place"}, Event: "event", Session: "session",
	}}}
}

// clearContentKeys clears all content keys, because they could be used to verify guesses about a
// notice's text.
func clearContentKeys(tx *store.Tx, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	_, err = tx.Exec(`UPDATE notices SET fact = '', shape = '' WHERE fact <> ''`)
	return n, wrapError("clear the content keys", err)
}

const columns = `id, event, kind, cause, subject, session, channel, chat, text, provenance, urgency, rule, state, why, held_by, until, digest, delivery, created_at, told_at, fact, shape, again, watcher, place, tried, stuck, weighed`

func insertTx(tx *store.Tx, r Notice) error {
	_, err := tx.Exec(`INSERT INTO notices (`+columns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		r.ID, r.Event, r.Kind, r.Cause, r.Subject, r.Session, r.Channel, r.Chat, r.Text, r.Provenance, r.Urgency.String(), r.Rule, r.State, r.Why, r.HeldBy,
		store.Millis(r.Until), r.Of, r.Delivery, store.Millis(r.CreatedAt), store.Millis(r.ToldAt), r.Fact, r.Shape, r.Again, r.Watcher, r.Place, r.Tried, r.Stuck, r.Weighed)
	return wrapError("store a notice", err)
}

func scanNotice(s interface{ Scan(...any) error }) (r Notice, err error) {
	var urgency string
	var until, created, told int64
	err = s.Scan(&r.ID, &r.Event, &r.Kind, &r.Cause, &r.Subject, &r.Session, &r.Channel, &r.Chat, &r.Text, &r.Provenance, &urgency, &r.Rule, &r.State, &r.Why, &r.HeldBy,
		&until, &r.Of, &r.Delivery, &created, &told, &r.Fact, &r.Shape, &r.Again, &r.Watcher, &r.Place, &r.Tried, &r.Stuck, &r.Weighed)
	if err != nil {
		return r, err
	}
	_ = r.Urgency.UnmarshalText([]byte(urgency)) // always valid, because insertTx wrote it
	r.Until, r.CreatedAt, r.ToldAt = store.Time(until), store.Time(created), store.Time(told)
	return r, nil
}

// listNotices returns the rows that match a condition.
func listNotices(q store.Querier, where string, args ...any) (out []Notice, err error) {
	rows, err := q.Query(`SELECT `+columns+` FROM notices `+where, args...)
	if err != nil {
		return nil, wrapError("list notices", err)
	}
	defer func() { err = errors.Join(err, wrapError("list notices", rows.Close())) }()
	for rows.Next() {
		r, err := scanNotice(rows)
		if err != nil {
			return nil, wrapError("list notices", err)
		}
		out = append(out, r)
	}
	return out, wrapError("list notices", rows.Err())
}

// firstDue returns the earliest time at which a deferred notice is due.
func firstDue(q store.Querier) (time.Time, error) {
	var ms sql.NullInt64
	err := q.QueryRow(`SELECT min(until) FROM notices INDEXED BY notices_held WHERE state = 'held'`).Scan(&ms)
	if err != nil || !ms.Valid {
		return time.Time{}, wrapError("find the next deferred notice", err)
	}
	return store.Time(ms.Int64), nil
}

// Prune deletes records from before the given time, except deferred notices and notices that are
// waiting for their channels.
func (n *Notifier) Prune(ctx context.Context, before time.Time) error {
	const old = `SELECT seq FROM notices WHERE created_at < ? AND state NOT IN ('held', 'due', 'checking')
		AND NOT EXISTS (SELECT 1 FROM outbox WHERE id = notices.delivery AND state IN ('queued', 'sending', 'failed')) LIMIT 5000`
	var some bool
	if err := n.o.Store.Reader(ctx).QueryRow(`SELECT EXISTS (`+old+`)`, before.UnixMilli()).Scan(&some); err != nil || !some {
		return wrapError("find old notices", err)
	}
	return n.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM notices WHERE seq IN (`+old+`)`, before.UnixMilli())
		return wrapError("delete old notices", err)
	})
}
