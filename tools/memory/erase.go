package memory

import "hob/platform/store/erase"

// Eraser returns the eraser that removes phrases from the notes.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "notes", Key: []string{"n"}, Text: []string{"title", "text"}, Kind: kindNote, Ref: "id"}}}
}
