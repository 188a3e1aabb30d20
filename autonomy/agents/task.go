package agents

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Source is the event source of delegated tasks in the inbox.
const Source = "crew"

// taskTable creates the table of tasks. The column call holds the tool call that created the task,
// n its index in that call, and parent the event of the calling turn. A queued task waits until
// another task of the same call ends.
const taskTable = `
CREATE TABLE crew_tasks (
	id TEXT PRIMARY KEY, call TEXT NOT NULL, n INTEGER NOT NULL, parent TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL UNIQUE,
	agent TEXT NOT NULL, task TEXT NOT NULL, background INTEGER NOT NULL, state TEXT NOT NULL,
	result TEXT NOT NULL DEFAULT '', source TEXT NOT NULL DEFAULT '', rounds INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX crew_tasks_call ON crew_tasks(call, n);
CREATE INDEX crew_tasks_parent ON crew_tasks(parent);
CREATE INDEX crew_tasks_session ON crew_tasks(session, created_at);
CREATE INDEX crew_tasks_open ON crew_tasks(created_at) WHERE state IN ('queued', 'open');
`

// State is the state of a task.
type State string

// Values of State.
const (
	Queued    State = "queued" // waiting for a slot
	Open      State = "open"
	Done      State = "done"
	Failed    State = "failed"
	TimedOut  State = "timeout"
	Cancelled State = "cancelled" // canceled individually
	Stopped   State = "stopped"   // stopped together with the turn that created it
)

// IsFinished reports whether the task has ended.
func (s State) IsFinished() bool { return s != Queued && s != Open }

// Task is one delegated task.
type Task struct {
	ID         string            `json:"id"`
	Call       string            `json:"call"`
	N          int               `json:"-"`
	Parent     string            `json:"parent"`  // the event that created the task
	Session    string            `json:"session"` // session of the parent; the session of the task itself is Session/ID, or the target of SendTx
	Event      string            `json:"event"`
	Agent      string            `json:"agent"`
	Task       string            `json:"task"`
	Background bool              `json:"background"`
	State      State             `json:"state"`
	Result     string            `json:"result,omitempty"`
	Source     provenance.Source `json:"source,omitempty"`
	Rounds     int               `json:"rounds"`
	Tokens     int               `json:"tokens"`
	CreatedAt  time.Time         `json:"created_at"`
	EndedAt    time.Time         `json:"ended_at,omitzero"`
}

// Own returns the session of the task's own conversation.
func (t Task) Own() string { return t.Session + "/" + t.ID }

// taskPayload is the payload of a task's event. It contains all inputs of the task's turn, so that
// a retry after a crash uses the same inputs.
type taskPayload struct {
	ID       string              `json:"id"`
	Agent    string              `json:"agent"`
	Tools    []string            `json:"tools"`
	Level    guard.Level         `json:"level,omitempty"`
	Rounds   int                 `json:"rounds"`
	Tokens   int                 `json:"tokens"`
	Depth    int                 `json:"depth"`
	Attended bool                `json:"attended"`
	Guest    bool                `json:"guest,omitempty"`
	Origin   string              `json:"origin"`
	Person   string              `json:"person,omitempty"`
	Report   string              `json:"report"`
	Channel  string              `json:"channel,omitempty"`
	Chat     string              `json:"chat,omitempty"`
	Origins  []provenance.Origin `json:"origins,omitempty"` // origins of the untrusted text in the task
	// Words are the owner's words in the delegating turn.
	Words      []string `json:"words,omitempty"`
	Background bool     `json:"background,omitempty"`
	FollowUp   bool     `json:"follow_up,omitempty"`
	// Into is the conversation that a message was sent to (see SendTx); "" for tasks.
	Into string `json:"into,omitempty"`
	// Follow is the task whose end starts a turn in the parent's conversation.
	Follow string `json:"follow,omitempty"`
}

// IsTaskEvent reports whether an event is a delegated task or a follow-up turn.
func IsTaskEvent(ev bus.Event) bool { return ev.Kind == bus.Task && ev.Source == Source }

func orderOf(ev bus.Event) (o taskPayload, err error) {
	if err := json.Unmarshal(ev.Payload, &o); err != nil {
		return o, fmt.Errorf("decode the task of event %s: %w", ev.ID, err)
	}
	return o, nil
}

const taskColumns = `id, call, n, parent, session, event, agent, task, background, state, result, source, rounds, tokens, created_at, ended_at`

func scanTask(r interface{ Scan(...any) error }) (t Task, err error) {
	var created, ended int64
	err = r.Scan(&t.ID, &t.Call, &t.N, &t.Parent, &t.Session, &t.Event, &t.Agent, &t.Task, &t.Background, &t.State, &t.Result, &t.Source,
		&t.Rounds, &t.Tokens, &created, &ended)
	t.CreatedAt, t.EndedAt = store.Time(created), store.Time(ended)
	return t, err
}

func collectTasks(rows *sql.Rows, err error) ([]Task, error) {
	if err != nil {
		return nil, fmt.Errorf("agents: read tasks: %w", err)
	}
	defer rows.Close()
	out := []Task{}
	for rows.Next() {
		t, err := scanTask(rows)
		if err != nil {
			return nil, fmt.Errorf("agents: read tasks: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func tasksTx(tx *store.Tx, where string, args ...any) ([]Task, error) {
	return collectTasks(tx.Query(`SELECT `+taskColumns+` FROM crew_tasks WHERE `+where, args...))
}

// Tasks lists the open tasks, or all tasks, newest first.
func (c *Registry) Tasks(ctx context.Context, all bool, limit int) ([]Task, error) {
	where := `state IN ('queued', 'open')`
	if all {
		where = `true`
	}
	return collectTasks(c.o.Store.Read().QueryContext(ctx, `SELECT `+taskColumns+` FROM crew_tasks WHERE `+where+` ORDER BY created_at DESC, call, n DESC LIMIT ?`, limit))
}

// Children lists the open tasks of a turn.
func (c *Registry) Children(ctx context.Context, parent string) ([]Task, error) {
	return collectTasks(c.o.Store.Read().QueryContext(ctx, `SELECT `+taskColumns+` FROM crew_tasks WHERE parent = ? AND state IN ('queued', 'open') ORDER BY call, n`, parent))
}

// Task returns the task called id.
func (c *Registry) Task(ctx context.Context, id string) (Task, error) {
	t, err := scanTask(c.o.Store.Read().QueryRowContext(ctx, `SELECT `+taskColumns+` FROM crew_tasks WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return t, fmt.Errorf("task %q: %w", id, bus.ErrNotFound)
	}
	return t, err
}

func taskTx(tx *store.Tx, where string, arg any) (Task, bool, error) {
	t, err := scanTask(tx.QueryRow(`SELECT `+taskColumns+` FROM crew_tasks WHERE `+where, arg))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("agents: read task: %w", err)
	}
	return t, true, nil
}

func (c *Registry) byEvent(ctx context.Context, event string) (Task, bool, error) {
	t, err := scanTask(c.o.Store.Read().QueryRowContext(ctx, `SELECT `+taskColumns+` FROM crew_tasks WHERE event = ?`, event))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("agents: read task: %w", err)
	}
	return t, true, nil
}
