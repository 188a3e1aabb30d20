package channel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/api/apitest"
	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
)

func parseConfig(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("config.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Kinds lists every driver.
func TestKinds_ListEveryDriver(t *testing.T) {
	for _, d := range channelsall.Drivers() {
		if k, ok := Find(d.Describe().Name); !ok || k.Title == "" || k.Always {
			t.Errorf("Kinds does not list %s", d.Describe().Name)
		}
	}
}

func TestKinds_BySystem(t *testing.T) {
	for _, tt := range []struct {
		name, goos string
		want       bool
	}{
		{"imessage", "darwin", true},
		{"imessage", "linux", false},
		{"imessage", "windows", false},
		{"telegram", "windows", true},
	} {
		if k, ok := Find(tt.name); !ok || k.On(tt.goos) != tt.want {
			t.Errorf("%s on %s: %v", tt.name, tt.goos, !tt.want)
		}
	}
}

func TestRows(t *testing.T) {
	const hook = "[channels.webhook]\nurl = \"https://example.org\"\nsecret = \"env:X\"\n"
	for _, tt := range []struct {
		name, conf string
		health     []channels.Health
		running    bool
		channel    string
		want       Row
	}{
		{"not set up", "", nil, true, "webhook", Row{Health: channels.Health{State: Unset}, Available: true}},
		{"Hob does not run", hook, []channels.Health{{Name: "webhook", State: "starting"}}, false, "webhook", Row{Health: channels.Health{State: Idle}, Configured: true, Enabled: true, Available: true}},
		{"it works", hook, []channels.Health{{Name: "webhook", State: "running"}}, true, "webhook", Row{Health: channels.Health{State: "running"}, Configured: true, Enabled: true, Available: true}},
		{
			"it cannot be made", hook,
			[]channels.Health{{Name: "webhook", State: "failed", Error: "channels: webhook: the secret: X is not set; set it before Hob starts"}},
			false, "webhook",
			Row{Health: channels.Health{State: "failed"}, Configured: true, Enabled: true, Available: true, Cause: "the secret: X is not set", Remedy: "set it before Hob starts"},
		},
		{
			"it fails and names no remedy", hook,
			[]channels.Health{{Name: "webhook", State: "stopped", Error: "channels: webhook: deliver: no way"}},
			true, "webhook",
			Row{Health: channels.Health{State: "stopped"}, Configured: true, Enabled: true, Available: true, Cause: "no way", Remedy: "hob channel test webhook"},
		},
		{
			"set up after the start", hook, nil, true, "webhook",
			Row{Health: channels.Health{State: Idle}, Configured: true, Enabled: true, Available: true, Cause: "set up after Hob was started", Remedy: "hob stop, then hob start"},
		},
		{"off", "[channels.webhook]\nenabled = false\n", nil, true, "webhook", Row{Health: channels.Health{State: Off}, Configured: true, Available: true}},
		{"always there", "", nil, true, "web", Row{Health: channels.Health{State: "running"}, Configured: true, Enabled: true, Available: true}},
		{"always there, and Hob does not run", "", nil, false, "terminal", Row{Health: channels.Health{State: Idle}, Configured: true, Enabled: true, Available: true}},
		{"one of a test", "", []channels.Health{{Name: "pigeon", State: "running"}}, true, "pigeon", Row{Health: channels.Health{State: "running"}, Enabled: true, Available: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := Rows(parseConfig(t, tt.conf), tt.health, tt.running)
			for _, name := range Names() {
				if !slices.ContainsFunc(rows, func(r Row) bool { return r.Name == name }) {
					t.Errorf("the row of %s is missing", name)
				}
			}
			got := rows[slices.IndexFunc(rows, func(r Row) bool { return r.Name == tt.channel })]
			if got.State != tt.want.State || got.Configured != tt.want.Configured || got.Enabled != tt.want.Enabled || got.Available != tt.want.Available || got.Cause != tt.want.Cause || got.Remedy != tt.want.Remedy {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ name, text, cause, remedy string }{
		{"discord", "channels: discord: hear: discord: the token is not taken; put a new token: hob channel add discord", "the token is not taken", "put a new token: hob channel add discord"},
		{"discord", "no network", "no network", ""},
		{"discord", "", "", ""},
	} {
		if c, r := Split(tt.name, tt.text); c != tt.cause || r != tt.remedy {
			t.Errorf("%q: %q, %q", tt.text, c, r)
		}
	}
}

func TestTest(t *testing.T) {
	deps := channels.Deps{Secret: func(ref string) (string, error) {
		if ref == "env:X" {
			return "s3cret", nil
		}
		return "", errors.New("it is not set")
	}}
	for _, tt := range []struct {
		name, conf, channel, said, err string
		is                             error
	}{
		{name: "unknown", channel: "pigeon", err: "known channels: terminal, web", is: ErrUnknown},
		{name: "not set up", channel: "webhook", err: "hob channel add webhook", is: ErrUnset},
		{name: "always there", channel: "web", said: "always available"},
		{name: "wrong key", conf: "[channels.webhook]\nulr = \"x\"\n", channel: "webhook", err: `did you mean "channels.webhook.url"?`},
		{name: "no secret", conf: "[channels.webhook]\nurl = \"https://example.org\"\nsecret = \"env:Y\"\n", channel: "webhook", err: "it is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, err := Test(t.Context(), parseConfig(t, tt.conf), channelsall.Drivers(), tt.channel, deps)
			if !strings.Contains(said, tt.said) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("Test = %q %v", said, err)
			}
		})
	}
}

type tester func(context.Context) (string, error)

func (f tester) Test(ctx context.Context) (string, error) { return f(ctx) }

// A driver that panics is reported as failed.
func TestTry_DriverPanics(t *testing.T) {
	_, err := runTester(t.Context(), tester(func(context.Context) (string, error) { panic("oh") }))
	if err == nil || !strings.Contains(err.Error(), "oh") {
		t.Error(err)
	}
}

func TestTested(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "s3cret", "[redacted]") }
	var ok, none, bad Tested
	ok.Done("signed in as @hob", nil, hide)
	none.Channel = "webhook"
	none.Done("", ErrUntested, hide)
	bad.Channel = "discord"
	bad.Done("", errors.New("discord: the token s3cret is not taken; hob channel add discord"), hide)
	if !ok.OK || !ok.Tried || ok.Said != "signed in as @hob" || !none.OK || none.Tried ||
		bad.OK || bad.Cause != "the token [redacted] is not taken" || bad.Remedy != "hob channel add discord" {
		t.Errorf("%+v %+v %+v", ok, none, bad)
	}
}

// TestAPITypes checks that a value has the same JSON in the API as before its conversion.
func TestAPITypes(t *testing.T) {
	apitest.SameJSON(t, func(x Tested) api.ChannelTest { return api.ChannelTest(x) })
}

// TestCheckTargets checks that notifications need a channel that exists, with or without a section.
func TestCheckTargets(t *testing.T) {
	const hook = "[channels.webhook]\nurl = \"https://example.org\"\nsecret = \"env:X\"\n"
	for _, tt := range []struct{ name, conf, want string }{
		{"the default", "", ""},
		{"channels without a section", "[notify]\nchannel = \"desktop\"\nfallback = [\"web\", \"terminal\"]\n", ""},
		{"a configured channel", hook + "[notify]\nchannel = \"webhook\"\n", ""},
		{"a channel that needs a section", "[notify]\nchannel = \"telegram\"\n", `config.toml:2: notify.channel: "telegram": there is no [channels.telegram]; use "origin"`},
		{"an unknown fallback", "[notify]\nfallback = [\"pigeon\"]\n", `config.toml:2: notify.fallback: ["pigeon"]: there is no [channels.pigeon]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckTargets(parseConfig(t, tt.conf))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckTargets = %v, want %q", err, tt.want)
			}
			if err := CheckNames(parseConfig(t, tt.conf), map[string]channels.Channel{}, map[string]error{"webhook": errors.New("x")}); (err == nil) != (tt.want == "") {
				t.Errorf("CheckNames = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSet_RejectsMistakesThatDependOnDrivers checks that hob config set writes nothing that Hob
// would reject at its next start.
func TestSet_RejectsMistakesThatDependOnDrivers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if _, err := config.Set(path, "notify.channel", "pigeon", CheckTargets); err == nil || !strings.Contains(err.Error(), "there is no [channels.pigeon]") {
		t.Errorf("Set = %v, want an error about the channel", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file exists: %v", err)
	}
	if err := os.WriteFile(path, []byte("[notify]\nchannel = \"pigeon\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Set(path, "agent.name", "Ada", CheckTargets); err != nil {
		t.Errorf("Set of another key: %v", err)
	}
	if _, err := config.Set(path, "notify.channel", "web", CheckTargets); err != nil {
		t.Errorf("Set that corrects the mistake: %v", err)
	}
}
