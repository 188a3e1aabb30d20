//go:build unix

package badinput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command that reads the configuration reports a mistake with its line, and nothing starts
// with a partial configuration.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	tests := []struct{ name, text, want string }{
		{"cut off", "[agent\n", `config.toml:1: .*\].*correct this line`},
		{"no value", "[agent]\nname =\n", `config.toml:2: `},
		{"prose", "just some words\n", `config.toml:1: `},
		{"Latin 1", "[agent]\nname = \"caf\xe9\"\n", `config.toml:2: this line is not valid UTF-8.*save the file as UTF-8`},
		{"UTF-16", "\xff\xfe[\x00a\x00", `written in UTF-16.*save it as UTF-8`},
		{"binary", "\x7fELF\x02\x01\x01\x00", `config.toml:1`},
		{"key twice", "[agent]\nname = \"a\"\nname = \"b\"\n", `config.toml:3: name`},
		{"unknown section", "[agnet]\n", `config.toml:1: agnet: unknown section.*did you mean "agent"`},
		{"unknown key", "[agent]\nnam = \"x\"\n", `config.toml:2: agent.nam: unknown key.*did you mean "agent.name"`},
		{"wrong type", "[agent]\nmax_rounds = \"many\"\n", `config.toml:2: agent.max_rounds: "many": must be a whole number`},
		{"huge number", "[agent]\nmax_rounds = 99999999999999999999\n", `config.toml:2: `},
		{"out of range", "[autonomy]\nsessions = 1000000\n", `must be between 1 and 64`},
		{"bad zone", "[agent]\ntimezone = \"Mars/Phobos\"\n", `config.toml:2: agent.timezone: "Mars/Phobos": not a time zone.*Europe/Vilnius`},
		{"bad duration", "[autonomy]\ntick = \"soon\"\n", `a duration such as "30s"`},
		{"open to the world", "[web]\nlisten = \"0.0.0.0:7717\"\n", `other machines could reach this address.*loopback address`},
		{"no port", "[web]\nlisten = \"127.0.0.1:99999\"\n", `the port must be`},
		{"model of nobody", "[agent]\nmodel = \"nobody/x\"\n", `config.toml:2: agent.model: .*\[providers.nobody\] does not exist`},
		{"fallback of nobody", "[agent]\nmodel = \"offline\"\nfallback = [\"nobody/x\"]\n", `config.toml:3: agent.fallback: .*\[providers.nobody\] does not exist`},
		{"notices to nowhere", "[notify]\nchannel = \"pigeon\"\n", `config.toml:2: notify.channel: .*no \[channels.pigeon\].*use "origin"`},
		{"unknown channel", "[channels.pigeon]\nurl = \"x\"\n", `config.toml:1: channels.pigeon: unknown channel`},
		{"unknown kind", "[providers.x]\nkind = \"telepathy\"\n", `config.toml:2: providers.x.kind: .*must be one of`},
		{"no address", "[providers.x]\nkind = \"openai\"\nbase_url = \"here\"\n", `must be an address such as`},
		{"a relative folder", "[files]\nallowed = [\"here\"]\n", `must be a full path`},
	}
	for _, tt := range tests {
		h.writeFile("config.toml", tt.text)
		for _, args := range [][]string{{"config", "check"}, {"ask", "hello"}, {"start"}, {"start", "--foreground"}} {
			r := h.runHob(args...)
			r.what = tt.name + ": " + r.what
			r.checkFailure(1, tt.want)
		}
	}
	sound := "[agent]\nname = \"x\" # mine\n"
	h.writeFile("config.toml", sound)
	h.runHob("config", "set", "agent.max_rounds", "lots").checkFailure(1, `a whole number`)
	h.runHob("config", "set", "agent.nmae", "x").checkFailure(1, `did you mean "agent.name"`)
	h.runHob("config", "set", "agent.name", "").checkFailure(1, `a name on one line.*nothing was changed`)
	if b, err := os.ReadFile(filepath.Join(h.home, "config.toml")); string(b) != sound {
		t.Errorf("config.toml after a failed config set = %q %v", b, err)
	}
}

// Missing secrets of channels and triggers are reported.
func TestMissingSecrets(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline+"[channels.webhook]\nurl = \"http://127.0.0.1:1/\"\nsecret = \"env:NOT_SET\"\n")
	h.runHob("config", "check").checkFailure(1, `channels.webhook: the secret: the environment variable NOT_SET is not set.*set it`)
	h.startDaemon() // a channel that cannot be used does not stop the others
	h.runHob("ask", "hello").checkSuccess("Hello")
	h.runHob("status").checkSuccess("webhook.*NOT_SET")
	h.stopDaemon()
	h.writeFile("config.toml", offline+"[triggers.x]\naction = \"brief me\"\nsecret = \"env:NOT_SET\"\n")
	h.startDaemon() // a trigger without its secret accepts no signature
	h.runHob("doctor", "trigger").checkExit(1, `fail +trigger x.*NOT_SET is not set`)
}

// Files in the home that have the wrong type or form are reported.
func TestHome_UnusualFiles(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	failOnError(t, os.Remove(filepath.Join(h.home, "config.toml")))
	folder := func(name string) {
		failOnError(t, os.Mkdir(filepath.Join(h.home, name), 0o700))
		h.takeOwnership(filepath.Join(h.home, name))
	}
	remove := func(name string) { failOnError(t, os.RemoveAll(filepath.Join(h.home, name))) }
	folder("config.toml")
	for _, args := range [][]string{{"ask", "hello"}, {"start"}, {"config", "set", "agent.name", "x"}, {"init"}} {
		h.runHob(args...).checkFailure(1, `config.toml: (it is )?not a file.*move it elsewhere`)
	}
	remove("config.toml")
	h.writeFile("config.toml", offline)
	for name, text := range map[string]string{"Latin 1": "caf\xe9", "large": strings.Repeat("a", 200_000)} {
		h.writeFile("SOUL.md", text)
		r := h.runHob("ask", "hello")
		r.what = name
		r.checkFailure(1, `SOUL.md is (not valid UTF-8.*save it|larger than 100 KB.*shorten)`)
	}
	remove("SOUL.md")
	folder("USER.md")
	h.runHob("ask", "hello").checkFailure(1, `USER.md: is a directory.*move it elsewhere`)
	remove("USER.md")
	remove("hob.db")
	folder("hob.db")
	h.runHob("ask", "hello").checkFailure(1, `hob.db: is a directory.*HOB_HOME`)
	remove("hob.db")
	for _, garbage := range []string{"", "\xff{", `{"pid":1,"role":"daemon"}`} {
		h.writeFile("hob.lock", garbage)
		h.writeFile("endpoint.json", garbage)
		h.runHob("ask", "hello").checkSuccess("Hello")
		h.runHob("status").checkFailure(3, "not running")
	}
}

// The token file is made private. If it is a link, the target of the link is not changed.
func TestTokens(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	token := filepath.Join(h.home, "token")
	h.runHob("ask", "hello").checkSuccess("Hello")
	h.changeMode("token", 0o644)
	h.runHob("doctor").checkFailure(1, "some checks failed")
	h.runHob("ask", "hello").checkSuccess("Hello")
	if fi, err := os.Stat(token); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("other users can read the token: %v %v", fi.Mode(), err)
	}
	for _, damaged := range []string{"", "garbage\n", "\xff\xfe"} {
		h.writeFile("token", damaged)
		h.runHob("ask", "hello").checkSuccess("Hello")
	}
	if os.Getuid() != 0 || isSuperuser() {
		h.changeMode("token", 0)
		h.runHob("ask", "hello").checkFailure(1, "permission denied.*move the file elsewhere")
	}
	failOnError(t, os.Remove(token))
	failOnError(t, os.Mkdir(token, 0o700))
	h.takeOwnership(token)
	h.runHob("ask", "hello").checkFailure(1, "is a directory.*move the file elsewhere")
	failOnError(t, os.Remove(token))
	h.writeFile("precious", "mine")
	failOnError(t, os.Symlink(filepath.Join(h.home, "precious"), token))
	h.runHob("ask", "hello").checkFailure(1, "a link to a file without a token.*remove the link")
	if b, err := os.ReadFile(filepath.Join(h.home, "precious")); string(b) != "mine" {
		t.Errorf("file behind the link = %q %v", b, err)
	}
	failOnError(t, os.Remove(token))
	h.startDaemon()
	failOnError(t, os.Remove(token))
	h.runHob("ask", "hello").checkFailure(1, "token .* not found.*hob stop, then hob start")
	h.runHob("stop").checkSuccess("stopped")
	h.daemon = nil
	h.runHob("ask", "hello").checkSuccess("Hello")
}
