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

// allowed lets other people write. It is not asked for: nobody but the owner is heard
// until he says so.
func allowed(what string) field {
	return field{Key: "allow", Kind: Text, List: true, Optional: true, Unasked: true, Title: "Who else may write to Hob there: " + what}
}

// pairing says how the owner becomes known on a channel.
func pairing(name string) []string {
	return []string{"Nobody is heard there yet. Say who you are: hob channel pair " + name}
}

func desktopChannel() channelSetup {
	return channelSetup{Name: screen.Name, Fields: []field{
		{Key: "burst", Kind: Text, Number: true, Optional: true, Unasked: true, Title: "How many notes a minute are shown one by one"},
		{Key: "speak", Kind: YesNo, Optional: true, Unasked: true, Default: "false", Title: "Shall notes be read aloud?"},
		{Key: "buttons", Kind: YesNo, Optional: true, Unasked: true, Default: "true", Title: "Shall questions have buttons?"},
	}}
}

func messagesChannel() channelSetup {
	return channelSetup{
		Name: "imessage",
		About: "Hob reads Messages on this Mac and writes as you: sign in to Messages first.\n" +
			"Give Hob Full Disk Access in System Settings, Privacy & Security; the first text asks whether it may control Messages.",
		Fields: []field{
			{Key: "prefix", Kind: Text, Optional: true, Title: "The word with which a message to Hob begins, such as hob", About: "It keeps what you write to others apart from what you write to Hob."},
			{Key: "db", Kind: Text, Optional: true, Unasked: true, Title: "The database of Messages"},
			allowed("numbers such as +491701234567, and addresses"),
		},
		Then: pairing("imessage"),
	}
}

func emailChannel() channelSetup {
	own := func(o Options, answer func(string) string) bool { return answer("account") == "" }
	host := func(s string) error {
		if strings.ContainsAny(s, " /@") {
			return errors.New("it is a server such as imap.example.org, or imap.example.org:993")
		}
		return nil
	}
	return channelSetup{
		Name: "email",
		About: "Give Hob a mailbox of its own with any mail provider; you write to its address, and it answers.\n" +
			"Where the provider has two-step sign-in, make an app password in the security settings of that mailbox.",
		Fields: []field{
			{
				Key: "account", Kind: Choice, Title: "Which mailbox?", Default: "",
				Shown: func(o Options, _ func(string) string) bool { return len(o.Config.Accounts) > 0 },
				Options: func(o Options) []Option {
					out := []Option{{"", "one of its own, which I name now"}}
					for _, a := range o.Config.Accounts {
						out = append(out, Option{a.Name, "the account " + a.Name + " (" + a.Address + ")"})
					}
					return out
				},
			},
			{Key: "address", Kind: Text, Title: "Hob's mail address", Shown: own, Check: mailAddress},
			{Key: "imap", Kind: Text, Title: "Its server for incoming mail (IMAP), such as imap.example.org", Shown: own, Check: host},
			{Key: "smtp", Kind: Text, Title: "Its server for outgoing mail (SMTP), such as smtp.example.org", Shown: own, Check: host},
			{Key: "password", Kind: Secret, Title: "The password for it", About: "It is not shown.", Shown: own},
			{
				Key: "trusted_host", Kind: Text, Optional: true, Title: "The name with which that provider signs what it has checked",
				About: "The first word of Authentication-Results in any mail there, such as mx.example.org: with its word mail that claims to be yours is believed. Leave it empty if you do not know it: Gmail's is known, for others hob channel test email finds it in the mails there, and without it the signature of your own mail host counts.",
				Check: host,
			},
			{Key: "folder", Kind: Text, Optional: true, Unasked: true, Default: "INBOX", Title: "The folder in which mail for Hob arrives"},
			{Key: "subject_prefix", Kind: Text, Optional: true, Unasked: true, Title: "Only mail whose subject begins so is for Hob"},
			{Key: "drafts", Kind: YesNo, Optional: true, Unasked: true, Default: "false", Title: "Put answers into Drafts in place of sending them?"},
			{Key: "allow", Kind: Text, List: true, Optional: true, Unasked: true, Check: mailAddress, Title: "Who else may write to Hob there: addresses"},
		},
		Then: pairing("email"),
	}
}

func mailAddress(s string) error {
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s || !strings.Contains(s, "@") {
		return errors.New("it is an address such as hob@example.org")
	}
	return nil
}

// discordToken is what the developer portal shows: the bot's id in base64, a time and
// a signature (discord.com/developers/docs/reference#authentication shows one).
var discordToken = regexp.MustCompile(`^[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{27,}$`)

// discordRights are those of the bot in a server: see channels, send messages, attach
// files, read the history, send in threads
// (discord.com/developers/docs/topics/permissions).
const discordRights = 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<38

func discordChannel() channelSetup {
	return channelSetup{
		Name: "discord",
		About: "At discord.com/developers/applications: New Application; in Bot, switch on Message Content Intent.\n" +
			"In Bot, Reset Token shows the token once: copy it here.",
		Fields: []field{
			{Key: "token", Kind: Secret, Title: "The bot's token", About: "It is not shown.", Check: func(s string) error {
				switch {
				case discordToken.MatchString(s):
					return nil
				case strings.HasPrefix(s, "Bot "):
					return errors.New("leave out the word Bot, and give the token alone")
				case !strings.Contains(s, "."):
					return errors.New("that is no bot token, which has two dots in it: it is shown in Bot, Reset Token (the client secret is another thing)")
				}
				return errors.New("that is no bot token; copy it whole from Bot, Reset Token")
			}},
			allowed("ids of users (Copy User ID in Discord's developer mode)"),
		},
		Then: pairing("discord"),
		Follows: func(secret func(string) string) []string {
			id := discordID(secret("token"))
			if id == "" {
				return nil
			}
			return []string{fmt.Sprintf("Invite it into a server of yours, so that you can write to it: https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", id, int64(discordRights))}
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
			return fmt.Errorf("that is the other token; this one begins with %s, and is in %s", prefix, where)
		case strings.HasPrefix(s, "xoxp-"):
			return fmt.Errorf("that is the token of a user; this one begins with %s, and is in %s", prefix, where)
		}
		return fmt.Errorf("it begins with %s; copy it whole from %s", prefix, where)
	}
}

func slackChannel() channelSetup {
	const bot, app = "OAuth & Permissions, Bot User OAuth Token", "Basic Information, App-Level Tokens"
	return channelSetup{
		Name: "slack",
		About: "At api.slack.com/apps: Create New App, From a manifest, and paste what `hob channel add slack --manifest` prints; then Install to Workspace.\n" +
			"The bot token is in " + bot + "; make the app token in " + app + ", with the scope connections:write.",
		Fields: []field{
			{Key: "bot_token", Kind: Secret, Title: "The bot token (xoxb-...)", About: "It is not shown.", Check: slackToken("xoxb-", bot)},
			{Key: "app_token", Kind: Secret, Title: "The app-level token (xapp-...)", About: "It is not shown.", Check: slackToken("xapp-", app)},
			allowed("ids of members, U0123456789 (Copy member ID in a profile); of another workspace T0123456789/U0123456789; addresses of members, if the app has the scope users:read.email"),
		},
		Then: pairing("slack"),
	}
}

// telegramToken is the bot's id and a key (core.telegram.org/bots/api#authorizing-your-bot).
var telegramToken = regexp.MustCompile(`^[0-9]{6,}:[A-Za-z0-9_-]{30,}$`)

func telegramChannel() channelSetup {
	return channelSetup{
		Name: "telegram",
		About: "In Telegram, write /newbot to @BotFather and give the bot a name: it answers with the token.\n" +
			"To have it hear more than commands in groups, write /setprivacy to @BotFather, or name it in each message.",
		Fields: []field{
			{Key: "token", Kind: Secret, Title: "The bot's token", About: "It is not shown.", Check: func(s string) error {
				if !telegramToken.MatchString(s) {
					return errors.New("that is no token, which is a number, a colon and a key; copy it whole from @BotFather")
				}
				return nil
			}},
			allowed("ids of users, which are numbers"),
		},
		Then: pairing("telegram"),
	}
}

func webhookChannel() channelSetup {
	return channelSetup{
		Name: "webhook",
		About: "Hob posts what it says to an address of yours, signed with a secret that both sides know.\n" +
			"Your server may post back to /hooks/webhook on Hob's port, signed in the same way.",
		Fields: []field{
			{Key: "url", Kind: Text, Optional: true, Title: "The address of your server", About: "Such as https://example.org/hob; without one Hob only takes posts.", Check: func(s string) error {
				if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
					return errors.New("it is an address such as https://example.org/hob")
				}
				return nil
			}},
			{Key: "secret", Kind: Secret, Title: "The secret with which each post is signed", About: "It is not shown; make a long one that nobody can guess."},
			allowed("names of senders, as your server gives them"),
		},
	}
}

func remindersChannel() channelSetup {
	return channelSetup{
		Name: "reminders",
		About: "Make a list for Hob in Reminders or in the calendar account of your phone: what you put there, also by voice, is said to Hob.\n" +
			"On a Mac the first look asks whether Hob may control Reminders: allow it.",
		Fields: []field{
			{Key: "list", Kind: Text, Optional: true, Default: "Hob", Title: "The name of the list"},
			{Key: "account", Kind: Text, Optional: true, Unasked: true, Title: "Where it is: the name of an account, or apple"},
			{Key: "private", Kind: YesNo, Optional: true, Default: "false", Title: "Is the list shared with nobody, so that a yes in it is yours?", About: "Whoever can write there speaks as you. Only if you say yes, questions are answered there."},
		},
		Then: pairing("reminders"),
	}
}

func notesChannel() channelSetup {
	return channelSetup{
		Name: "notes",
		About: "Make a folder for Hob in Notes, or use the folder of [pim] notes_folder: a note in it is said to Hob, which answers in it.\n" +
			"On a Mac the first look asks whether Hob may control Notes: allow it.",
		Fields: []field{
			{Key: "folder", Kind: Text, Optional: true, Default: "Hob", Title: "The name of the folder"},
			{Key: "account", Kind: Text, Optional: true, Unasked: true, Title: "Where it is: apple, or folder for that of [pim] notes_folder"},
			{Key: "private", Kind: YesNo, Optional: true, Default: "false", Title: "Is the folder shared with nobody, so that a yes in it is yours?", About: "Whoever can write there speaks as you. Only if you say yes, questions are answered there."},
		},
		Then: pairing("notes"),
	}
}

// alexaSkill is the id of a skill (developer.amazon.com/docs/alexa/custom-skills).
var alexaSkill = regexp.MustCompile(`^amzn1\.ask\.skill\.[0-9A-Za-z-]{20,}$`)

func alexaChannel() channelSetup {
	return channelSetup{
		Name: "alexa",
		About: "At developer.amazon.com/alexa/console/ask make a custom skill of your own; its id is below its name.\n" +
			"Its endpoint is an HTTPS address of yours that leads to /hooks/alexa on Hob's port, as through a tunnel.",
		Fields: []field{
			{Key: "skill", Kind: Text, Title: "The id of the skill", About: "It begins with amzn1.ask.skill.", Check: func(s string) error {
				if !alexaSkill.MatchString(s) {
					return errors.New("it is an id such as amzn1.ask.skill.0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f")
				}
				return nil
			}},
			allowed("accounts, which begin with amzn1.ask.account."),
			{Key: "voices", Kind: Text, List: true, Optional: true, Unasked: true, Title: "Whose recognised voice may answer questions: people, which begin with amzn1.ask.person."},
		},
		Then: pairing("alexa"),
	}
}
