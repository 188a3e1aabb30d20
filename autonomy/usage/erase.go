package usage

import "hob/platform/store/erase"

// Eraser covers the table of model calls, which contains no text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"model_calls"}} }
