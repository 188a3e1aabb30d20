package modelrouter

import "hob/platform/store/erase"

// Eraser returns the eraser of the reasons for model choices.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "turn_models", Key: []string{"event"}, Text: []string{"reason"}, Event: "event"}}, Besides: []string{"session_models"}}
}
