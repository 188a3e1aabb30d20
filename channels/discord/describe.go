package discord

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"hob/channels"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/settings"
)

// tokenForm matches a token from the developer portal: the bot's id in base64, a time and a
// signature (see discord.com/developers/docs/reference#authentication).
var tokenForm = lazyregexp.New(`^[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{27,}$`)

// botPermissions are the bot's permissions in a server: see channels, send messages, attach files,
// read the history, send in threads (discord.com/developers/docs/topics/permissions).
const botPermissions = 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<38

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "your own bot on Discord: direct messages and mentions in servers",
		Intro: "At discord.com/developers/applications: New Application; in Bot, enable Message Content Intent.\n" +
			"In Bot, Reset Token shows the token once: copy it here.",
		Settings: []settings.Setting{
			{Key: "token", Kind: settings.Secret, Title: "Bot token", Help: "Your input is not shown.", Check: func(s string) error {
				switch {
				case tokenForm.MatchString(s):
					return nil
				case strings.HasPrefix(s, "Bot "):
					return errors.New("remove the word Bot and enter only the token")
				case !strings.Contains(s, "."):
					return errors.New("not a bot token, which contains two dots; copy it from Bot, Reset Token (not the client secret)")
				}
				return errors.New("not a bot token; copy the full token from the page Bot, button Reset Token")
			}},
			channels.AllowSetting("ids of users (Copy User ID in Discord's developer mode)"),
		},
		Pairs: true,
		NextSteps: func(secret func(string) string) []string {
			id := botID(secret("token"))
			if id == "" {
				return nil
			}
			return []string{fmt.Sprintf("To write to the bot, invite it to one of your servers: https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", id, int64(botPermissions))}
		},
	}
}

// botID returns the bot's id from its token, or "" if the token contains none.
func botID(token string) string {
	first, _, _ := strings.Cut(token, ".")
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil || len(b) < 15 || len(b) > 20 || strings.Trim(string(b), "0123456789") != "" {
		return ""
	}
	return string(b)
}
