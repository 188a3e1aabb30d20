package usage

import "hob/platform/store/erase"

// Eraser returns an eraser that declares the table of model calls as free of text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"model_calls"}} }
