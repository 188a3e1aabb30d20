package health

import "hob/platform/store/erase"

// Eraser removes texts from the habits. A habit whose name is forgotten is deleted:
// redacted names would be counted as one habit.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "habits", Key: []string{"id"}, Text: []string{"unit", "note"}, Names: []string{"habit", "name"}}}}
}
