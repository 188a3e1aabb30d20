package watchers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser of watchers, schedules and reminders. It removes phrases from them
// and they keep running; a watcher named in the erasure is deleted completely. Keys of polled
// watchers are stored as digests. Drivers erase their own tables, see DriverEraser.
func (m *Manager) Eraser() erase.Eraser { return eraser{m} }

// DriverEraser is implemented by drivers with tables.
type DriverEraser interface {
	Eraser() erase.Eraser
}

// Erasers returns the erasers of the drivers.
func Erasers(drivers []Driver) (out []erase.Eraser) {
	for _, d := range drivers {
		if e, ok := d.(DriverEraser); ok {
			out = append(out, e.Eraser())
		}
	}
	return out
}

// docKinds returns the document kinds under which the manager's rows are indexed.
func docKinds() []string { return []string{"reminder", "watcher", "schedule"} }

type eraser struct{ m *Manager }

// Tables implements erase.Eraser.
func (eraser) Tables() []string {
	return []string{"watchers", "watcher_polls", "watcher_keys", "watcher_held", "watcher_passed", "watcher_silences"}
}

// EraseTx implements erase.Eraser.
func (r eraser) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	for _, d := range e.Docs {
		if !slices.Contains(docKinds(), d.Kind) {
			continue
		}
		if _, err := r.m.CancelTx(tx, d.Ref); err != nil && !errors.Is(err, ErrNotFound) {
			return n, fmt.Errorf("watchers: erase: %w", err)
		}
	}
	t := erase.Table{Name: "watchers", Key: []string{"id"}, Text: []string{"title", "config", "action", "report", "last_error"}}
	where := erase.Table{Name: "watcher_polls", Key: []string{"watcher"}, Text: []string{"cursor"}}
	cursors, err := where.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	held := erase.Table{Name: "watcher_held", Key: []string{"seq"}, Text: []string{"signal"}}
	waiting, err := held.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	cursors = cursors.Add(waiting)
	r.m.silent.takeBuffered("") // silences held in memory only
	passed := erase.Table{Name: "watcher_passed", Text: []string{"text", "why"}}
	for _, id := range e.Events { // messages that matched no watcher
		if _, err := tx.Exec("DELETE FROM watcher_passed WHERE key = ?", keyDigest(id)); err != nil {
			return n, fmt.Errorf("watchers: erase: %w", err)
		}
	}
	unsaid, err := passed.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	cursors = cursors.Add(unsaid)
	before, err := r.watcherTexts(tx)
	if err != nil {
		return n, err
	}
	n, err = t.EraseTx(tx, e, s)
	if err != nil || n.Scrubbed == 0 {
		return n.Add(cursors), err
	}
	after, err := r.watcherTexts(tx)
	if err != nil {
		return n, err
	}
	for id, was := range before {
		if after[id] != was {
			r.m.reloadAfterCommit(tx, id, true)
		}
	}
	return n.Add(cursors), nil
}

// watcherTexts returns the erasable text of each watcher by id, to detect changes.
func (eraser) watcherTexts(tx *store.Tx) (out map[string]string, err error) {
	rows, err := tx.Query(`SELECT id, title || char(0) || config || char(0) || action FROM watchers`)
	if err != nil {
		return nil, fmt.Errorf("watchers: erase: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[string]string{}
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, fmt.Errorf("watchers: erase: %w", err)
		}
		out[id] = text
	}
	return out, rows.Err()
}

// Purge implements erase.Eraser.
func (eraser) Purge(context.Context, *erase.Erasure, *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, nil
}
