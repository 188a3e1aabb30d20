package desktop

import (
	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{Name: Name, Title: "desktop notifications with approval buttons", OnDesktop: true, Settings: []settings.Setting{
		{Key: "burst", Kind: settings.Text, Number: true, Optional: true, Unasked: true, Title: "How many notifications per minute should appear separately?"},
		{Key: "speak", Kind: settings.YesNo, Optional: true, Unasked: true, Default: "false", Title: "Should notifications be read aloud?"},
		{Key: "buttons", Kind: settings.YesNo, Optional: true, Unasked: true, Default: "true", Title: "Should approval requests have buttons?"},
	}}
}
