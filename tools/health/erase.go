package health

import "hob/platform/erase"

// Eraser takes texts out of the habits. One whose name is forgotten goes: under
// the mark it would be counted together with others.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "habits", Key: []string{"id"}, Text: []string{"unit", "note"}, Names: []string{"habit", "name"}}}}
}
