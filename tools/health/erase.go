package health

import "hob/platform/store/erase"

// Eraser returns an eraser for the habits. If the name of a habit contains a phrase, the habit is
// deleted, because habits with redacted names would be counted as one habit.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{
		{Name: "habits", Key: []string{"id"}, Text: []string{"unit", "note"}, Names: []string{"habit", "name"}},
		{Name: "habit_targets", Key: []string{"name"}, Text: []string{"unit"}, Names: []string{"habit", "name"}},
	}}
}
