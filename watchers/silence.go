package watchers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Limits of the stored suppressed items.
const (
	// KeepPassed is the number of suppressed items stored per watcher.
	KeepPassed = 20
	maxPassed  = 300 // characters per item
)

// Rule is the name of a rule that suppresses items.
type Rule string

// Rules that suppress an item.
const (
	RuleBaseline  Rule = "baseline"  // the item existed when the watcher started
	RuleCondition Rule = "condition" // the item does not match the conditions
	RuleOld       Rule = "old"       // the item is older than the watcher
	RulePerDay    Rule = "per_day"   // the daily limit was reached
)

// Rules that silence a watcher completely.
const (
	RulePaused  Rule = "paused"
	RuleBroken  Rule = "broken"
	RuleDone    Rule = "done"
	RuleFailing Rule = "failing"      // the source does not answer, and the watcher waits for the next attempt
	RuleHours   Rule = "active_hours" // the current time is outside the active hours
	RuleKnown   Rule = "known"        // all items were reported before or existed when the watcher started
	RuleNothing Rule = "nothing"      // the source has no items
	RuleUnasked Rule = "not_asked"    // the source has not been polled since Hob started
	RuleNotDue  Rule = "not_due"
)

// SuppressedSignal is an item that a watcher found and suppressed.
type SuppressedSignal struct {
	Watcher string `json:"watcher"`
	Rule    Rule   `json:"rule"`
	// Key identifies the item within the watcher, as the key of a signal does.
	Key string `json:"-"`
	// Text describes the item and is untrusted. Why explains to the user why the item did not
	// match.
	Text string    `json:"text"`
	Why  string    `json:"why,omitempty"`
	At   time.Time `json:"at"` // time at which the watcher found the item
}

// Pass records an item that a watcher found but suppressed. It does no I/O; the next commit of the
// watcher writes the item.
func (d Deps) Pass(p SuppressedSignal) {
	if d.passed != nil {
		d.passed(p)
	}
}

// silences buffers suppressed items until a transaction writes them. It also contains the result of
// the last poll of each watcher.
type silences struct {
	mu    sync.Mutex
	wait  map[string][]SuppressedSignal
	looks map[string]pollResult
}

// pollResult is the result of one successful poll.
type pollResult struct {
	at   time.Time
	seen int // number of items that match the conditions
	new  int // number of matching items that were not known before
}

func newSilences() *silences {
	return &silences{wait: map[string][]SuppressedSignal{}, looks: map[string]pollResult{}}
}

// addPassed adds suppressed items, oldest first. If there are too many items, it keeps the newest.
func (s *silences) addPassed(list ...SuppressedSignal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range list {
		p.Text, p.Why = textnorm.Ellipsize(p.Text, maxPassed), textnorm.Ellipsize(p.Why, maxPassed)
		if p.At.IsZero() {
			p.At = time.Now()
		}
		of := s.wait[p.Watcher]
		if slices.ContainsFunc(of, func(o SuppressedSignal) bool { return o.Key == p.Key }) {
			continue
		}
		if len(of) >= KeepPassed {
			of = append(of[:0], of[len(of)-KeepPassed+1:]...)
		}
		s.wait[p.Watcher] = append(of, p)
	}
}

func (s *silences) setLastPoll(id string, l pollResult) {
	s.mu.Lock()
	s.looks[id] = l
	s.mu.Unlock()
}

// takeBuffered removes and returns the buffered items of the watcher id, or of all watchers if id
// is "". If the transaction fails, the watcher polls and records the items again.
func (s *silences) takeBuffered(id string) []SuppressedSignal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" {
		out := s.wait[id]
		delete(s.wait, id)
		return out
	}
	var out []SuppressedSignal
	for _, of := range s.wait {
		out = append(out, of...)
	}
	clear(s.wait)
	return out
}

func (s *silences) forgetWatcher(id string) {
	s.mu.Lock()
	delete(s.wait, id)
	delete(s.looks, id)
	s.mu.Unlock()
}

func (s *silences) bufferedItems(id string) []SuppressedSignal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" {
		return slices.Clone(s.wait[id])
	}
	var out []SuppressedSignal
	for _, of := range s.wait {
		out = append(out, of...)
	}
	return out
}

func (s *silences) lookOf(id string) (pollResult, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.looks[id]
	return l, ok
}

// notePoll records the items of a poll that did not become signals: items that the driver
// suppressed and items that existed at the baseline. It keeps only the newest.
func (m *Manager) notePoll(ctx context.Context, spec Spec, p poll, found Found, fresh []Signal, now time.Time) {
	m.silent.setLastPoll(spec.ID, pollResult{at: now, seen: len(found.Signals) + len(found.Passed), new: len(fresh)})
	passed := found.Passed
	if !p.based {
		why := fmt.Sprintf("it was one of %d items that existed when the watcher began", len(fresh))
		for _, s := range fresh {
			if !s.At.After(p.begun) || s.At.After(now.Add(ahead)) {
				passed = append(passed, SuppressedSignal{Key: s.Key, Rule: RuleBaseline, Text: s.Text, At: s.At, Why: why})
			}
		}
	}
	if len(passed) == 0 {
		return
	}
	sorting.StableByFunc(passed, func(a, b SuppressedSignal) int { return a.At.Compare(b.At) })
	passed = passed[max(0, len(passed)-KeepPassed):]
	known, err := passedKeys(m.opt.Store.Reader(ctx), spec.ID)
	if err != nil {
		m.opt.Log.Warn("suppressed items not read", "watcher", spec.ID, "err", err)
	}
	for _, s := range passed {
		if s.Watcher, s.At = spec.ID, now; !known[string(keyDigest(s.Key))] {
			m.silent.addPassed(s)
		}
	}
}

// noteOverLimit records the signals above the daily limit.
func (m *Manager) noteOverLimit(spec Spec, rest []Signal, most int, now time.Time) {
	for _, s := range rest[max(0, len(rest)-KeepPassed):] {
		m.silent.addPassed(SuppressedSignal{
			Watcher: spec.ID, Rule: RulePerDay, Key: s.Key, Text: s.Text, At: now,
			Why: fmt.Sprintf("the watcher had fired %d times on that day, its limit (per_day)", most),
		})
	}
}

// writeSilences writes the buffered items in the caller's transaction.
func (m *Manager) writeSilences(tx *store.Tx, id string) error {
	list := m.silent.takeBuffered(id)
	ids := map[string]bool{}
	for _, p := range list {
		ids[p.Watcher] = true
		r, err := tx.Exec(`INSERT INTO watcher_passed (watcher, key, rule, text, why, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (watcher, key) DO NOTHING`,
			p.Watcher, keyDigest(p.Key), string(p.Rule), p.Text, p.Why, store.Millis(p.At))
		if err != nil {
			return fmt.Errorf("watchers: store suppressed items: %w", err)
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			continue
		}
		_, err = tx.Exec(`INSERT INTO watcher_silences (watcher, rule, count, first_at, last_at) VALUES (?, ?, 1, ?, ?)
			ON CONFLICT (watcher, rule) DO UPDATE SET count = watcher_silences.count + 1, last_at = excluded.last_at`, p.Watcher, string(p.Rule), store.Millis(p.At), store.Millis(p.At))
		if err != nil {
			return fmt.Errorf("watchers: count suppressed items: %w", err)
		}
	}
	for id := range ids {
		_, err := tx.Exec(`DELETE FROM watcher_passed WHERE watcher = ?1 AND n <= (SELECT n FROM watcher_passed WHERE watcher = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)`, id, KeepPassed)
		if err != nil {
			return fmt.Errorf("watchers: store suppressed items: %w", err)
		}
	}
	return nil
}

// flushSilences writes the buffered items when the watchers stop.
func (m *Manager) flushSilences(ctx context.Context) {
	if len(m.silent.bufferedItems("")) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := m.opt.Store.Write(ctx, func(tx *store.Tx) error { return m.writeSilences(tx, "") }); err != nil {
		m.opt.Log.Warn("suppressed items not stored", "err", err)
	}
}

// silenceTables is the schema for the newest suppressed items of each watcher and their total
// number.
const silenceTables = `CREATE TABLE watcher_passed (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	watcher TEXT NOT NULL,
	key BLOB NOT NULL,
	rule TEXT NOT NULL,
	text TEXT NOT NULL,
	why TEXT NOT NULL,
	at INTEGER NOT NULL,
	UNIQUE (watcher, key)
);
CREATE TABLE watcher_silences (
	watcher TEXT NOT NULL,
	rule TEXT NOT NULL,
	count INTEGER NOT NULL,
	first_at INTEGER NOT NULL,
	last_at INTEGER NOT NULL,
	PRIMARY KEY (watcher, rule)
) WITHOUT ROWID;`

func passedKeys(q store.Querier, id string) (map[string]bool, error) {
	rows, err := q.Query("SELECT key FROM watcher_passed WHERE watcher = ?", id)
	if err != nil {
		return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
		}
		out[string(key)] = true
	}
	return out, rows.Err()
}

func selectPassed(q store.Querier, tail string, args ...any) ([]SuppressedSignal, error) {
	rows, err := q.Query("SELECT watcher, rule, text, why, at, hex(key) FROM watcher_passed "+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
	}
	defer rows.Close()
	out := []SuppressedSignal{}
	for rows.Next() {
		var p SuppressedSignal
		var at int64
		if err := rows.Scan(&p.Watcher, &p.Rule, &p.Text, &p.Why, &at, &p.Key); err != nil {
			return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
		}
		p.At = store.Time(at)
		out = append(out, p)
	}
	return out, rows.Err()
}
