package tasks

import "hob/platform/erase"

// Eraser takes texts out of the tasks. Reminders are kept by the watchers.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "tasks", Text: []string{"title", "project", "notes"}, Kind: kindTask, Ref: "id"}}}
}
