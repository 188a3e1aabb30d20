package reminders

import (
	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "a list of reminders (Reminders, CalDAV, Outlook): each new entry is a message to Hob",
		Intro: "Create a list for Hob in Reminders or in the calendar account of your phone: each new entry, also by voice, is a message to Hob.\n" +
			"On a Mac, macOS asks at the first check whether Hob may control Reminders: allow it.",
		Settings: []settings.Setting{
			{Key: "list", Kind: settings.Text, Optional: true, Default: "Hob", Title: "Name of the list"},
			{Key: "account", Kind: settings.Text, Optional: true, Unasked: true, Title: "The account that contains the list: its name, or \"apple\""},
			{Key: "private", Kind: settings.YesNo, Optional: true, Default: "false", Title: "Are you the only person who can write to the list?", Help: "Everyone who can write there speaks as you. You can answer approval requests there only if you answer yes."},
		},
		Pairs:          true,
		ReadsReminders: true,
	}
}
