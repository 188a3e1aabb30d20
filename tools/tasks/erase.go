package tasks

import "hob/platform/store/erase"

// Eraser removes texts from the tasks. The watchers erase reminders.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "tasks", Text: []string{"title", "project", "notes"}, Kind: kindTask, Ref: "id"}}}
}
