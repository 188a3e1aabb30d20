package setup

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hob/cmd/hob/internal/channel"
	"hob/platform/text/settings"
)

// Tokens that have the right form but are not valid.
var (
	aDiscordToken  = "MTIzNDU2Nzg5MDEyMzQ1Njc4." + "GaBcDe." + strings.Repeat("x", 38)
	aSlackBot      = "xoxb-" + "0000000000-" + strings.Repeat("A", 24)
	aSlackApp      = "xapp-" + "1-A000-" + strings.Repeat("b", 24)
	aTelegramToken = "1234567890:" + strings.Repeat("A", 35)
)

func TestTokenFormats(t *testing.T) {
	find := func(name, key string) settings.Setting {
		for _, c := range channelSetups() {
			for _, f := range c.Settings {
				if c.Name == name && f.Key == key {
					return f
				}
			}
		}
		t.Fatalf("%s has no key %s", name, key)
		return settings.Setting{}
	}
	for _, tt := range []struct{ name, key, value, err string }{
		{"discord", "token", aDiscordToken, ""},
		{"discord", "token", "Bot " + aDiscordToken, "remove the word Bot"},
		{"discord", "token", strings.Repeat("a", 32), "Reset Token"},
		{"discord", "token", "a.b.c", "copy the full token"},
		{"slack", "bot_token", aSlackBot, ""},
		{"slack", "bot_token", aSlackApp, "the other token"},
		{"slack", "app_token", aSlackApp, ""},
		{"slack", "app_token", aSlackBot, "App-Level Tokens"},
		{"slack", "bot_token", "xoxp-1-2-3", "user token"},
		{"slack", "bot_token", "hello", "must begin with xoxb-"},
		{"telegram", "token", aTelegramToken, ""},
		{"telegram", "token", "@hob_bot", "@BotFather"},
		{"alexa", "skill", "amzn1.ask.skill.0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f", ""},
		{"alexa", "skill", "my skill", "amzn1.ask.skill."},
		{"email", "address", "hob@example.org", ""},
		{"email", "address", "Hob <hob@example.org>", "must look like hob@example.org"},
		{"email", "imap", "https://imap.example.org", "must look like imap.example.org"},
		{"email", "imap", "imap.example.org:993", ""},
		{"webhook", "url", "example.org", "https://example.org/hob"},
	} {
		err := find(tt.name, tt.key).Check(tt.value)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s.%s %q: %v", tt.name, tt.key, tt.value, err)
		}
		if err != nil && len(tt.value) > 20 && strings.Contains(err.Error(), tt.value) {
			t.Errorf("%s.%s: the error contains the token", tt.name, tt.key)
		}
	}
}

// The written sections decode into the drivers' keys.
func TestAddChannel(t *testing.T) {
	type section struct {
		Address       string   `toml:"address"`
		IMAP          string   `toml:"imap"`
		SMTP          string   `toml:"smtp"`
		Password      string   `toml:"password"`
		Account       string   `toml:"account"`
		Folder        string   `toml:"folder"`
		TrustedHost   string   `toml:"trusted_host"`
		SubjectPrefix string   `toml:"subject_prefix"`
		Drafts        bool     `toml:"drafts"`
		DB            string   `toml:"db"`
		Prefix        string   `toml:"prefix"`
		Token         string   `toml:"token"`
		BotToken      string   `toml:"bot_token"`
		AppToken      string   `toml:"app_token"`
		URL           string   `toml:"url"`
		Secret        string   `toml:"secret"`
		List          string   `toml:"list"`
		Skill         string   `toml:"skill"`
		Burst         int      `toml:"burst"`
		Allow         []string `toml:"allow"`
	}
	for _, tt := range []struct {
		name, channel, before string
		given                 map[string]string
		answers               map[string][]string // nil if no questions are expected
		want                  func(s section) bool
		said, err             string
		secret                string
	}{
		{name: "discord", channel: "discord", answers: map[string][]string{"discord_token": {aDiscordToken}}, want: func(s section) bool { return s.Token == "keychain:channel-discord" && s.Allow == nil }, said: "client_id=123456789012345678&scope=bot", secret: aDiscordToken},
		{name: "discord with others", channel: "discord", given: map[string]string{"token": aDiscordToken, "allow": "42, 43"}, want: func(s section) bool { return s.Allow[0] == "42" && s.Allow[1] == "43" }, secret: aDiscordToken},
		{name: "a token of the wrong form", channel: "discord", given: map[string]string{"token": "hello"}, err: "token: not a bot token"},
		{name: "no token", channel: "discord", err: "--secret-from token=stdin"},
		{name: "slack", channel: "slack", answers: map[string][]string{"slack_bot_token": {aSlackBot}, "slack_app_token": {aSlackApp}}, want: func(s section) bool {
			return s.BotToken == "keychain:channel-slack-bot_token" && s.AppToken == "keychain:channel-slack-app_token"
		}, secret: aSlackApp},
		{name: "telegram", channel: "telegram", given: map[string]string{"token": aTelegramToken}, want: func(s section) bool { return s.Token == "keychain:channel-telegram" }, secret: aTelegramToken},
		{name: "telegram unchanged", channel: "telegram", before: "[channels.telegram]\ntoken = \"env:T\"\n", answers: map[string][]string{}, want: func(s section) bool { return s.Token == "env:T" }},
		{name: "a mailbox", channel: "email", answers: map[string][]string{"email_address": {"hob@example.org"}, "email_imap": {"imap.example.org"}, "email_smtp": {"smtp.example.org"}, "email_password": {"a-password-of-hob"}, "email_trusted_host": {""}}, want: func(s section) bool {
			return s.Address == "hob@example.org" && s.IMAP == "imap.example.org" && s.Password == "keychain:channel-email" && s.Folder == "" && s.TrustedHost == ""
		}, secret: "a-password-of-hob"},
		{name: "an account", channel: "email", before: "[accounts.home]\naddress = \"ada@example.org\"\nimap = \"imap.example.org\"\npassword = \"env:P\"\n", given: map[string]string{"account": "home", "drafts": "true", "trusted_host": "mx.example.org"}, want: func(s section) bool {
			return s.Account == "home" && s.Address == "" && s.Drafts && s.TrustedHost == "mx.example.org"
		}},
		{name: "messages", channel: "imessage", answers: map[string][]string{"imessage_prefix": {"2026"}}, want: func(s section) bool { return s.Prefix == "2026" && s.DB == "" }},
		{name: "reminders", channel: "reminders", answers: map[string][]string{}, want: func(s section) bool { return s.List == "" }},
		{name: "another list", channel: "reminders", given: map[string]string{"list": "To \"do\""}, want: func(s section) bool { return s.List == "To \"do\"" }},
		{name: "notes", channel: "notes", answers: map[string][]string{"notes_folder": {"Robin"}}, want: func(s section) bool { return s.Folder == "Robin" }},
		{name: "reminders on another system", channel: "reminders", given: map[string]string{"account": "home"}, want: func(s section) bool { return s.Account == "home" }},
		{name: "alexa", channel: "alexa", given: map[string]string{"skill": "amzn1.ask.skill.0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f"}, want: func(s section) bool { return strings.HasPrefix(s.Skill, "amzn1") }},
		{name: "desktop", channel: "desktop", given: map[string]string{"burst": "7"}, want: func(s section) bool { return s.Burst == 7 }},
		{name: "webhook", channel: "webhook", given: map[string]string{"url": "https://example.org/hob", "secret": "env:HOOK"}, err: "HOOK"},
		{name: "unknown", channel: "pigeon", err: `channel "pigeon" not found`},
		{name: "unknown key", channel: "notes", given: map[string]string{"foldr": "x"}, err: `did you mean "folder"?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, out := newOptions(t)
			o.Offered = func(string) bool { return true }
			if tt.before != "" {
				if err := os.WriteFile(o.Paths.ConfigFile(), []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
				o.Config = writtenConfig(t, o)
			}
			var ask Asker
			s := &script{answers: tt.answers}
			if tt.answers != nil {
				ask = s
			}
			_, err := AddChannel(t.Context(), o, ask, tt.channel, tt.given)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatal(err)
			}
			if left := s.unusedAnswers(); len(left) > 0 {
				t.Errorf("unused answers: %q", left)
			}
			if tt.err != "" {
				if _, err := os.Stat(o.Paths.ConfigFile()); tt.before == "" && err == nil {
					t.Error("the configuration was written")
				}
				return
			}
			c, there := writtenConfig(t, o).Channel(tt.channel)
			var got section
			if !there || !c.Enabled || c.Decode(&got) != nil || !tt.want(got) {
				t.Errorf("%v %+v %v", there, got, c.Decode(&got))
			}
			if !strings.Contains(out.String(), tt.said) {
				t.Errorf("output = %s", out)
			}
			if tt.secret != "" {
				checkSecretAbsent(t, o.Paths.Home, tt.secret)
				if strings.Contains(out.String(), tt.secret) {
					t.Errorf("the output contains the secret: %s", out)
				}
			}
		})
	}
}

// Slack accepts the output of --manifest.
func TestSlackManifest(t *testing.T) {
	slack, _ := channel.Find("slack")
	if m := slack.Manifest("Robin"); !strings.Contains(m, `"socket_mode_enabled": true`) || !strings.Contains(m, "Robin") {
		t.Error(m)
	}
	if notes, _ := channel.Find("notes"); notes.Manifest != nil {
		t.Error("notes have a manifest")
	}
}

// A question explains in at most two lines where to get the value.
func TestQuestions_ExplainWhereToGetTheValue(t *testing.T) {
	for _, c := range channelSetups() {
		lines := strings.Split(c.Intro, "\n")
		if len(c.Settings) > 0 && !c.OnDesktop && len(lines) != 2 {
			t.Errorf("%s: %d lines", c.Name, len(lines))
		}
		if k, ok := channel.Find(c.Name); !ok || k.Title == "" {
			t.Errorf("%s is not a kind of channel", c.Name)
		}
	}
}

// Setup tests a configured channel after writing it. A failed test does not stop setup.
func TestChannels_AreTested(t *testing.T) {
	o, out := newOptions(t)
	o.Offered = func(string) bool { return true }
	var tried []string
	o.TestChannel = func(_ context.Context, name string) (channel.Tested, error) {
		tried = append(tried, name)
		if name == "telegram" {
			return channel.Tested{Cause: "the token is not taken", Remedy: "get a new one"}, nil
		}
		return channel.Tested{}, errors.New("no engine")
	}
	s := &script{answers: map[string][]string{"channels": {"telegram,notes"}, "telegram_token": {aTelegramToken}, "notes_folder": {"Robin"}}}
	if err := Run(t.Context(), o, s, "channels"); err != nil {
		t.Fatal(err)
	}
	if strings.Join(tried, ",") != "telegram,notes" || !strings.Contains(out.String(), "telegram does not work yet: the token is not taken") || !strings.Contains(out.String(), "could not be tested") {
		t.Errorf("%q %s", tried, out)
	}
}
