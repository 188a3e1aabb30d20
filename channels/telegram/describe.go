package telegram

import (
	"errors"

	"hob/channels"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/settings"
)

// botToken matches a token, which consists of the bot's id and a key
// (core.telegram.org/bots/api#authorizing-your-bot).
var botToken = lazyregexp.New(`^[0-9]{6,}:[A-Za-z0-9_-]{30,}$`)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "your own bot on Telegram",
		Intro: "In Telegram, write /newbot to @BotFather and give the bot a name. @BotFather replies with the token.\n" +
			"To let the bot receive more than commands in groups, write /setprivacy to @BotFather, or mention the bot in each message.",
		Settings: []settings.Setting{
			{Key: "token", Kind: settings.Secret, Title: "Bot token", Help: "Your input is not shown.", Sample: "1:played-secret", Check: func(s string) error {
				if !botToken.MatchString(s) {
					return errors.New("not a bot token, which consists of a number, a colon and a key; copy the complete token from @BotFather")
				}
				return nil
			}},
			channels.AllowSetting("numeric user ids"),
		},
		Pairs: true,
	}
}
