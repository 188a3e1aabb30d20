package travel

import "hob/platform/store/erase"

// Eraser returns an eraser for the packing lists.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "packing_lists", Key: []string{"id"}, Text: []string{"tags", "added", "left_out"}, Names: []string{"destination"}}}}
}
