package goals

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Migrations returns the migrations of the package's tables: goals and review records.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "goals", Steps: []string{`
CREATE TABLE goals (
	n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	description TEXT NOT NULL, priority INTEGER NOT NULL, success TEXT NOT NULL, every INTEGER NOT NULL, next_at INTEGER NOT NULL,
	status TEXT NOT NULL, source TEXT NOT NULL, provenance TEXT NOT NULL, report TEXT NOT NULL, agent TEXT NOT NULL,
	quiet INTEGER NOT NULL, looked INTEGER NOT NULL, seen TEXT NOT NULL, reviewed INTEGER NOT NULL, last_at INTEGER NOT NULL, last TEXT NOT NULL, reason TEXT NOT NULL,
	event TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE INDEX goals_due ON goals(next_at) WHERE status = 'active';
CREATE TABLE goal_reviews (
	event TEXT PRIMARY KEY, goal TEXT NOT NULL, phase TEXT NOT NULL, due_at INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
	decision TEXT NOT NULL, confidence REAL NOT NULL, bar REAL NOT NULL, risk TEXT NOT NULL, reason TEXT NOT NULL, action TEXT NOT NULL,
	next_at INTEGER NOT NULL, error TEXT NOT NULL, then_event TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX goal_reviews_goal ON goal_reviews(goal, at);
CREATE TABLE plans (day TEXT PRIMARY KEY, outcome TEXT NOT NULL, event TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
`, `
ALTER TABLE goals ADD COLUMN reason_source TEXT NOT NULL DEFAULT 'outside'; -- of what was noted before nothing is known
`}}
}

// Eraser returns the eraser for goals and their review records.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{
		{Name: "goals", Key: []string{"n"}, Text: []string{"description", "success", "reason", "seen", "report"}},
		{
			Name: "goal_reviews", Key: []string{"event"}, Text: []string{"reason", "action", "error"}, Event: "event",
			Whole: map[string]any{"reason": erase.Mark, "action": erase.Mark, "error": erase.Mark},
		},
	}, Besides: []string{"plans"}}
}

const columns = `id, description, priority, success, every, next_at, status, source, provenance, report, agent, quiet, looked, seen, reviewed, last_at, last, reason, event, created_at, updated_at, reason_source`

func goalValues(g Goal) []any {
	return []any{
		g.ID, g.Description, g.Priority, g.Success, g.Every, store.Millis(g.NextAt), g.Status, g.Source, string(g.Provenance), g.Report, g.Agent,
		g.Quiet, g.Looked, g.Seen, g.Reviewed, store.Millis(g.LastAt), g.Last, g.Reason, g.Event, store.Millis(g.CreatedAt), store.Millis(g.UpdatedAt), string(g.ReasonFrom),
	}
}

func scanGoal(row interface{ Scan(...any) error }) (g Goal, err error) {
	var next, last, created, updated int64
	err = row.Scan(&g.ID, &g.Description, &g.Priority, &g.Success, &g.Every, &next, &g.Status, &g.Source, &g.Provenance, &g.Report, &g.Agent,
		&g.Quiet, &g.Looked, &g.Seen, &g.Reviewed, &last, &g.Last, &g.Reason, &g.Event, &created, &updated, &g.ReasonFrom)
	g.NextAt, g.LastAt, g.CreatedAt, g.UpdatedAt = store.Time(next), store.Time(last), store.Time(created), store.Time(updated)
	return g, err
}

func (g *Goals) insertGoal(tx *store.Tx, goal Goal) error {
	_, err := tx.Exec(`INSERT INTO goals (`+columns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, goalValues(goal)...)
	if err != nil {
		return fmt.Errorf("goals: store a goal: %w", err)
	}
	g.due.InvalidateTx(tx, g.o.Bus.Inbox)
	return nil
}

func (g *Goals) updateGoal(tx *store.Tx, goal Goal) error {
	_, err := tx.Exec(`UPDATE goals SET description = ?2, priority = ?3, success = ?4, every = ?5, next_at = ?6, status = ?7, source = ?8, provenance = ?9, report = ?10, agent = ?11,
		quiet = ?12, looked = ?13, seen = ?14, reviewed = ?15, last_at = ?16, last = ?17, reason = ?18, event = ?19, created_at = ?20, updated_at = ?21, reason_source = ?22 WHERE id = ?1`, goalValues(goal)...)
	if err != nil {
		return fmt.Errorf("goals: update a goal: %w", err)
	}
	g.due.InvalidateTx(tx, g.o.Bus.Inbox)
	return nil
}

// Get returns one goal.
func Get(q store.Querier, id string) (Goal, error) {
	goal, err := scanGoal(q.QueryRow(`SELECT `+columns+` FROM goals WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Goal{}, fmt.Errorf("goal %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return Goal{}, fmt.Errorf("goals: read a goal: %w", err)
	}
	return goal, nil
}

// ListIn returns the open goals or, if all is true, every goal ever created. Open goals come first.
// Goals are ordered by priority, and newest first within a priority.
func ListIn(q store.Querier, all bool) ([]Goal, error) {
	return listGoals(q, `WHERE ? OR status IN ('active', 'paused', 'waiting') ORDER BY status NOT IN ('active', 'paused', 'waiting'), priority DESC, n DESC`, all)
}

func listGoals(q store.Querier, tail string, args ...any) (out []Goal, err error) {
	rows, err := q.Query(`SELECT `+columns+` FROM goals `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("goals: list goals: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Goal{}
	for rows.Next() {
		goal, err := scanGoal(rows)
		if err != nil {
			return nil, fmt.Errorf("goals: list goals: %w", err)
		}
		out = append(out, goal)
	}
	return out, rows.Err()
}

// List is like ListIn, but reads committed rows.
func (g *Goals) List(ctx context.Context, all bool) ([]Goal, error) {
	return ListIn(g.o.Store.Reader(ctx), all)
}
