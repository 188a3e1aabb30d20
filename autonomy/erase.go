package autonomy

import "hob/platform/store/erase"

// Eraser covers the tables of turns and ticks, which contain no text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"turns", "ticks"}} }
