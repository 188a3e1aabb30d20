package setup

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"strings"

	screen "hob/channels/desktop"
)

// channelSetups are the channels to choose from. A new one is a line here.
func channelSetups() []channelSetup {
	return []channelSetup{
		desktopChannel(),
		messagesChannel(),
		emailChannel(),
		discordChannel(),
		slackChannel(),
		telegramChannel(),
		webhookChannel(),
		remindersChannel(),
		notesChannel(),
		alexaChannel(),
	}
}

// allowedField returns the field for other senders. Setup does not ask for it: by default Hob
// accepts only the user.
func allowedField(what string) field {
	return field{Key: "allow", Kind: Text, List: true, Optional: true, Unasked: true, Title: "Who else may write to Hob there? " + what}
}

// pairingHints returns the next steps for pairing the user's account.
func pairingHints(name string) []string {
	return []string{"Hob ignores all messages there until you pair your account: hob channel pair " + name}
}

func desktopChannel() channelSetup {
	return channelSetup{Name: screen.Name, Fields: []field{
		{Key: "burst", Kind: Text, Number: true, Optional: true, Unasked: true, Title: "How many notifications per minute should appear separately?"},
		{Key: "speak", Kind: YesNo, Optional: true, Unasked: true, Default: "false", Title: "Should notifications be read aloud?"},
		{Key: "buttons", Kind: YesNo, Optional: true, Unasked: true, Default: "true", Title: "Should approval requests have buttons?"},
	}}
}

func messagesChannel() channelSetup {
	return channelSetup{
		Name: "imessage",
		About: "Hob reads Messages on this Mac and writes as you: sign in to Messages first.\n" +
			"Grant Hob Full Disk Access in System Settings, Privacy & Security; with the first message, macOS asks whether Hob may control Messages.",
		Fields: []field{
			{Key: "prefix", Kind: Text, Optional: true, Title: "Which word should begin a message to Hob, such as hob?", About: "It separates messages to Hob from your other messages."},
			{Key: "db", Kind: Text, Optional: true, Unasked: true, Title: "Path of the Messages database"},
			allowedField("numbers such as +491701234567, and addresses"),
		},
		Then: pairingHints("imessage"),
	}
}

func emailChannel() channelSetup {
	own := func(o Options, answer func(string) string) bool { return answer("account") == "" }
	host := func(s string) error {
		if strings.ContainsAny(s, " /@") {
			return errors.New("must be a server such as imap.example.org, or imap.example.org:993")
		}
		return nil
	}
	return channelSetup{
		Name: "email",
		About: "Create a separate mailbox for Hob with any mail provider; you write to its address, and Hob answers.\n" +
			"If the provider uses two-step sign-in, create an app password in the security settings of that mailbox.",
		Fields: []field{
			{
				Key: "account", Kind: Choice, Title: "Which mailbox should Hob use?", Default: "",
				Shown: func(o Options, _ func(string) string) bool { return len(o.Config.Accounts) > 0 },
				Options: func(o Options) []Option {
					out := []Option{{"", "a separate one, entered now"}}
					for _, a := range o.Config.Accounts {
						out = append(out, Option{a.Name, "the account " + a.Name + " (" + a.Address + ")"})
					}
					return out
				},
			},
			{Key: "address", Kind: Text, Title: "Mail address of Hob", Shown: own, Check: mailAddress},
			{Key: "imap", Kind: Text, Title: "Server for incoming mail (IMAP), such as imap.example.org", Shown: own, Check: host},
			{Key: "smtp", Kind: Text, Title: "Server for outgoing mail (SMTP), such as smtp.example.org", Shown: own, Check: host},
			{Key: "password", Kind: Secret, Title: "Password of the mailbox", About: "Your input is not shown.", Shown: own},
			{
				Key: "trusted_host", Kind: Text, Optional: true, Title: "Name of the provider in Authentication-Results",
				About: "The first word of Authentication-Results in any mail there, such as mx.example.org. Hob uses it to verify that mail is from you. Leave it empty if you do not know it: Gmail's name is known, for others hob channel test email finds it. Without it, Hob checks the signature of your mail host.",
				Check: host,
			},
			{Key: "folder", Kind: Text, Optional: true, Unasked: true, Default: "INBOX", Title: "Folder in which mail for Hob arrives"},
			{Key: "subject_prefix", Kind: Text, Optional: true, Unasked: true, Title: "Required beginning of the subject of mail for Hob"},
			{Key: "drafts", Kind: YesNo, Optional: true, Unasked: true, Default: "false", Title: "Should answers be saved in Drafts instead of sent?"},
			{Key: "allow", Kind: Text, List: true, Optional: true, Unasked: true, Check: mailAddress, Title: "Who else may write to Hob there? Addresses"},
		},
		Then: pairingHints("email"),
	}
}

func mailAddress(s string) error {
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s || !strings.Contains(s, "@") {
		return errors.New("must be an address such as hob@example.org")
	}
	return nil
}

// discordToken matches a token of the developer portal: the bot's id in base64, a time and a
// signature (see discord.com/developers/docs/reference#authentication).
var discordToken = regexp.MustCompile(`^[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{27,}$`)

// discordRights are the permissions of the bot in a server: see channels, send messages, attach
// files, read the history, send in threads (discord.com/developers/docs/topics/permissions).
const discordRights = 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<38

func discordChannel() channelSetup {
	return channelSetup{
		Name: "discord",
		About: "At discord.com/developers/applications: New Application; in Bot, enable Message Content Intent.\n" +
			"In Bot, Reset Token shows the token once: copy it here.",
		Fields: []field{
			{Key: "token", Kind: Secret, Title: "Token of the bot", About: "Your input is not shown.", Check: func(s string) error {
				switch {
				case discordToken.MatchString(s):
					return nil
				case strings.HasPrefix(s, "Bot "):
					return errors.New("remove the word Bot and enter only the token")
				case !strings.Contains(s, "."):
					return errors.New("not a bot token, which contains two dots; copy it from Bot, Reset Token (not the client secret)")
				}
				return errors.New("not a bot token; copy the full token from Bot, Reset Token")
			}},
			allowedField("ids of users (Copy User ID in Discord's developer mode)"),
		},
		Then: pairingHints("discord"),
		Follows: func(secret func(string) string) []string {
			id := discordID(secret("token"))
			if id == "" {
				return nil
			}
			return []string{fmt.Sprintf("Invite the bot to one of your servers to write to it: https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", id, int64(discordRights))}
		},
	}
}

// discordID is the bot's id out of its token; "" when it is not in there.
func discordID(token string) string {
	first, _, _ := strings.Cut(token, ".")
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil || len(b) < 15 || len(b) > 20 || strings.Trim(string(b), "0123456789") != "" {
		return ""
	}
	return string(b)
}

// slackTokens have a prefix by their kind (docs.slack.dev/authentication/tokens).
var slackTokens = regexp.MustCompile(`^(xoxb|xapp)-[A-Za-z0-9-]{10,}$`)

func slackToken(prefix, where string) func(string) error {
	return func(s string) error {
		switch {
		case slackTokens.MatchString(s) && strings.HasPrefix(s, prefix):
			return nil
		case strings.HasPrefix(s, "xoxb-") || strings.HasPrefix(s, "xapp-"):
			return fmt.Errorf("this is the other token; the token needed here begins with %s and is in %s", prefix, where)
		case strings.HasPrefix(s, "xoxp-"):
			return fmt.Errorf("this is a user token; the token needed here begins with %s and is in %s", prefix, where)
		}
		return fmt.Errorf("must begin with %s; copy the full token from %s", prefix, where)
	}
}

func slackChannel() channelSetup {
	const bot, app = "OAuth & Permissions, Bot User OAuth Token", "Basic Information, App-Level Tokens"
	return channelSetup{
		Name: "slack",
		About: "At api.slack.com/apps: Create New App, From a manifest, and paste what `hob channel add slack --manifest` prints; then Install to Workspace.\n" +
			"The bot token is in " + bot + "; create the app token in " + app + ", with the scope connections:write.",
		Fields: []field{
			{Key: "bot_token", Kind: Secret, Title: "Bot token (xoxb-...)", About: "Your input is not shown.", Check: slackToken("xoxb-", bot)},
			{Key: "app_token", Kind: Secret, Title: "App-level token (xapp-...)", About: "Your input is not shown.", Check: slackToken("xapp-", app)},
			allowedField("ids of members, U0123456789 (Copy member ID in a profile); of another workspace T0123456789/U0123456789; addresses of members, if the app has the scope users:read.email"),
		},
		Then: pairingHints("slack"),
	}
}

// telegramToken is the bot's id and a key (core.telegram.org/bots/api#authorizing-your-bot).
var telegramToken = regexp.MustCompile(`^[0-9]{6,}:[A-Za-z0-9_-]{30,}$`)

func telegramChannel() channelSetup {
	return channelSetup{
		Name: "telegram",
		About: "In Telegram, write /newbot to @BotFather and give the bot a name: it answers with the token.\n" +
			"To let it receive more than commands in groups, write /setprivacy to @BotFather, or mention the bot in each message.",
		Fields: []field{
			{Key: "token", Kind: Secret, Title: "Token of the bot", About: "Your input is not shown.", Check: func(s string) error {
				if !telegramToken.MatchString(s) {
					return errors.New("not a token, which is a number, a colon and a key; copy the full token from @BotFather")
				}
				return nil
			}},
			allowedField("ids of users, which are numbers"),
		},
		Then: pairingHints("telegram"),
	}
}

func webhookChannel() channelSetup {
	return channelSetup{
		Name: "webhook",
		About: "Hob posts its messages to your server, signed with a shared secret.\n" +
			"Your server may post to /hooks/webhook on Hob's port, signed in the same way.",
		Fields: []field{
			{Key: "url", Kind: Text, Optional: true, Title: "Address of your server", About: "Such as https://example.org/hob; without one Hob only receives posts.", Check: func(s string) error {
				if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
					return errors.New("must be an address such as https://example.org/hob")
				}
				return nil
			}},
			{Key: "secret", Kind: Secret, Title: "Secret for signing posts", About: "Your input is not shown. Use a long random value."},
			allowedField("names of senders, as your server gives them"),
		},
	}
}

func remindersChannel() channelSetup {
	return channelSetup{
		Name: "reminders",
		About: "Create a list for Hob in Reminders or in the calendar account of your phone: each new entry, also by voice, is a message to Hob.\n" +
			"On a Mac, macOS asks at the first check whether Hob may control Reminders: allow it.",
		Fields: []field{
			{Key: "list", Kind: Text, Optional: true, Default: "Hob", Title: "Name of the list"},
			{Key: "account", Kind: Text, Optional: true, Unasked: true, Title: "Location: the name of an account, or apple"},
			{Key: "private", Kind: YesNo, Optional: true, Default: "false", Title: "Are you the only person who can write to the list?", About: "Everyone who can write there speaks as you. You can answer approval requests there only if you answer yes."},
		},
		Then: pairingHints("reminders"),
	}
}

func notesChannel() channelSetup {
	return channelSetup{
		Name: "notes",
		About: "Create a folder for Hob in Notes, or use the folder of [pim] notes_folder: each new note is a message to Hob, which answers there.\n" +
			"On a Mac, macOS asks at the first check whether Hob may control Notes: allow it.",
		Fields: []field{
			{Key: "folder", Kind: Text, Optional: true, Default: "Hob", Title: "Name of the folder"},
			{Key: "account", Kind: Text, Optional: true, Unasked: true, Title: "Location: apple, or folder for [pim] notes_folder"},
			{Key: "private", Kind: YesNo, Optional: true, Default: "false", Title: "Are you the only person who can write to the folder?", About: "Everyone who can write there speaks as you. You can answer approval requests there only if you answer yes."},
		},
		Then: pairingHints("notes"),
	}
}

// alexaSkill is the id of a skill (developer.amazon.com/docs/alexa/custom-skills).
var alexaSkill = regexp.MustCompile(`^amzn1\.ask\.skill\.[0-9A-Za-z-]{20,}$`)

func alexaChannel() channelSetup {
	return channelSetup{
		Name: "alexa",
		About: "Create a custom skill at developer.amazon.com/alexa/console/ask; its id is below its name.\n" +
			"Its endpoint is an HTTPS address that forwards to /hooks/alexa on Hob's port, for example through a tunnel.",
		Fields: []field{
			{Key: "skill", Kind: Text, Title: "Id of the skill", About: "Begins with amzn1.ask.skill.", Check: func(s string) error {
				if !alexaSkill.MatchString(s) {
					return errors.New("must be an id such as amzn1.ask.skill.0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f")
				}
				return nil
			}},
			allowedField("accounts, which begin with amzn1.ask.account."),
			{Key: "voices", Kind: Text, List: true, Optional: true, Unasked: true, Title: "Whose recognised voice may answer approval requests? Ids that begin with amzn1.ask.person."},
		},
		Then: pairingHints("alexa"),
	}
}
