package email

import (
	"errors"
	"net/mail"
	"strings"

	"hob/channels"
	"hob/platform/text/settings"
)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	own := func(_ settings.Env, answer func(string) string) bool { return answer("account") == "" }
	host := func(s string) error {
		if strings.ContainsAny(s, " /@") {
			return errors.New("must look like imap.example.org or imap.example.org:993")
		}
		return nil
	}
	return channels.Description{
		Name: Name, Title: "a mailbox: write to Hob, and it answers by email",
		Intro: "Create a separate mailbox for Hob with any mail provider; you write to its address, and Hob answers.\n" +
			"If the provider uses two-step sign-in, create an app password in the security settings of that mailbox.",
		Settings: []settings.Setting{
			{
				Key: "account", Kind: settings.Choice, Title: "Which mailbox should Hob use?", Default: "",
				Shown: func(e settings.Env, _ func(string) string) bool { return len(e.Accounts) > 0 },
				Options: func(e settings.Env) []settings.Option {
					out := []settings.Option{{Value: "", Title: "a separate mailbox, entered now"}}
					for _, a := range e.Accounts {
						out = append(out, settings.Option{Value: a.Value, Title: "the account " + a.Value + " (" + a.Title + ")"})
					}
					return out
				},
			},
			{Key: "address", Kind: settings.Text, Title: "Email address of Hob", Shown: own, Check: checkAddress},
			{Key: "imap", Kind: settings.Text, Title: "Server for incoming mail (IMAP), such as imap.example.org", Shown: own, Check: host},
			{Key: "smtp", Kind: settings.Text, Title: "Server for outgoing mail (SMTP), such as smtp.example.org", Shown: own, Check: host},
			{Key: "password", Kind: settings.Secret, Title: "Password of the mailbox", Help: "Your input is not shown.", Shown: own},
			{
				Key: "trusted_host", Kind: settings.Text, Optional: true, Title: "Name of the provider in Authentication-Results",
				Help:  "The first word of the Authentication-Results header in any email in that mailbox, such as mx.example.org. Hob uses it to verify that an email is from you. Leave it empty if you do not know it: Hob knows Gmail's name, and hob channel test email finds other names. Without it, Hob checks the DKIM signature of the sender's domain.",
				Check: host,
			},
			{Key: "folder", Kind: settings.Text, Optional: true, Unasked: true, Default: "INBOX", Title: "Folder in which emails to Hob arrive"},
			{Key: "subject_prefix", Kind: settings.Text, Optional: true, Unasked: true, Title: "Required beginning of the subject of emails to Hob"},
			{Key: "drafts", Kind: settings.YesNo, Optional: true, Unasked: true, Default: "false", Title: "Should answers be saved in Drafts instead of sent?"},
			{Key: "allow", Kind: settings.Text, List: true, Optional: true, Unasked: true, Check: checkAddress, Title: "Who else may write to Hob on this channel? Addresses"},
		},
		Pairs: true,
	}
}

func checkAddress(s string) error {
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s || !strings.Contains(s, "@") {
		return errors.New("must look like hob@example.org")
	}
	return nil
}
