package crew

import "hob/platform/erase"

// Eraser takes texts out of the tasks that were handed on.
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
