package notes

import (
	"path/filepath"

	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "a folder of notes: each new note is a message to Hob",
		Intro: "Create a folder for Hob in Notes, or use the folder of [pim] notes_folder: each new note is a message to Hob, which answers there.\n" +
			"On a Mac, macOS asks at the first check whether Hob may control Notes: allow it.",
		Settings: []settings.Setting{
			{Key: "folder", Kind: settings.Text, Optional: true, Default: "Hob", Title: "Name of the folder"},
			{Key: "account", Kind: settings.Text, Optional: true, Unasked: true, Title: "Location: apple, or folder for [pim] notes_folder"},
			{Key: "private", Kind: settings.YesNo, Optional: true, Default: "false", Title: "Are you the only person who can write to the folder?", Help: "Everyone who can write there speaks as you. You can answer approval requests there only if you answer yes."},
		},
		Pairs:      true,
		ReadsNotes: true,
		NotesFolder: func(decode func(any) error) (string, error) {
			var c Config
			err := decode(&c)
			return filepath.FromSlash(FolderOf(c)), err
		},
	}
}
