package pairing

import "hob/platform/erase"

// Eraser takes phrases out of the names that people go by. By what they write
// from they stay paired.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "pairings", Key: []string{"id"}, Text: []string{"name"}}}, Besides: []string{"pairing_codes"}}
}
