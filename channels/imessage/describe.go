package imessage

import (
	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "Messages on this Mac: iMessage and SMS", Systems: []string{"darwin"},
		Intro: "Hob reads Messages on this Mac and writes as you: sign in to Messages first.\n" +
			"Grant Hob Full Disk Access in System Settings, Privacy & Security; with the first message, macOS asks whether Hob may control Messages.",
		Settings: []settings.Setting{
			{Key: "prefix", Kind: settings.Text, Optional: true, Title: "Which word should begin a message to Hob, such as hob?", Help: "It separates messages to Hob from your other messages."},
			{Key: "db", Kind: settings.Text, Optional: true, Unasked: true, Title: "Path of the Messages database"},
			channels.AllowSetting("numbers such as +491701234567, and addresses"),
		},
		Pairs:       true,
		Permissions: []channels.Permission{{ID: "disk", Without: "macOS hides the messages from Hob"}},
	}
}
