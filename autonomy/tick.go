package autonomy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/mind/goals"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// ticks is the schema of the trace of ticks with input: one row for each claimed event. The id
// contains the time (UUIDv7).
const ticks = `CREATE TABLE ticks (
	tick TEXT NOT NULL, event TEXT NOT NULL, woke TEXT NOT NULL, rule TEXT NOT NULL, state TEXT NOT NULL,
	at INTEGER NOT NULL, ended_at INTEGER NOT NULL, PRIMARY KEY (tick, event)) WITHOUT ROWID;
CREATE INDEX ticks_event ON ticks(event);`

// What woke the loop.
const (
	wokeStart   = "start"
	wokeArrival = "something arrived"
	wokePlace   = "there was room again"
	wokeClock   = "the clock"
)

// States of an event in a tick.
const (
	tickDone  = "done"
	tickWaits = "waits"    // for an answer, or for room
	tickRetry = "failed"   // a retry follows
	tickDead  = "given up" // permanent
)

// Ticked is one event in one tick.
type Ticked struct {
	Tick  string `json:"tick"`
	Event string `json:"event"`
	Woke  string `json:"woke"`
	// Rule names the rule that decided how the event was handled. It contains no untrusted
	// text.
	Rule    string    `json:"rule"`
	State   string    `json:"state"`
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at"`
}

// Tick is one iteration of the loop that had an input.
type Tick struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Woke   string    `json:"woke"`
	Events []Why     `json:"events"`
	// Nothing: no tick had an input yet.
	Nothing bool `json:"nothing,omitempty"`
}

// Ticks counts the iterations since the start, and those with an input.
func (l *Loop) Ticks() (all, withInput int64) { return l.looks.Load(), l.inputs.Load() }

// tickTx stores how a tick handled an event.
func tickTx(tx *store.Tx, t *activeTurn, rule, state string) error {
	if t.tick == "" {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO ticks (tick, event, woke, rule, state, at, ended_at) VALUES (?,?,?,?,?,?,?)
		ON CONFLICT (tick, event) DO UPDATE SET rule = excluded.rule, state = excluded.state, ended_at = excluded.ended_at`,
		t.tick, t.ev.ID, t.woke, rule, state, store.Millis(t.since), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("write the trace of a tick: %w", err)
	}
	return nil
}

// keepTick is tickTx for an event without its own transaction: it waits, or it failed. Errors
// are only logged.
func (l *Loop) keepTick(ctx context.Context, t *activeTurn, rule, state string) {
	err := l.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tickTx(tx, t, rule, state) })
	if err != nil {
		l.o.Log.Warn("the trace of a tick is lost", "event", t.ev.ID, "err", err)
	}
}

// ruleOf returns the rule by which an event was handled. It names rows and configuration keys
// and contains no untrusted text.
func ruleOf(ev bus.Event, res result) string {
	model := "without a model"
	if res.Model != "" {
		model = fmt.Sprintf("by the model %s in %d round(s)", res.Model, res.Rounds)
	}
	switch ev.Kind {
	case bus.Message:
		switch {
		case ev.Lane != ev.Session || res.how == "command":
			return "a command from you, " + model
		case ev.Provenance != provenance.Owner:
			return "a message from a guest, answered with guest permissions " + model
		}
		return "a message from you, answered " + model
	case bus.Watcher, bus.Schedule, bus.Webhook:
		return firedRule(ev, model)
	case bus.Goal:
		if res.goal == nil {
			return "a goal, " + model
		}
		if res.goal.By == goals.Rule {
			model = "by its rule, without a model"
		}
		return fmt.Sprintf("the goal %s, %s of it %s", res.goal.Order.Goal, res.goal.Order.Phase, model)
	case bus.Task:
		if agents.IsTaskEvent(ev) {
			return "a delegated task, done " + model
		}
		return "a tool call from you"
	case bus.System:
		if ev.Source == goals.PlanSource {
			return "the plan of the day ([plan] at), " + model
		}
		return "a notice from Hob, sent unchanged"
	}
	return string(ev.Kind)
}

// waitRule returns what an event waits for.
func waitRule(res result) string {
	if res.how == "" { // the turn did not begin
		return "there was no room for a model call for which nobody waits ([autonomy] calls_per_minute, [budget])"
	}
	return "it waits for your answer, or for a delegated task"
}

func firedRule(ev bus.Event, model string) string {
	f, err := payload.ParseSignal(ev)
	if err != nil {
		return string(ev.Kind)
	}
	what := fmt.Sprintf("the %s %s", ev.Kind, f.Watcher)
	switch {
	case f.Mode == watchers.Notify || f.Mode == watchers.Do && strings.TrimSpace(f.Action) == "":
		return what + ", whose mode is notify: its text was sent unchanged, without a model"
	case f.Mode == watchers.Remind:
		return what + ", whose mode is remind: the requested text was sent, without a model"
	}
	return what + ", whose mode is do: its action was done " + model
}

// Tick explains one tick, by its id or the id of one of its events. "" or "last" means the last
// tick with an input.
func (l *Loop) Tick(ctx context.Context, id string) (Tick, error) {
	q := l.o.Store.Reader(ctx)
	if id == "last" {
		id = ""
	}
	t := Tick{Events: []Why{}}
	err := q.QueryRow(`SELECT tick FROM ticks WHERE ?1 = '' OR tick = ?1 OR event = ?1 ORDER BY tick DESC LIMIT 1`, id).Scan(&t.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows) && id == "":
		t.Nothing = true
		return t, nil
	case errors.Is(err, sql.ErrNoRows):
		return t, fmt.Errorf("no tick and no event has the id %q: %w", id, bus.ErrNotFound)
	case err != nil:
		return t, fmt.Errorf("read ticks: %w", err)
	}
	rows, err := queryTicks(q, "WHERE tick = ? ORDER BY event LIMIT 50", t.ID)
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		t.At, t.Woke = r.At, r.Woke
		w, err := l.Why(ctx, r.Event, "")
		if errors.Is(err, bus.ErrNotFound) { // the event was erased since
			continue
		}
		if err != nil {
			return t, err
		}
		t.Events = append(t.Events, w)
	}
	return t, nil
}

func queryTicks(q store.Querier, tail string, args ...any) (out []Ticked, err error) {
	rows, err := q.Query("SELECT tick, event, woke, rule, state, at, ended_at FROM ticks "+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t Ticked
		var at, ended int64
		if err := rows.Scan(&t.Tick, &t.Event, &t.Woke, &t.Rule, &t.State, &at, &ended); err != nil {
			return nil, fmt.Errorf("read ticks: %w", err)
		}
		t.At, t.EndedAt = store.Time(at), store.Time(ended)
		out = append(out, t)
	}
	return out, rows.Err()
}

// Text formats the explanation for users.
func (t Tick) Text(zone *time.Location) string {
	if t.Nothing {
		return "No tick had an input yet: nothing has arrived and nothing was due."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tick %s at %s, woken by: %s; %d event(s)\n", t.ID, t.At.In(zone).Format("2006-01-02 15:04:05"), t.Woke, len(t.Events))
	for _, w := range t.Events {
		b.WriteString("\n" + w.Text(zone) + "\n")
	}
	return strings.TrimSpace(b.String())
}

// pruneTicks removes the traces of ticks that are older than they are kept.
func (l *Loop) pruneTicks(ctx context.Context) error {
	if l.o.KeepTraces <= 0 {
		return nil
	}
	before := tickAt(time.Now().Add(-l.o.KeepTraces))
	var old bool
	if err := l.o.Store.Reader(ctx).QueryRow("SELECT EXISTS (SELECT 1 FROM ticks WHERE tick < ?)", before).Scan(&old); err != nil || !old {
		return err
	}
	return l.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec("DELETE FROM ticks WHERE tick IN (SELECT tick FROM ticks WHERE tick < ? LIMIT 5000)", before)
		return err
	})
}

// tickAt returns the smallest id of a tick at a time (RFC 9562, UUIDv7: the first 48 bits are
// Unix milliseconds).
func tickAt(t time.Time) string {
	hex := fmt.Sprintf("%012x", max(0, t.UnixMilli()))
	return hex[:8] + "-" + hex[8:]
}
