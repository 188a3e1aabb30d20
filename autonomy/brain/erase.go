package brain

import "hob/platform/erase"

// Eraser takes texts out of the reasons for which a model was chosen.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "turn_models", Key: []string{"event"}, Text: []string{"reason"}, Event: "event"}}, Besides: []string{"session_models"}}
}
