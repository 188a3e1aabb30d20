package modelrouter

import "hob/platform/store/erase"

// Eraser returns the eraser for the stored reasons of model choices.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "turn_models", Key: []string{"event"}, Text: []string{"reason"}, Event: "event"}}, Besides: []string{"session_models"}}
}
