package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2/unstable"
)

func TestDefaults(t *testing.T) {
	t.Setenv("HOME", "/home/a")
	c, err := Load(filepath.Join(t.TempDir(), "absent.toml"))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.Agent.Model, c.Agent.MaxRounds, c.Autonomy.Tick.Duration, c.Autonomy.Level, c.Web.Listen, len(c.Providers) + len(c.Channels) + len(c.Triggers)}
	want := []any{"auto", 20, 30 * time.Second, Supervised, "127.0.0.1:7717", 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if runtime.GOOS != "windows" && c.Files.Drop != "/home/a/Documents/Hob" {
		t.Error(c.Files.Drop)
	}
}

// TestTemplate: the file that `hob init` writes is short, changes no default, and shows only
// existing keys with their defaults.
func TestTemplate(t *testing.T) {
	want, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("template", Template())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Error(diff)
	}
	if n := bytes.Count(Template(), []byte("\n")); n > 60 {
		t.Errorf("the file has %d lines, want at most 60", n)
	}
	on := regexp.MustCompile(`(?m)^# (\[[\w.]+\]|\w+ = )`).ReplaceAll(Template(), []byte("$1"))
	if _, err := Parse("uncommented", on); err != nil {
		t.Fatal(err)
	}
	d, err := parseDocument("uncommented", on)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, k := range Keys() {
		e := d.findEntry(splitKey(k.Name))
		if e == nil || k.Many {
			continue
		}
		shown++
		if v := string(d.text[e.value:e.end]); v != k.Default {
			t.Errorf("%s = %s, want the default %s", k.Name, v, k.Default)
		}
	}
	if shown < 6 {
		t.Errorf("the file shows %d keys, want at least 6", shown)
	}
}

// TestKeys_AreAllDescribed: default.toml and the structs have the same keys.
func TestKeys_AreAllDescribed(t *testing.T) {
	var fields []string
	var walk func(prefix string, s keySchema)
	walk = func(prefix string, s keySchema) {
		switch {
		case s.Type == reflect.TypeFor[driverSection]():
			fields = append(fields, prefix+"enabled")
		case s.Kind() == reflect.Map && !s.isAccount():
			walk(prefix+placeholder+".", shapeOf(s.Elem()))
		case s.isSection(), s.isSectionList():
			for _, n := range s.fieldNames() {
				f, _ := s.findField(n)
				walk(prefix+n+".", f)
			}
		default:
			fields = append(fields, strings.TrimSuffix(prefix, "."))
		}
	}
	walk("", keySchema{reflect.TypeFor[configFile]()})
	var keys []string
	for _, k := range Keys() {
		keys = append(keys, k.Name)
		if k.Doc == "" || k.Accepts == "" {
			t.Errorf("%s has no description", k.Name)
		}
	}
	if diff := cmp.Diff(fields, keys); diff != "" {
		t.Error(diff)
	}
}

func TestLoad(t *testing.T) {
	const text = `
[agent]
name = "Robin"
fallback = ["offline"]
timezone = "Europe/Vilnius"

[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:11434/v1"
[providers.anthropic]
kind = "anthropic"
api_key = "env:KEY"

[autonomy]
tick = "2m"
[files]
allowed = ["/data"]
[channels.webhook]
url = "https://example.org"
[channels.email]
enabled = false
[triggers.deploy]
action = "tell me"
`
	c, err := Parse("config.toml", []byte("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.Providers {
		names = append(names, p.Name+"="+p.Kind)
	}
	for _, s := range c.Channels {
		names = append(names, s.Name)
		if s.Enabled != (s.Name == "webhook") {
			t.Errorf("%s enabled: %v", s.Name, s.Enabled)
		}
	}
	names = append(names, c.Triggers[0].Name, c.Agent.Name, c.Autonomy.Tick.String(), c.Agent.Fallback[0])
	want := []string{"local=openai", "anthropic=anthropic", "webhook", "email", "deploy", "Robin", "2m0s", "offline"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/data"}, c.Files.Allowed); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
	if p, ok := c.Provider("anthropic"); !ok || p.APIKey != "env:KEY" {
		t.Error(p, ok)
	}
	if _, ok := c.Channel("slack"); ok {
		t.Error("Channel(\"slack\") exists although it is not configured")
	}
}

func TestLoad_ReportsMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "[agent]\nname = \"x\"\ntimezon = \"UTC\"\n", `c.toml:3: agent.timezon: unknown key; did you mean "agent.timezone"?`},
		{"swapped letters", "[agent]\nnaem = \"x\"\n", `c.toml:2: agent.naem: unknown key; did you mean "agent.name"?`},
		{"other case", "[Agent]\nname = \"x\"\n", `c.toml:1: Agent: unknown section; did you mean "agent"?`},
		{"unknown section", "[wallet]\ndaily_usd = 1\n", `c.toml:1: wallet: unknown section; the sections are agent, providers`},
		{"a limit that is not an amount", "[budget]\ndaily_usd = nan\n", `c.toml:2: budget.daily_usd: nan: must be an amount in US dollars`},
		{"a price without a model", "[prices.sonnet]\ninput = 3\n", `c.toml:1: prices.sonnet: write it as [prices."provider/model"]`},
		{"a negative price", "[prices.\"a/b.c\"]\ninput = -3\n", `c.toml:2: prices."a/b.c".input: -3: must be an amount`},
		{"key of another section", "[notify]\ntick = \"1s\"\n", `did you mean "autonomy.tick"?`},
		{"dotted unknown key", "agent.mdoel = \"auto\"\n", `c.toml:1: agent.mdoel: unknown key; did you mean "agent.model"?`},
		{"inline unknown key", "\nagent = { mdoel = \"auto\" }\n", `c.toml:2: agent.mdoel: unknown key; did you mean "agent.model"?`},
		{"unknown provider key", "[providers.x]\nkind = \"openai\"\nbaseurl = \"\"\n", `c.toml:3: providers.x.baseurl: unknown key; did you mean "providers.x.base_url"?`},
		{"wrong type", "[agent]\nmax_rounds = \"many\"\n", `c.toml:2: agent.max_rounds: "many": must be a whole number`},
		{"wrong type in a list", "[agent]\nfallback = [1]\n", `c.toml:2: agent.fallback: [1]: must be a list such as ["a", "b"]`},
		{"section instead of value", "[agent.name]\nx = 1\n", `c.toml:1: agent.name: must be text in quotes`},
		{"value instead of section", "agent = 3\n", `c.toml:1: agent: 3: must be a section`},
		{"value instead of channel", "[channels]\nwebhook = 3\n", `c.toml:2: channels.webhook: 3: must be a section`},
		{"bad duration", "[autonomy]\n\ntick = \"fast\"\n", `c.toml:3: autonomy.tick: "fast": must be a duration such as "30s", "15m" or "2h"`},
		{"duration too short", "[autonomy]\ntick = \"1ms\"\n", `autonomy.tick: "1ms": must be between "1s" and "24h"`},
		{"bad zone", "[agent]\ntimezone = \"Europe/Vilnus\"\n", `c.toml:2: agent.timezone: "Europe/Vilnus": not a time zone; write an IANA name`},
		{"quiet hours that never begin", "[notify]\nquiet_hours = { end = \"07:00\" }\n", `c.toml:2: notify.quiet_hours.start: { end = "07:00" }: must be a time of day such as "22:30"`},
		{"quiet hours of no length", "[[notify.quiet_hours]]\nstart = \"07:00\"\nend = \"07:00\"\n", `c.toml:3: notify.quiet_hours.end: "07:00": start and end are the same; for whole days write`},
		{"quiet hours after midnight", "[notify.quiet_hours]\nstart = \"22:00\"\nend = \"25:00\"\n", `c.toml:3: notify.quiet_hours.end: "25:00": must be a time of day such as "07:30", or "24:00"`},
		{"quiet on no day", "[[notify.quiet_hours]]\nstart = \"22:00\"\nend = \"07:00\"\n[[notify.quiet_hours]]\nstart = \"00:00\"\nend = \"24:00\"\ndays = [\"Saturday\"]\n", `c.toml:7: notify.quiet_hours.days: ["Saturday"]: "saturday" is not a day; the days are mon, tue`},
		{"quiet nowhere", "[notify]\nquiet_hours = [{ start = \"22:00\", end = \"07:00\", zone = \"Mars/Olympus\" }]\n", `"Mars/Olympus"`},
		{"quiet hours of the wrong type", "[notify]\nquiet_hours = \"22:00-07:00\"\n", `c.toml:2: notify.quiet_hours: "22:00-07:00": must be a list of sections`},
		{"unknown key of quiet hours", "[notify]\nquiet_hours = { from = \"22:00\" }\n", `c.toml:2: notify.quiet_hours.from: unknown key`},
		{"a fallback to itself", "[notify]\nfallback = [\"origin\"]\n", `"origin" is not a channel`},
		{"at this machine for no time", "[notify]\nat_machine = \"0s\"\n", `must be between "1s" and "24h"`},
		{"talking for days", "[notify]\ntalking = \"25h\"\n", `must be between "0s" (off) and "24h"`},
		{"no patience", "[notify]\nunreachable = \"1s\"\n", `must be between "1m" and "24h"`},
		{"no urgency", "[[notify.rules]]\nwords = [\"fire\"]\nurgency = \"urgent\"\n", `c.toml:3: notify.rules.urgency: "urgent": must be one of low, normal, high, critical`},
		{"a rule for everything", "[[notify.rules]]\nurgency = \"low\"\n", `c.toml:1: notify.rules: the rule has no condition`},
		{"a rule without a condition", "[[notify.rules]]\ncauses = [\"mail\"]\nurgency = \"low\"\n", `unknown cause "mail"; use one of reminder, schedule`},
		{"bad level", "[autonomy]\nlevel = \"supervized\"\n", `must be one of watch, supervised, trusted; did you mean "supervised"?`},
		{"bad log level", "[log]\nlevel = 'loud'\n", `must be one of debug, info, warn, error`},
		{"public address", "[web]\nlisten = \"0.0.0.0:7717\"\n", `c.toml:2: web.listen: "0.0.0.0:7717": other machines could reach this address`},
		{"no port", "[web]\nlisten = \"127.0.0.1\"\n", `an address and a port`},
		{"bad port", "[web]\nlisten = \"127.0.0.1:77777\"\n", `the port must be`},
		{"bad model", "[agent]\nmodel = \"gpt\"\n", `must be "auto", "offline", "provider/model" or the name of a provider`},
		{"bad fallback", "[agent]\nfallback = [\"auto\"]\n", `"auto" must be "offline", "none", "provider/model" or the name of a provider`},
		{"rounds", "[agent]\nmax_rounds = 0\n", `must be between 1 and 100`},
		{"name with a line break", "[agent]\nname = \"a\\nb\"\n", `a name on one line`},
		{"provider without kind", "\n[providers.x]\nmodel = \"m\"\n", `c.toml:2: providers.x.kind: the provider has no kind`},
		{"bad address", "[providers.x]\nkind = \"openai\"\nbase_url = \"localhost:11434\"\n", `such as "http://127.0.0.1:11434/v1"`},
		{"relative folder", "[files]\nallowed = [\"Documents\"]\n", `"Documents" must be a full path`},
		{"another's folder", "[files]\nallowed = [\"~root/x\"]\n", `another user's folder`},
		{"bad channel name", "[channels.\"a b\"]\nx = 1\n", `only letters, digits, - and _, and may be at most 64`},
		{"enabled", "[channels.webhook]\nenabled = \"yes\"\n", `channels.webhook.enabled: "yes": must be true or false`},
		{"mention", "[channels.webhook]\nmention = \"no\"\n", `channels.webhook.mention: "no": must be true or false`},
		{"settle", "[channels.webhook]\nsettle = \"5m\"\n", `must be a duration from "0s" (off) to "30s"`},
		{"stream", "[channels.webhook]\nstream = 1\n", `channels.webhook.stream: 1: must be true or false`},
		{"trigger with an unknown scheme", "[triggers.t]\naction = \"x\"\nsignature = \"md5\"\n", `c.toml:3: triggers.t.signature: "md5": must be one of v1`},
		{"database that is no file", "[databases.x]\nurl = \"shop.db\"\n", `c.toml:2: databases.x.url: "shop.db": must be the full path of an SQLite file`},
		{"database with its password", "[databases.x]\nurl = \"postgres://a:b@h/d\"\n", `must not contain the password; set password = "keychain:x"`},
		{"database with options", "[databases.x]\nurl = \"postgres://a@h/d?options=-cx\"\n", `accepts only sslmode as a parameter`},
		{"database without a name", "[databases.x]\nurl = \"postgres://a@h/\"\n", `must name a user, a host and a database`},
		{"trigger without action", "[triggers.t]\n", `c.toml:1: triggers.t.action: the trigger has no action`},
		{"secret is not shown", "[providers.x]\nkind = \"openai\"\napi_key = 12345\n", `c.toml:3: providers.x.api_key: must be text in quotes`},
		{"embedder without a model", "[knowledge]\nembeddings = \"nomic\"\n", `knowledge.embeddings: "nomic": must be "off", "provider/model"`},
		{"the built-in brain as embedder", "[knowledge]\nembeddings = \"offline\"\n", `knowledge.embeddings: "offline": must be "off"`},
		{"reranker", "[knowledge]\nreranker = \"on\"\n", `knowledge.reranker: "on": must be "off", "auto", "provider/model"`},
		{"first pass", "[knowledge]\nvector_first_pass = \"of\"\n", `must be one of auto, on, off`},
		{"no time for a question", "[knowledge]\nquery_timeout = \"1ms\"\n", `must be between "100ms" and "1m"`},
		{"malformed", "[agent]\nname = \n", `c.toml:2: `},
		{"unclosed text", "[agent]\nname = \"x\n", `c.toml:2: `},
		{"key twice", "[agent]\nname = \"a\"\nname = \"b\"\n", `c.toml:3: `},
		{"section twice", "[agent]\n[web]\n[agent]\n", `c.toml:3: `},
		{"number too large", "[agent]\nmax_rounds = 99999999999999999999\n", `c.toml:2: `},
		{"invalid UTF-8", "[agent]\nname = \"\xff\"\n", `c.toml:2: this line is not valid UTF-8`},
		{"UTF-16", "\xff\xfe[\x00a\x00", "UTF-16; save it as UTF-8"},
		{"huge", strings.Repeat("# x\n", 100_000), "larger than 256 KB"},
		{"deep", "[agent]\nfallback = " + strings.Repeat("[", 100_000), "nested"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("c.toml", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if _, ok := errors.AsType[Errors](err); err != nil && !ok {
				t.Errorf("%T", err)
			}
		})
	}
}

// TestQuietHours checks quiet_hours as one section and as a list of sections.
func TestQuietHours(t *testing.T) {
	one := QuietWindow{Start: "22:30", End: "07:30"}
	two := QuietWindow{Start: "00:00", End: "24:00", Days: []string{"sat", "sun"}, Zone: "UTC"}
	for name, tc := range map[string]struct {
		text string
		want []QuietWindow
	}{
		"on a line":       {"[notify]\nquiet_hours = { start = \"22:30\", end = \"07:30\" }\n", []QuietWindow{one}},
		"as a section":    {"[notify.quiet_hours]\nstart = \"22:30\"\nend = \"07:30\"\n", []QuietWindow{one}},
		"several":         {"[[notify.quiet_hours]]\nstart = \"22:30\"\nend = \"07:30\"\n[[notify.quiet_hours]]\nstart = \"00:00\"\nend = \"24:00\"\ndays = [\"sat\", \"Sun\"]\nzone = \"UTC\"\n", []QuietWindow{one, two}},
		"several, a line": {"[notify]\nquiet_hours = [{ start = \"22:30\", end = \"07:30\" }]\n", []QuietWindow{one}},
		"none":            {"", nil},
	} {
		c, err := Parse("c.toml", []byte(tc.text))
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(tc.want, c.Notify.Quiet); diff != "" {
			t.Error(name, diff)
		}
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	writeFile(t, path, "[notify]\nqueue_notices = true\n")
	if _, err := SetAll(path, []Value{{"notify.quiet_hours.start", "22:30"}, {"notify.quiet_hours.end", "07:30"}}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Get("notify.quiet_hours.end")
	if err != nil || got != "07:30" || !cmp.Equal(c.Notify.Quiet, []QuietWindow{one}) {
		t.Error(got, err, c.Notify.Quiet)
	}
}

func TestLoad_ReportsAllMistakesTogether(t *testing.T) {
	_, err := Parse("c.toml", []byte("[agent]\nnam = 1\nmax_rounds = true\n[nonsense]\na = 1\nb = 2\n"))
	errs, _ := errors.AsType[Errors](err)
	var lines []int
	for _, e := range errs {
		lines = append(lines, e.Line)
	}
	if diff := cmp.Diff([]int{2, 3, 4}, lines); diff != "" {
		t.Error(err, diff)
	}
}

func TestLoad_ReadsFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
	path := filepath.Join(dir, "config.toml")
	writeFile(t, path, "[providers.x]\nkind = \"openai\"\napi_key = \"sk-plain\"\n[channels.w]\nsecret = \"env:HOOK\"\n")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "providers.x.api_key") || strings.Contains(c.Warnings[0], "sk-plain") {
		t.Error(c.Warnings)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

type webhook struct {
	URL     string            `toml:"url"`
	Secret  string            `toml:"secret"`
	Timeout Duration          `toml:"timeout"`
	Tries   int               `toml:"tries"`
	Headers map[string]string `toml:"headers"`
	Targets []struct {
		Name string `toml:"name"`
	} `toml:"targets"`
}

func TestSection(t *testing.T) {
	const head = "[agent]\nname = \"x\"\n[channels.other]\nanything = true\n"
	tests := []struct{ name, text, want, err string }{
		{"good", "[channels.w]\nenabled = true\nurl = \"u\"\ntimeout = \"5s\"\nheaders = { a = \"b\" }\n[[channels.w.targets]]\nname = \"t\"\n", "u 5s 7 b t", ""},
		{"dotted", "[channels]\nw.url = \"u\"\n", "u 0s 7  ", ""},
		{"inline", "[channels]\nw = { url = \"u\", tries = 3 }\n", "u 0s 3  ", ""},
		{"unknown", "[channels.w]\nulr = \"u\"\n", "", `c.toml:6: channels.w.ulr: unknown key; did you mean "channels.w.url"?`},
		{"unknown in a list", "[channels.w]\n[[channels.w.targets]]\nnmae = \"t\"\n", "", `c.toml:7: channels.w.targets.nmae: unknown key; did you mean "channels.w.targets.name"?`},
		{"no similar key", "[channels.w]\nx = 1\n", "", `[channels.w] accepts url, secret, timeout, tries, headers, targets`},
		{"wrong type", "[channels.w]\nurl = 3\n", "", `c.toml:6: channels.w.url: 3: must be text in quotes`},
		{"bad duration", "[channels.w]\ntimeout = \"soon\"\n", "", `must be a duration`},
		{"secret stays hidden", "[channels.w]\nsecret = 4711\n", "", `channels.w.secret: must be text in quotes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := head + tt.text
			if strings.Contains(tt.text, "[channels]\n") {
				text = tt.text
			}
			c, err := Parse("c.toml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s, ok := c.Channel("w")
			if !ok {
				t.Fatal("the section is missing")
			}
			w := webhook{Tries: 7}
			err = s.Decode(&w)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			target := ""
			if len(w.Targets) > 0 {
				target = w.Targets[0].Name
			}
			got := strings.Join([]string{w.URL, w.Timeout.String(), string(rune('0' + w.Tries)), w.Headers["a"], target}, " ")
			if err != nil || got != tt.want {
				t.Errorf("got %q %v, want %q", got, err, tt.want)
			}
			if e := s.Errorf("url", "no"); e.Line == 0 {
				t.Error(e)
			}
		})
	}
	c, _ := Parse("c.toml", []byte("[channels.w]\n"))
	s, _ := c.Channel("w")
	if err := s.Decode(webhook{}); err == nil {
		t.Error("Decode into a value that is not a pointer succeeded")
	}
}

func TestGet(t *testing.T) {
	c, err := Parse("c.toml", []byte("[providers.x]\nkind = \"openai\"\napi_key = \"sk-plain\"\n[channels.w]\nsecret = \"env:H\"\nn = 3\n[files]\nallowed = [\"/a\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		key  string
		want any
		err  string
	}{
		{"agent.name", "Hob", ""},
		{"agent.max_rounds", 20, ""},
		{"autonomy.tick", "30s", ""},
		{"autonomy.enabled", true, ""},
		{"providers.x.api_key", "[redacted]", ""},
		{"channels.w.secret", "env:H", ""},
		{"channels.w.n", int64(3), ""},
		{"log", map[string]any{"level": "info"}, ""},
		{"agent.nmae", nil, `did you mean "agent.name"?`},
		{"providers.y", nil, "is not set"},
		{"channels.w.zz", nil, "is not set"},
		{"agent.name.x", nil, "not a section"},
		{"", nil, "unknown section"},
	}
	for _, tt := range tests {
		got, err := c.Get(tt.key)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.key, err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Error(tt.key, err, diff)
		}
	}
}

func TestKindOfText(t *testing.T) {
	tests := map[string]struct {
		kind unstable.Kind
		ok   bool
	}{
		"true": {unstable.Bool, true}, "5": {unstable.Integer, true}, `"a"`: {unstable.String, true}, `["a"]`: {unstable.Array, true},
		"a": {0, false}, "": {0, false}, "1\nx = 2": {0, false}, "1 # c": {0, false}, "{ a = 1 }": {unstable.InlineTable, true},
	}
	for text, want := range tests {
		if k, ok := kindOfText(text); k != want.kind || ok != want.ok {
			t.Errorf("%q: kindOfText = %v %v", text, k, ok)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(string(Template()))
	f.Add(string(defaultText))
	f.Add("\ufeff[agent]\r\nname = 'x'\r\n")
	f.Add("[channels.w]\nurl = \"u\"\n[[channels.w.targets]]\nname = \"t\"")
	f.Add("a = { b = [ { c = 1 }, 2 ] }")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("c.toml", []byte(text))
		if err != nil {
			if errs, ok := errors.AsType[Errors](err); !ok || len(errs) == 0 || errs[0] == nil || errs[0].Msg == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for _, s := range c.Channels {
			var w webhook
			_ = s.Decode(&w)
		}
		for _, k := range Keys() {
			_, _ = c.Get(k.Name)
		}
	})
}

func TestStream(t *testing.T) {
	c, err := Parse("c.toml", []byte("[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"openai\"\nstream = false\n[providers]\nc.kind = \"gemini\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true} {
		if p := c.Providers[i]; p.Stream != want {
			t.Errorf("%s: stream %v", p.Name, p.Stream)
		}
	}
	if v, err := c.Get("providers.a.stream"); err != nil || v != true {
		t.Errorf("%v, %v", v, err)
	}
}

// The keys that all channels have are not passed to the driver.
func TestSection_OmitsKeysOfAllChannels(t *testing.T) {
	c, err := Parse("c.toml", []byte("[channels.a]\nmention = false\nstream = false\nsettle = \"0s\"\nurl = \"x\"\n[channels.b]\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := c.Channel("a")
	b, _ := c.Channel("b")
	var own struct {
		URL string `toml:"url"`
	}
	if err := a.Decode(&own); err != nil || own.URL != "x" {
		t.Errorf("%v, %q", err, own.URL)
	}
	if a.Mention || a.Stream || a.Debounce == nil || a.Debounce.Duration != 0 || !b.Mention || !b.Stream || b.Debounce != nil || !b.Enabled {
		t.Errorf("%+v\n%+v", a, b)
	}
}
