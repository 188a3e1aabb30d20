package agents

import (
	"errors"
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// EventsOf lists the events of the tasks that a turn delegated, and of the watchers that its message
// made fire.
func EventsOf(q store.Querier, parent string) (out []string, err error) {
	rows, err := q.Query(`SELECT event FROM crew_tasks WHERE parent = ?1 UNION SELECT id FROM inbox WHERE kind = 'watcher' AND key = ?1`, parent)
	if err != nil {
		return nil, fmt.Errorf("agents: read tasks of a turn: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var event string
		if err := rows.Scan(&event); err != nil {
			return nil, fmt.Errorf("agents: read tasks of a turn: %w", err)
		}
		out = append(out, event)
	}
	return out, rows.Err()
}

// Eraser returns the eraser for delegated tasks.
func Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{
				Name: "crew_tasks", Key: []string{"id"}, Text: []string{"task", "result"}, Event: "event", Session: "session",
				Whole: map[string]any{"task": erase.Mark, "result": erase.Mark},
			},
			{
				Name: "crew_tasks", Key: []string{"id"}, Event: "parent", Call: "call",
				Whole: map[string]any{"task": erase.Mark, "result": erase.Mark},
			},
		},
		Besides: []string{"crew_sessions"},
	}
}
