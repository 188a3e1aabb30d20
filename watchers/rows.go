package watchers

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// ErrNotFound is wrapped if no watcher matches an id or words.
var ErrNotFound = errors.New("watcher not found")

// tables is the schema of the manager. For timed kinds, next_at is the next nominal time that has
// not been handled, and last_at is the newest nominal time that has been handled.
const tables = `CREATE TABLE watchers (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	title TEXT NOT NULL,
	config TEXT NOT NULL,
	mode TEXT NOT NULL,
	action TEXT NOT NULL,
	report TEXT NOT NULL,
	missed TEXT NOT NULL,
	provenance TEXT NOT NULL,
	state TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	fired_at INTEGER NOT NULL DEFAULT 0,
	fired INTEGER NOT NULL DEFAULT 0,
	next_at INTEGER NOT NULL DEFAULT 0,
	last_at INTEGER NOT NULL DEFAULT 0,
	last_error TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX watchers_next ON watchers (state, next_at);`

// makers adds the agent that created a watcher.
const makers = `ALTER TABLE watchers ADD COLUMN agent TEXT NOT NULL DEFAULT ''`

// sources is the migration that adds the origin of a watcher; see Spec.Source.
const sources = `ALTER TABLE watchers ADD COLUMN source TEXT NOT NULL DEFAULT ''`

// zones adds the zone in which next_at and last_at were computed; "" means the current zone.
const zones = `ALTER TABLE watchers ADD COLUMN zone TEXT NOT NULL DEFAULT ''`

// priorities adds the priority of a reminder; see Spec.Priority.
const priorities = `ALTER TABLE watchers ADD COLUMN priority TEXT NOT NULL DEFAULT ''`

const columns = "id, kind, title, config, mode, action, report, missed, provenance, state, created_at, fired_at, fired, next_at, last_at, last_error, agent, every, active_hours, per_day, source, zone, priority"

// row is a Spec with the manager's internal fields.
type row struct {
	Spec
	lastAt time.Time
}

// Filter selects watchers; an empty field matches all.
type Filter struct {
	Kinds  []string
	Modes  []Mode
	States []State
}

func (f Filter) whereClause() (string, []any) {
	var cond []string
	var args []any
	add := func(column string, n int, value func(int) any) {
		if n == 0 {
			return
		}
		cond = append(cond, column+" IN (?"+strings.Repeat(", ?", n-1)+")")
		for i := range n {
			args = append(args, value(i))
		}
	}
	add("kind", len(f.Kinds), func(i int) any { return f.Kinds[i] })
	add("mode", len(f.Modes), func(i int) any { return string(f.Modes[i]) })
	add("state", len(f.States), func(i int) any { return string(f.States[i]) })
	if len(cond) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(cond, " AND "), args
}

func (m *Manager) selectRows(q store.Querier, tail string, args ...any) ([]row, error) {
	rows, err := q.Query("SELECT "+columns+" FROM watchers"+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("watchers: read watchers: %w", err)
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		r, err := m.scanRow(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("watchers: read watchers: %w", err)
	}
	return out, nil
}

func (m *Manager) selectRow(q store.Querier, id string) (row, error) {
	r, err := m.scanRow(q.QueryRow("SELECT "+columns+" FROM watchers WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return r, err
}

func (m *Manager) scanRow(s interface{ Scan(...any) error }) (row, error) {
	var r row
	var config string
	var created, fired, next, last int64
	err := s.Scan(&r.ID, &r.Kind, &r.Title, &config, &r.Mode, &r.Action, &r.Report, &r.Missed, (*string)(&r.Provenance),
		&r.State, &created, &fired, &r.Fired, &next, &last, &r.LastError, &r.Agent,
		&r.Every, &r.Hours, &r.PerDay, &r.Source, &r.Zone, &r.Priority)
	if err != nil {
		return row{}, fmt.Errorf("watchers: read watchers: %w", err)
	}
	r.Config, r.Timed = json.RawMessage(config), m.timed[r.Kind]
	r.CreatedAt, r.FiredAt, r.NextAt, r.lastAt = store.Time(created), store.Time(fired), store.Time(next), store.Time(last)
	return r, nil
}

func insertRow(tx *store.Tx, s Spec) error {
	_, err := tx.Exec("INSERT INTO watchers ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)",
		s.ID, s.Kind, s.Title, string(s.Config), string(s.Mode), s.Action, s.Report, string(s.Missed), string(s.Provenance),
		string(s.State), store.Millis(s.CreatedAt), store.Millis(s.FiredAt), s.Fired, store.Millis(s.NextAt), s.LastError, s.Agent,
		s.Every, s.Hours, s.PerDay, s.Source, s.Zone, s.Priority)
	if err != nil {
		return fmt.Errorf("watchers: store watcher: %w", err)
	}
	return nil
}

// errGone is returned if the watcher was canceled, paused or changed while it fired. The
// firing is rolled back.
var errGone = errors.New("the watcher was canceled or paused in the meantime")

// requireRow returns errGone for an update that matched no row.
func requireRow(r sql.Result, err error) error {
	if err != nil {
		return fmt.Errorf("watchers: store watcher: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errGone, err)
	}
	return nil
}

// sourceOf returns the provenance of text that the manager built from s.
func sourceOf(s Spec) provenance.Source { return provenance.Worst(provenance.Hob, s.Provenance) }
