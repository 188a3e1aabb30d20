package watchers

import "strings"

// KindIntent is the kind of the standing intents: watchers that fire on an inbound message or on a
// signal of another watcher, once or each time.
const KindIntent = "intent"

// IntentConfig is the configuration of a standing intent. It waits for a person (From), for the user
// (Mine), for a watcher, or else for anybody's Words. Words may narrow the others too.
type IntentConfig struct {
	// From is the name, the address, the number or the account ("telegram:42") of a person. A
	// display name alone never matches, because everybody can choose one.
	From string `json:"from,omitempty"`
	// Accounts are the accounts of the person, as "channel:id", that were known at the creation.
	Accounts []string `json:"accounts,omitempty"`
	Mine     bool     `json:"mine,omitempty"`  // the user's own messages
	Words    Words    `json:"words,omitempty"` // the message or signal must contain one of these
	Channel  string   `json:"channel,omitempty"`
	Watcher  string   `json:"watcher,omitempty"` // id of the watcher or schedule whose signal counts
	Title    string   `json:"title,omitempty"`   // its title
	EachTime bool     `json:"each_time,omitempty"`
}

// Recipient is the chat of the message that made an intent fire. It is the payload of an intent that
// answers the message.
type Recipient struct {
	Channel string `json:"channel"`
	To      string `json:"to"`
}

// Sender is an account of a person on a channel.
type Sender struct{ Channel, ID, Name string }

// IsAddress reports whether a name is an email address or a phone number.
func IsAddress(name string) bool {
	return strings.Contains(strings.TrimPrefix(strings.TrimSpace(name), "@"), "@") || PhoneDigits(name) != ""
}

// PhoneDigits returns the digits of a phone number, or "" if s is not a phone number.
func PhoneDigits(s string) string {
	var b strings.Builder
	for i, r := range strings.TrimSpace(s) {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '+' && i == 0, strings.ContainsRune(" -./()", r):
		default:
			return ""
		}
	}
	if b.Len() < 7 {
		return ""
	}
	return b.String()
}
