package watchers

import (
	"errors"
	"fmt"
	"slices"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser of watchers, schedules and reminders. It removes phrases from the
// watchers, which keep running. A watcher that the erasure names is deleted completely, and so is an
// intent that contains a phrase, because its redacted text could reach another person. The eraser
// cannot search the keys of polled watchers, which are stored as digests. Drivers with tables erase
// their own tables; see DriverEraser.
func (m *Manager) Eraser() erase.Eraser {
	return erase.Owned{
		Before: m.eraseWatchersTx,
		List: []erase.Table{
			{Name: "watchers", Key: []string{"id"}, Text: []string{"title", "config", "action", "report", "last_error"}},
			{Name: "watcher_polls", Key: []string{"watcher"}, Text: []string{"cursor"}},
			{Name: "watcher_held", Key: []string{"seq"}, Text: []string{"signal"}},
			{Name: "watcher_passed", Key: []string{"n"}, Text: []string{"text", "why"}},
		},
		Besides: []string{"watcher_keys", "watcher_silences"},
	}
}

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

// eraseWatchersTx deletes the named watchers, and the records of erased messages that matched no
// watcher. It reloads the watchers that are redacted.
func (m *Manager) eraseWatchersTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	for _, d := range e.Docs {
		if !slices.Contains(docKinds(), d.Kind) {
			continue
		}
		if _, err := m.CancelTx(tx, d.Ref); err != nil && !errors.Is(err, ErrNotFound) {
			return n, fmt.Errorf("watchers: erase watchers: %w", err)
		}
	}
	m.silent.takeBuffered("") // drop suppressed items that are only in memory
	for _, id := range e.Events {
		if _, err := tx.Exec("DELETE FROM watcher_passed WHERE key = ?", keyDigest(id)); err != nil {
			return n, fmt.Errorf("watchers: erase watchers: %w", err)
		}
	}
	redacted, err := m.watchersWith(tx, s)
	if err != nil {
		return n, fmt.Errorf("watchers: erase watchers: %w", err)
	}
	for _, r := range redacted {
		if r.Kind != KindIntent {
			m.reloadAfterCommit(tx, r.ID, true)
			continue
		}
		if _, err := m.CancelTx(tx, r.ID); err != nil {
			return n, fmt.Errorf("watchers: erase watchers: %w", err)
		}
		n.Rows++
	}
	return n, nil
}

// watchersWith returns the watchers whose behavior depends on an erased text.
func (m *Manager) watchersWith(tx *store.Tx, s *erase.Scrubber) ([]row, error) {
	all, err := m.selectRows(tx, "")
	return slices.DeleteFunc(all, func(r row) bool { return !s.Has(r.Title) && !s.Has(string(r.Config)) && !s.Has(r.Action) }), err
}
