package config

import (
	"strings"
	"testing"
)

func TestLevels(t *testing.T) {
	c, err := Parse("config.toml", []byte(`
[autonomy]
level = "trusted"
[channels.webhook]
url = "https://example.org"
[[levels]]
channel = "webhook"
level = "supervised"
[[levels]]
person = "webhook:7"
level = "watch"
[[levels]]
channel = "web"
person = "owner"
level = "supervised"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		channel, person string
		want            Level
	}{
		{"web", "owner", Supervised},
		{"web", "webhook:7", Watch},
		{"terminal", "owner", ""},
		{"webhook", "owner", Supervised},
		{"webhook", "webhook:7", Watch},
		{"webhook", "webhook:77", Supervised},
		{"webhook", "", Supervised},
		{"", "", ""},
	} {
		if got := c.LevelOf(tt.channel, tt.person); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.channel, tt.person, got, tt.want)
		}
	}
}

// I11: a rule that widens the level, matches no one or is empty is an error at startup. So is a
// list entry with a pattern that would match more than one host or recipient.
func TestIncidentI11BoundsOnlyNarrow(t *testing.T) {
	for text, want := range map[string]string{
		"[[levels]]\nchannel = \"web\"\nlevel = \"trusted\"\n":                                 "config.toml:3: levels.level: \"trusted\": must not allow more than",
		"[[levels]]\nchannel = \"web\"\n":                                                      "levels.level: must be one of watch, supervised, trusted",
		"[[levels]]\nchannel = \"web\"\nlevel = \"open\"\n":                                    "must be one of",
		"[[levels]]\nlevel = \"watch\"\n":                                                      "config.toml:1: levels: the [[levels]] entry has no condition",
		"[[levels]]\nperson = \"42\"\nlevel = \"watch\"\n":                                     "\"CHANNEL:SENDER\"",
		"[[levels]]\nchannel = \"telegram\"\nlevel = \"watch\"\n":                              "there is no [channels.telegram]",
		"[autonomy]\nlevel = \"watch\"\n[[levels]]\nchannel = \"web\"\nlevel = \"supervised\"": "must not allow more",
		"[network]\nallow_hosts = [\"*\"]\n":                                                   "must be a host name",
		"[network]\nallow_hosts = [\"*.org\"]\n":                                               "must be a host name",
		"[network]\nallow_hosts = [\"https://example.org/\"]\n":                                "must be a host name",
		"[network]\nallow_hosts = [\"\"]\n":                                                    "must be a host name",
		"[autonomy]\nrecipients = [\"*@example.org\"]\n":                                       "a complete email address",
		"[autonomy]\nrecipients = [\"\"]\n":                                                    "a complete email address",
		"[autonomy]\nguest_messages = 0\n":                                                     "between 1 and 1000",
	} {
		_, err := Parse("config.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c, err := Parse("config.toml", []byte("[network]\nallow_hosts = [\"Example.ORG.\", \"*.Example.net\"]\n[autonomy]\nrecipients = [\"Ada@Example.org\", \"telegram:42\"]\n"))
	if err != nil || strings.Join(c.Network.AllowHosts, " ") != "example.org *.example.net" || strings.Join(c.Autonomy.Recipients, " ") != "ada@example.org telegram:42" {
		t.Errorf("%v, %v, %v", c.Network.AllowHosts, c.Autonomy.Recipients, err)
	}
}
