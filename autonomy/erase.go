package autonomy

import "hob/platform/erase"

// Eraser looks after the traces of turns and ticks, in which no text stands.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"turns", "ticks"}} }
