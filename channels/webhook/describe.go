package webhook

import (
	"errors"
	"net/url"

	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "signed HTTP posts to and from your own server",
		Intro: "Hob posts its messages to your server, signed with a shared secret.\n" +
			"Your server may post to /hooks/webhook on Hob's port, signed in the same way.",
		Settings: []settings.Setting{
			{Key: "url", Kind: settings.Text, Optional: true, Title: "Address of your server", Help: "For example https://example.org/hob. Without an address, Hob only receives posts.", Check: func(s string) error {
				if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
					return errors.New("must be an address such as https://example.org/hob")
				}
				return nil
			}},
			{Key: "secret", Kind: settings.Secret, Title: "Secret for signing posts", Help: "Your input is not shown. Use a long random value."},
			{Key: "signature", Kind: settings.Text, Optional: true, Unasked: true, Default: "v1", Title: "Obsolete: the time, the key and the body of each post are signed"},
			channels.AllowSetting("names of senders, as your server sends them"),
		},
		FixedRecipient: true,
	}
}
