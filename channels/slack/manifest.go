package slack

import "encoding/json"

// botScopes returns the bot's OAuth scopes. The comments state why each is needed.
func botScopes() []string {
	return []string{
		"app_mentions:read", // receives mentions in channels
		"channels:history",  // reads threads and sent messages
		"channels:read",     // reads channel names
		"chat:write",        // sends answers and status messages
		"commands",          // receives /hob
		"files:read",        // reads incoming files
		"files:write",       // sends outgoing files
		"groups:history",    // reads threads and sent messages in private channels
		"groups:read",
		"im:history", // receives direct messages
		"im:read",    // lists direct chats after Hob was not running, to find missed messages
		"im:write",   // answers /hob
		"mpim:history",
		"mpim:read",
		"users:read", // reads names of people
	}
}

// Manifest returns the manifest of the Slack app that Hob needs, as JSON to paste under "From a
// manifest" (docs.slack.dev/reference/app-manifest). name is the name of the app.
func Manifest(name string) string {
	if name == "" {
		name = "Hob"
	}
	if r := []rune(name); len(r) > 35 { // Slack's limit for names
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
		"oauth_config": object{"scopes": object{"bot": botScopes()}},
		"settings": object{
			"event_subscriptions": object{"bot_events": []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim"}},
			"interactivity":       object{"is_enabled": true},
			"org_deploy_enabled":  false, "socket_mode_enabled": true, "token_rotation_enabled": false,
		},
	}, "", "  ")
	if err != nil {
		return "" // strings and booleans can always be encoded
	}
	return string(raw) + "\n"
}
