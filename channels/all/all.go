// Package all lists the channels that the configuration can enable. The terminal and the web
// channel are always enabled, and the composition root creates them because they need the
// engine.
package all

import (
	"hob/channels"
	"hob/channels/alexa"
	"hob/channels/desktop"
	"hob/channels/discord"
	"hob/channels/email"
	"hob/channels/imessage"
	"hob/channels/notes"
	"hob/channels/reminders"
	"hob/channels/slack"
	"hob/channels/telegram"
	"hob/channels/webhook"
)

// Drivers returns one driver for each section [channels.NAME], in the order in which setup and
// the lists offer them.
func Drivers() []channels.Driver {
	return []channels.Driver{
		desktop.Driver{},
		imessage.Driver{},
		email.Driver{},
		discord.Driver{},
		slack.Driver{},
		telegram.Driver{},
		webhook.Driver{},
		reminders.Driver{},
		notes.Driver{},
		alexa.Driver{},
	}
}
