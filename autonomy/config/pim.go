package config

import (
	"path/filepath"
	"strings"

	"hob/platform/host/system"
)

// Pim is [pim]: the user's reminders and notes in other apps.
type Pim struct {
	Apps        bool   `toml:"apps"`
	Reminders   string `toml:"reminders"`    // "hob", or an account or app
	Notes       string `toml:"notes"`        // likewise
	NotesFolder string `toml:"notes_folder"` // absolute; "" = none
}

func (k *checker) checkPim() {
	p := &k.c.Pim
	for key, v := range map[string]string{"pim.reminders": p.Reminders, "pim.notes": p.Notes} {
		k.requireValid(key, strings.TrimSpace(v) != "" && oneLine(v), `it must be "hob", the name of an account, or an app such as "apple"`)
	}
	if p.NotesFolder != "" {
		abs, err := system.Expand(p.NotesFolder)
		k.requireValid("pim.notes_folder", err == nil && filepath.IsAbs(abs), `it must be a whole path such as "~/Notes", or empty`)
		if err == nil {
			p.NotesFolder = abs
		}
	}
}
