package pairing

import "hob/platform/store/erase"

// Eraser returns the eraser for phrases in the names of paired accounts. The accounts stay paired.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "pairings", Key: []string{"id"}, Text: []string{"name"}}}, Besides: []string{"pairing_codes"}}
}
