package bus

import (
	"context"
	"fmt"
	"time"

	"hob/platform/store"
)

// schemaPause stores the end of the pause; 0 means no pause.
const schemaPause = `CREATE TABLE pause (one INTEGER PRIMARY KEY CHECK (one = 1), until INTEGER NOT NULL);
INSERT INTO pause (one, until) VALUES (1, 0);`

// held is an SQL expression for the time until which the pause blocks event h; it is 0 if the pause
// does not block the event. A pause blocks events from watchers, schedules, goals and webhooks. It
// blocks neither reminders, which the owner scheduled, nor events that continue because of the
// owner's answer (resumed).
const held = `CASE
	WHEN h.kind NOT IN ('watcher', 'schedule', 'goal', 'webhook') OR h.not_before = 1 THEN 0
	WHEN h.kind = 'schedule' AND json_valid(CAST(h.payload AS TEXT)) THEN CASE json_extract(CAST(h.payload AS TEXT), '$.mode')
		WHEN 'remind' THEN 0 ELSE coalesce((SELECT until FROM pause WHERE until > ?1), 0) END
	ELSE coalesce((SELECT until FROM pause WHERE until > ?1), 0) END`

// resumed is the not_before value of an event that continues because the owner answered.
const resumed = 1

// EndlessPause returns the end time of an unlimited pause.
func EndlessPause() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// Pause stops background work for a limited time.
type Pause struct {
	db    *store.Store
	now   func() time.Time
	inbox *Inbox
	feed  *Feed
}

// Start stops background work until the given time: events from watchers, schedules, goals and
// webhooks wait, even across restarts. Events in progress continue.
func (p *Pause) Start(ctx context.Context, until time.Time) error { return p.setEnd(ctx, until) }

// End ends the pause.
func (p *Pause) End(ctx context.Context) error { return p.setEnd(ctx, time.Time{}) }

func (p *Pause) setEnd(ctx context.Context, until time.Time) error {
	err := p.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE pause SET until = ?`, store.Millis(until))
		tx.AfterCommit(func() {
			p.inbox.SignalWork()
			p.feed.Publish("pause", "", "", map[string]any{"until": until})
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: read the state of the pause: %w", err)
	}
	return nil
}

// IsOn reports whether background work is paused.
func (p *Pause) IsOn(ctx context.Context) (bool, error) {
	_, on, err := p.Current(ctx)
	return on, err
}

// Current returns the end of the current pause. on is false if there is none.
func (p *Pause) Current(ctx context.Context) (until time.Time, on bool, err error) {
	var ms int64
	if err := p.db.Reader(ctx).QueryRow(`SELECT until FROM pause`).Scan(&ms); err != nil {
		return until, false, fmt.Errorf("bus: read the state of the pause: %w", err)
	}
	until = store.Time(ms)
	return until, until.After(p.now()), nil
}
