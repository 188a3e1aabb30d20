package slack

import (
	"fmt"
	"strings"

	"hob/channels"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/settings"
)

// tokenForm matches tokens, whose prefix depends on their kind
// (docs.slack.dev/authentication/tokens).
var tokenForm = lazyregexp.New(`^(xoxb|xapp)-[A-Za-z0-9-]{10,}$`)

func checkToken(prefix, where string) func(string) error {
	return func(s string) error {
		switch {
		case tokenForm.MatchString(s) && strings.HasPrefix(s, prefix):
			return nil
		case strings.HasPrefix(s, "xoxb-") || strings.HasPrefix(s, "xapp-"):
			return fmt.Errorf("this is the other token; the token needed here begins with %s and is in %s", prefix, where)
		case strings.HasPrefix(s, "xoxp-"):
			return fmt.Errorf("this is a user token; the token needed here begins with %s and is in %s", prefix, where)
		}
		return fmt.Errorf("must begin with %s; copy the full token from %s", prefix, where)
	}
}

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	const bot, app = "OAuth & Permissions, Bot User OAuth Token", "Basic Information, App-Level Tokens"
	return channels.Description{
		Name: Name, Title: "an app in your Slack workspace: direct messages, mentions and threads",
		Intro: "At api.slack.com/apps: Create New App, From a manifest, and paste what `hob channel add slack --manifest` prints; then Install to Workspace.\n" +
			"The bot token is in " + bot + "; create the app token in " + app + ", with the scope connections:write.",
		Settings: []settings.Setting{
			{Key: "bot_token", Kind: settings.Secret, Title: "Bot token (xoxb-...)", Help: "Your input is not shown.", Check: checkToken("xoxb-", bot), Sample: "xoxb-played"},
			{Key: "app_token", Kind: settings.Secret, Title: "App-level token (xapp-...)", Help: "Your input is not shown.", Check: checkToken("xapp-", app), Sample: "xapp-played"},
			channels.AllowSetting("member ids such as U0123456789 (Copy member ID in a profile), or T0123456789/U0123456789 for another workspace; email addresses of members if the app has the scope users:read.email"),
		},
		Pairs:    true,
		Manifest: Manifest,
	}
}
