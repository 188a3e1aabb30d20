package undo

import "testing"

func TestIsRequest(t *testing.T) {
	for text, want := range map[string]bool{
		"undo that":                        true,
		"Undo that, please!":               true,
		"oh no, undo it":                   true,
		"Take that back.":                  true,
		"hob, revert that":                 true,
		"Mach das rückgängig":              true,
		"bitte mach das wieder rückgängig": true,
		"Nimm das zurück, danke":           true,
		"annule ça s'il te plaît":          true,
		"Deshaz eso, por favor":            true,
		"annullalo":                        true,
		"maak dat ongedaan alsjeblieft":    true,
		"Desfaz isso":                      true,
		"desfaça isso por favor":           true,
		"":                                 false,
		"please":                           false,
		"undo that task in the list":       false,
		"how do I undo that?":              false,
		"don't undo that":                  false,
		"undo that and send it to Bob":     false,
		"nimm das Buch zurück":             false,
		"annule":                           false, // an appointment, perhaps
		"undo the last 3":                  false, // for the model, or the built-in brain
		"undo that undo that undo that undo that undo that undo that undo that undo that": false,
	} {
		if got := IsRequest(text); got != want {
			t.Errorf("%q: IsRequest = %v", text, got)
		}
	}
}
