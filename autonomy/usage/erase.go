package usage

import "hob/platform/erase"

// Eraser looks after the model calls that were counted, in which no text stands.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"model_calls"}} }
