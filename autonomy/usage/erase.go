package usage

import "hob/platform/store/erase"

// Eraser returns an eraser that declares that the table of model calls contains no text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"model_calls"}} }
