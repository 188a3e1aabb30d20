package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
)

func keyOf(context.Context, string) (string, error) { return "sk-test-0123456789-secret", nil }

// A tool without arguments is called as `hob tool call` would.
func TestScript_CallWithoutArguments(t *testing.T) {
	r := simulateScript(t, "-- day 1 09:00 call list_tasks --\n", func(o *Options) { o.Days = 1 })
	if got := saidBy(r, Do, Problem); !strings.Contains(got, "do list_tasks") || strings.Contains(got, "problem") {
		t.Errorf("saidBy = %s", got)
	}
}

// A feed may use any port, with or without TLS.
func TestScript_FeedOnAnotherPort(t *testing.T) {
	feed := func(items string) string {
		return `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>` + items + "</channel></rss>"
	}
	for _, at := range []string{"http://news.example.org:8080/feed.xml", "https://news.example.org:8443/feed.xml"} {
		script := "-- config --\n[network]\nallow_hosts = [\"news.example.org\"]\n[watchers]\nmin_every = \"1m\"\n" +
			"-- start web " + at + " --\n" + feed("") +
			"\n-- day 1 00:10 call create_watcher --\n{\"kind\":\"feed\",\"config\":{\"url\":\"" + at + "\",\"every\":\"30m\"}}\n" +
			"-- day 1 02:00 web " + at + " --\n" + feed("<item><title>Rain</title><guid>1</guid></item>") + "\n"
		r := simulateScript(t, script, func(o *Options) { o.Days = 1 })
		if got := saidBy(r, Notice, Failed, Problem); !strings.Contains(got, "Rain") {
			t.Errorf("%s:\n%s", at, formatTimeline(r))
		}
	}
}

// Events after the end of the simulation are not simulated, even if Hob is away until then.
func TestScript_AwayPastTheEnd(t *testing.T) {
	r := simulateScript(t, "-- day 1 09:00 message --\nremind me tomorrow at 7 to call Bob\n-- day 1 20:00 away 24h --\n", func(o *Options) { o.Days = 1 })
	got := formatTimeline(r)
	for _, e := range r.Timeline {
		if e.At.After(r.End) {
			t.Errorf("event after the end, at %s: %s", e.At, e.Text)
		}
	}
	if strings.Contains(got, "starts again") || !strings.Contains(got, "Hob stops for 24h") || strings.Contains(saidBy(r, Say), "Reminder") {
		t.Errorf("%s", got)
	}
}

// Senders on a channel are admitted or rejected as in the daemon, and a rejected message does not
// block later ones.
func TestChannel_UnknownSender(t *testing.T) {
	script := "-- config --\n[channels.webhook]\nurl = \"https://hook.example.org/hob\"\nsecret = \"env:HOOK\"\n" +
		"-- day 1 09:00 chat webhook eve --\nsend me the plans\n-- day 1 09:01 chat webhook eve --\nnow\n-- day 1 09:02 chat signal eve --\nhello\n-- day 1 10:00 message --\nnote: tea\n"
	r := simulateScript(t, script, func(o *Options) { o.Days = 1 })
	got := saidBy(r, Denied, Heard, Problem, Failed)
	for _, want := range []string{
		"23 09:00:00 denied eve writes: send me the plans", "23 09:01:00 denied eve writes: now", "23 10:00:00 hear owner writes: note: tea", `channel "signal" not found`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(saidBy(r, Say), "plans") {
		t.Errorf("she is answered:\n%s", saidBy(r, Say))
	}
}

// Short messages of one person are answered together, after the debounce time of the channel or of
// the configuration, and one by one if configured. The format of a token is not checked for a
// simulated channel.
func TestChannel_MergesMessages(t *testing.T) {
	const allow = "allow = [\"42\"]\n"
	for _, c := range []struct{ name, section, joined string }{
		{"telegram", "token = \"keychain:telegram\"\n" + allow, "09:00:01"},
		{"slack", "bot_token = \"env:BOT\"\napp_token = \"env:APP\"\nallow = [\"T1/U42\"]\n", "09:00:01"},
		{"webhook", "url = \"https://hook.example.org/hob\"\nsecret = \"env:HOOK\"\nsettle = \"5s\"\n" + allow, "09:00:05"},
		{"telegram", "token = \"keychain:telegram\"\nsettle = \"0s\"\n" + allow, ""},
	} {
		who := "42"
		if c.name == "slack" {
			who = "T1/U42"
		}
		script := "-- config --\n[channels." + c.name + "]\n" + c.section +
			"-- day 1 09:00 chat " + c.name + " " + who + " --\nthe red door\n-- day 1 09:00 chat " + c.name + " " + who + " --\nis open\n"
		r := simulateScript(t, script, func(o *Options) { o.Days = 1 })
		got := saidBy(r, Heard, Problem, Failed, Say)
		together := strings.Count(got, "the red door is open")
		if c.joined != "" && (together != 2 || !strings.Contains(got, "23 "+c.joined+" say")) || c.joined == "" && (together != 0 || strings.Count(got, " say ") != 2) {
			t.Errorf("%s, %s:\n%s", c.name, c.section, got)
		}
	}
}

func TestChannel_InvalidConfiguration(t *testing.T) {
	r := simulateScript(t, "-- config --\n[channels.webhook]\nenabled = true\n-- day 1 09:00 chat webhook eve --\nhello\n", func(o *Options) { o.Days = 1 })
	if got := saidBy(r, Problem); !strings.Contains(got, `the channel "webhook" does not work: secret is missing`) {
		t.Errorf("saidBy = %s", got)
	}
}

// refusingIntake rejects the first two messages and accepts the third.
type refusingIntake struct{ n int }

func (r *refusingIntake) Receive(context.Context, channels.Inbound) (channels.Accepted, error) {
	if r.n++; r.n < 3 {
		return channels.Accepted{}, []error{fmt.Errorf("too many: %w", channels.ErrStranger), errors.New("it is too long")}[r.n-1]
	}
	return channels.Accepted{Event: "e"}, nil
}

func TestChannel_RejectsWithoutClosing(t *testing.T) {
	p := &play{}
	p.line.zone = time.UTC
	r := &playedChannel{w: &world{p: p}, name: "chat", heard: make(chan channels.Inbound)}
	to := &refusingIntake{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx, to) }()
	for i := range 3 {
		r.heard <- channels.Inbound{Sender: "bob", Text: fmt.Sprint("text ", i)}
	}
	cancel()
	if err := <-done; err != nil || to.n != 3 {
		t.Errorf("%d messages, %v", to.n, err)
	}
	if got := saidBy(&Result{Timeline: p.line.list}, Denied, Failed); !strings.Contains(got, "denied bob writes: text 0") || !strings.Contains(got, "too long") {
		t.Errorf("saidBy = %s", got)
	}
}

// Items in the home other than files cause no error, and a container's folder is not copied.
func TestHome_WithOtherFiles(t *testing.T) {
	var made string
	simulateScript(t, "", func(o *Options) {
		dir := filepath.Join(t.TempDir(), "hob")
		o.Paths = inDir(dir)
		made = o.Dir
		for name, text := range map[string]string{"agents/ada/SOUL.md": "You are Ada.", "agents/ada/workspace/big.bin": "x", "config.toml": "[agents.ada]\n"} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc", filepath.Join(dir, "agents", "ada", "etc")); err != nil {
			t.Skip(err)
		}
		o.Days = 1
	})
	agent := filepath.Join(made, "hob", "agents", "ada")
	if _, err := os.Stat(filepath.Join(agent, "SOUL.md")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"workspace/big.bin", "etc"} {
		if _, err := os.Lstat(filepath.Join(agent, name)); err == nil {
			t.Errorf("%s is copied", name)
		}
	}
}
