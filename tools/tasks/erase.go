package tasks

import "hob/platform/store/erase"

// Eraser returns the eraser that removes phrases from the tasks. The watchers' eraser covers the
// reminders.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "tasks", Key: []string{"n"}, Text: []string{"title", "project", "notes"}, Kind: kindTask, Ref: "id"}}}
}
