package watchers

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/store"
)

// polls is the schema for polled watchers: their positions, and the digests of the keys that fired
// or existed at the baseline. For other watchers it contains the number of firings per day.
const polls = `ALTER TABLE watchers ADD COLUMN every TEXT NOT NULL DEFAULT '';
ALTER TABLE watchers ADD COLUMN active_hours TEXT NOT NULL DEFAULT '';
ALTER TABLE watchers ADD COLUMN per_day INTEGER NOT NULL DEFAULT 0;
CREATE TABLE watcher_polls (
	watcher TEXT PRIMARY KEY,
	life INTEGER NOT NULL DEFAULT 1,
	begun_at INTEGER NOT NULL,
	based INTEGER NOT NULL DEFAULT 0,
	cursor TEXT NOT NULL DEFAULT '',
	not_before INTEGER NOT NULL DEFAULT 0,
	fails INTEGER NOT NULL DEFAULT 0,
	failing_since INTEGER NOT NULL DEFAULT 0,
	told INTEGER NOT NULL DEFAULT 0,
	day TEXT NOT NULL DEFAULT '',
	fired_today INTEGER NOT NULL DEFAULT 0,
	left_today INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE watcher_keys (
	watcher TEXT NOT NULL,
	key BLOB NOT NULL,
	PRIMARY KEY (watcher, key)
) WITHOUT ROWID;`

// poll is one row of the table watcher_polls.
type poll struct {
	watcher   string
	life      int64 // number of starts; results of an earlier start are discarded
	begun     time.Time
	based     bool // the baseline exists
	cursor    json.RawMessage
	notBefore time.Time
	fails     int // consecutive failures
	since     time.Time
	told      bool // true after the user was notified of the failure
	day       string
	fired     int // number of firings on the day in the field day
	left      int // number of signals dropped on the day in the field day
}

func selectPoll(q store.Querier, id string) (poll, error) {
	p := poll{watcher: id}
	var begun, before, since int64
	var cursor string
	err := q.QueryRow(`SELECT life, begun_at, based, cursor, not_before, fails, failing_since, told, day, fired_today, left_today
		FROM watcher_polls WHERE watcher = ?`, id).
		Scan(&p.life, &begun, &p.based, &cursor, &before, &p.fails, &since, &p.told, &p.day, &p.fired, &p.left)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("%w: no poll state is stored for %s", ErrNotFound, id)
	}
	if err != nil {
		return p, fmt.Errorf("watchers: read progress: %w", err)
	}
	if cursor != "" {
		p.cursor = json.RawMessage(cursor)
	}
	p.begun, p.notBefore, p.since = store.Time(begun), store.Time(before), store.Time(since)
	return p, nil
}

// beginPoll resets a watcher to its start. It keeps the known keys, so that no key fires twice.
func beginPoll(tx *store.Tx, id string, now time.Time) error {
	_, err := tx.Exec(`INSERT INTO watcher_polls (watcher, begun_at) VALUES (?, ?)
		ON CONFLICT (watcher) DO UPDATE SET life = watcher_polls.life + 1, begun_at = excluded.begun_at, based = 0, cursor = '',
		not_before = 0, fails = 0, failing_since = 0, told = 0`, id, store.Millis(now))
	if err != nil {
		return fmt.Errorf("watchers: begin poll: %w", err)
	}
	return nil
}

func forgetPoll(tx *store.Tx, id string) error {
	for _, table := range []string{"watcher_polls", "watcher_keys", "watcher_held", "watcher_passed", "watcher_silences"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE watcher = ?", id); err != nil {
			return fmt.Errorf("watchers: delete progress: %w", err)
		}
	}
	return nil
}

// saveRow writes the row, unless the watcher has restarted since. If the cursor is nil, it keeps
// the stored cursor, which an erasure may have changed.
func (p *poll) saveRow(tx *store.Tx) error {
	var cursor any
	if p.cursor != nil {
		cursor = string(p.cursor)
	}
	return requireRow(tx.Exec(`UPDATE watcher_polls SET based = ?, cursor = coalesce(?, cursor), not_before = ?, fails = ?, failing_since = ?, told = ?,
		day = ?, fired_today = ?, left_today = ? WHERE watcher = ? AND life = ?`,
		p.based, cursor, store.Millis(p.notBefore), p.fails, store.Millis(p.since), p.told,
		p.day, p.fired, p.left, p.watcher, p.life))
}

// saveDayCount writes today's firings of a watcher that is not polled.
func (p *poll) saveDayCount(tx *store.Tx) error {
	_, err := tx.Exec(`INSERT INTO watcher_polls (watcher, begun_at, day, fired_today, left_today) VALUES (?, 0, ?, ?, ?)
		ON CONFLICT (watcher) DO UPDATE SET day = excluded.day, fired_today = excluded.fired_today, left_today = excluded.left_today`,
		p.watcher, p.day, p.fired, p.left)
	if err != nil {
		return fmt.Errorf("watchers: count firings: %w", err)
	}
	return nil
}

// keyDigest returns a short hash of a key. The hash hides the text of the key, which may be from
// other people.
func keyDigest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// selectUnknown returns the signals with keys that are new to the watcher, without duplicates.
func selectUnknown(q store.Querier, id string, signals []Signal) ([]Signal, error) {
	var out []Signal
	seen := map[string]bool{}
	for _, s := range signals {
		if s.Key == "" || seen[s.Key] {
			continue
		}
		seen[s.Key] = true
		var n int
		if err := q.QueryRow("SELECT count(*) FROM watcher_keys WHERE watcher = ? AND key = ?", id, keyDigest(s.Key)).Scan(&n); err != nil {
			return nil, fmt.Errorf("watchers: read key: %w", err)
		}
		if n == 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// maxKeys limits the keys of one watcher. Without a limit, a source that invents keys could fill
// the disk.
const maxKeys = 200_000

func storeKeys(tx *store.Tx, id string, signals []Signal) error {
	for _, s := range signals {
		if _, err := tx.Exec("INSERT OR IGNORE INTO watcher_keys (watcher, key) VALUES (?, ?)", id, keyDigest(s.Key)); err != nil {
			return fmt.Errorf("watchers: store key: %w", err)
		}
	}
	if len(signals) == 0 {
		return nil
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM watcher_keys WHERE watcher = ?", id).Scan(&n); err != nil {
		return fmt.Errorf("watchers: count keys: %w", err)
	}
	if n > maxKeys {
		return fmt.Errorf("%w: its source has returned more than %d items, the limit; create a new watcher with narrower conditions", ErrPermanent, maxKeys)
	}
	return nil
}
