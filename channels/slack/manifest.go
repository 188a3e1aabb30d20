package slack

import "encoding/json"

// scopes is what the bot may do, each for something that it does.
func scopes() []string {
	return []string{
		"app_mentions:read", // to be spoken to in channels
		"channels:history",  // threads and what was said while Hob was off
		"channels:read",     // what a channel is called
		"chat:write",        // to answer, and to show that it thinks
		"commands",          // /hob
		"files:read",        // files that come along
		"files:write",       // files that go along
		"groups:history",    // the same in private channels
		"groups:read",
		"im:history", // direct messages
		"im:read",    // which ones there are, after a while off
		"im:write",   // where /hob is answered
		"mpim:history",
		"mpim:read",
		"users:read", // what people are called
	}
}

// Manifest is what Slack makes the app from, for the owner to paste.
func (Driver) Manifest(called string) string { return Manifest(called) }

// Manifest describes the app that Hob needs on Slack, as JSON to be pasted under "From
// a manifest" (docs.slack.dev/reference/app-manifest). The name is what it is called
// there.
func Manifest(name string) string {
	if name == "" {
		name = "Hob"
	}
	if r := []rune(name); len(r) > 35 { // the most that Slack takes
		name = string(r[:35])
	}
	type object = map[string]any
	raw, err := json.MarshalIndent(object{
		"display_information": object{"name": name, "description": "An assistant on your own computer"},
		"features": object{
			"app_home": object{"home_tab_enabled": false, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
			"bot_user": object{"display_name": name, "always_online": false},
			"slash_commands": []object{{
				"command": "/hob", "description": "Ask Hob", "usage_hint": "what you want to say", "should_escape": false,
			}},
		},
		"oauth_config": object{"scopes": object{"bot": scopes()}},
		"settings": object{
			"event_subscriptions": object{"bot_events": []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim"}},
			"interactivity":       object{"is_enabled": true},
			"org_deploy_enabled":  false, "socket_mode_enabled": true, "token_rotation_enabled": false,
		},
	}, "", "  ")
	if err != nil {
		return "" // strings and truths always encode
	}
	return string(raw) + "\n"
}
