package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// editChecked edits text and validates the result like SetAll.
func editChecked(text []byte, key, value string) ([]byte, error) {
	_, before := Parse("c.toml", text)
	out, _, err := editText("c.toml", text, key, value)
	if err != nil {
		return nil, err
	}
	_, after := Parse("c.toml", out)
	return out, newMistakes(before, after)
}

func TestEdit(t *testing.T) {
	tests := []struct{ name, text, key, value, want, err string }{
		{"replace", "# top\n[agent] # a\nname = \"Hob\"  # called\nmodel = \"auto\"\n", "agent.name", "Robin", "# top\n[agent] # a\nname = \"Robin\"  # called\nmodel = \"auto\"\n", ""},
		{"replace a list", "[agent]\nfallback = [\n  \"offline\", # last\n]\n", "agent.fallback", "a/b, offline", "[agent]\nfallback = [\"a/b\", \"offline\"]\n", ""},
		{"a list as toml", "", "agent.fallback", `["offline"]`, "[agent]\nfallback = [\"offline\"]\n", ""},
		{"an empty list", "", "files.trusted", "", "[files]\ntrusted = []\n", ""},
		{"add behind the last key", "[agent]\nname = \"a\"\n\n[web]\nlisten = \"127.0.0.1:1\"\n", "agent.model", "offline", "[agent]\nname = \"a\"\nmodel = \"offline\"\n\n[web]\nlisten = \"127.0.0.1:1\"\n", ""},
		{"add behind the commented default", "[agent]\n# The name.\n# name = \"Hob\"\n# model = \"auto\"\n[web]\n", "agent.name", "R", "[agent]\n# The name.\n# name = \"Hob\"\nname = \"R\"\n# model = \"auto\"\n[web]\n", ""},
		{"add a section", "[agent]\nname = \"a\"", "web.listen", "127.0.0.1:9", "[agent]\nname = \"a\"\n\n[web]\nlisten = \"127.0.0.1:9\"\n", ""},
		{"a section of its own", "", "providers.x.kind", "openai", "[providers.x]\nkind = \"openai\"\n", ""},
		{"an empty section", "[agent]", "agent.name", "a", "[agent]\nname = \"a\"\n", ""},
		{"dotted keys", "agent.name = \"a\"\n# end\n", "agent.model", "offline", "agent.name = \"a\"\nagent.model = \"offline\"\n# end\n", ""},
		{"dotted below a section", "[providers]\nx.kind = \"openai\"\n[web]\n", "providers.x.model", "m", "[providers]\nx.kind = \"openai\"\nx.model = \"m\"\n[web]\n", ""},
		{"inline section", "agent = { name = \"a\" } # c\n", "agent.model", "offline", "agent = { name = \"a\", model = \"offline\" } # c\n", ""},
		{"empty inline section", "agent = {}\n", "agent.name", "a", "agent = { name = \"a\" }\n", ""},
		{"replace in an inline section", "agent = { name = \"a\" }\n", "agent.name", "b", "agent = { name = \"b\" }\n", ""},
		{"windows lines", "[agent]\r\nname = \"a\"\r\n", "agent.model", "offline", "[agent]\r\nname = \"a\"\r\nmodel = \"offline\"\r\n", ""},
		{"byte order mark", "\ufeff[agent]\nname = \"a\"\n", "agent.name", "b", "\ufeff[agent]\nname = \"b\"\n", ""},
		{"number", "", "agent.max_rounds", "7", "[agent]\nmax_rounds = 7\n", ""},
		{"switch", "", "autonomy.enabled", "false", "[autonomy]\nenabled = false\n", ""},
		{"duration", "", "autonomy.tick", "5m", "[autonomy]\ntick = \"5m\"\n", ""},
		{"quotes in text", "", "agent.name", `a "b" \ c`, "[agent]\nname = \"a \\\"b\\\" \\\\ c\"\n", ""},
		{"quotes around text", "", "agent.name", `"b"`, "[agent]\nname = \"b\"\n", ""},
		{"text that looks like a number", "", "agent.name", "7", "[agent]\nname = \"7\"\n", ""},
		{"driver's key", "", "channels.w.url", "https://x", "[channels.w]\nurl = \"https://x\"\n", ""},
		{"driver's number", "", "channels.w.port", "99", "[channels.w]\nport = 99\n", ""},
		{"driver's secret that looks like a number", "", "channels.w.password", "99", "[channels.w]\npassword = \"99\"\n", ""},
		{"fixes one of two mistakes", "[agent]\ntimezone = \"X\"\nmax_rounds = 0\n", "agent.timezone", "UTC", "[agent]\ntimezone = \"UTC\"\nmax_rounds = 0\n", ""},
		{"unknown key", "", "agent.nmae", "x", "", `did you mean "agent.name"?`},
		{"section", "", "agent", "x", "", "agent is a section"},
		{"channel section", "", "channels.w", "x", "", "channels.w is a section"},
		{"empty part", "", "agent..name", "x", "", "is not a key"},
		{"bad number", "", "agent.max_rounds", "many", "", "must be a whole number"},
		{"bad value", "[agent]\nname = \"a\"\n", "agent.timezone", "Mars/Base", "", "not a time zone"},
		{"bad provider", "", "providers.x.model", "m", "", "the provider has no kind"},
		{"broken file", "[agent\n", "agent.name", "x", "", "c.toml:1: "},
		{"bad value with an unknown key", "[agent]\nnam = \"x\"\n", "agent.name", "", "", "one line"},
		{"good value with an unknown key", "[agent]\nnam = \"x\"\n", "agent.name", "y", "[agent]\nnam = \"x\"\nname = \"y\"\n", ""},
		{"injection", "", "agent.name", "x\"\n[web]\nlisten = \"0.0.0.0:1\"", "", "one line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := editChecked([]byte(tt.text), tt.key, tt.value)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %q %v, want %s", got, err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// TestEditTemplate sets every key in the file that `hob init` writes, and reads the values back.
func TestEditTemplate(t *testing.T) {
	values := map[string]string{"agent.timezone": "UTC", "agent.model": "offline", "web.listen": "127.0.0.1:0", "log.level": "warn", "autonomy.level": "watch", "notify.channel": "web"}
	text := Template()
	for _, k := range Keys() {
		v, ok := values[k.Name]
		if k.Many {
			continue
		}
		if !ok {
			v = k.Default
		}
		out, err := editChecked(text, k.Name, v)
		if err != nil {
			t.Fatal(k.Name, err)
		}
		text = out
	}
	c, err := Parse("c.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range values {
		if got, err := c.Get(key); got != want || err != nil {
			t.Errorf("%s: %v %v", key, got, err)
		}
	}
	if n := strings.Count(string(text), "[agent]"); n != 1 {
		t.Errorf("%d agent sections, want 1", n)
	}
	if !strings.Contains(string(text), "# The folders in which Hob may read and write.") {
		t.Error("the comments are missing")
	}
}

func TestSet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob", "config.toml")
	ch, err := Set(path, "providers.x.kind", "openai")
	if err != nil || ch.New != `"openai"` || ch.Old != "" || ch.Warning != "" {
		t.Fatal(ch, err)
	}
	if fi, err := os.Stat(path); err != nil || (runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600) {
		t.Fatal(fi, err)
	}
	ch, err = Set(path, "providers.x.api_key", "sk-plain")
	if err != nil || ch.Warning == "" || strings.Contains(ch.New+ch.Warning, "sk-plain") {
		t.Fatal(ch, err)
	}
	ch, err = Set(path, "providers.x.api_key", "keychain:x")
	if err != nil || ch.Warning != "" || strings.Contains(ch.Old, "sk-plain") || ch.New != `"keychain:x"` {
		t.Fatal(ch, err)
	}
	before, _ := os.ReadFile(path)
	if _, err := Set(path, "agent.timezone", "nowhere"); err == nil {
		t.Fatal("Set accepted an unknown time zone")
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a rejected Set changed the file")
	}
	if !strings.HasPrefix(string(before), "# Hob's configuration.") {
		t.Error("the created file does not start with the template")
	}
}

func TestSetAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	// The values are checked together: a model without the provider's kind would be an error.
	ch, err := SetAll(path, []Value{{"providers.x.model", "m"}, {"providers.x.kind", "openai"}, {"agent.name", "R"}})
	if err != nil || len(ch) != 3 {
		t.Fatal(ch, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SetAll(path, []Value{{"agent.name", "S"}, {"agent.timezone", "Mars"}}); err == nil {
		t.Fatal("SetAll accepted an unknown time zone")
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a rejected SetAll changed the file")
	}
}

func FuzzSet(f *testing.F) {
	f.Add(string(Template()), "agent.name", "x")
	f.Add("agent = { name = \"a\" }\n", "agent.model", "offline")
	f.Add("[providers]\nx.kind = \"openai\"\n", "providers.x.model", "m")
	f.Add("\ufeff[agent]\r\nname = 'x'", "agent.fallback", "a/b,c")
	f.Add("", "channels.w.\xff", "1")
	f.Add("[channels.w]\na = [1,\n2]\n", "channels.w.b", "{ c = 1 }")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		_, before := Parse("c.toml", []byte(text))
		out, err := editChecked([]byte(text), key, value)
		if err != nil || before != nil {
			return
		}
		c, err := Parse("c.toml", out)
		if err != nil {
			t.Fatalf("%q %q=%q gave %q: %v", text, key, value, out, err)
		}
		if _, err := c.Get(key); err != nil {
			t.Fatalf("%q %q=%q gave %q: %v", text, key, value, out, err)
		}
	})
}

// A model's name contains a slash and dots.
func TestSet_PriceOfAModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, v := range [][2]string{{"input", "2"}, {"output", "8.5"}, {"input", "3"}} {
		if _, err := Set(path, `prices."work/gpt-4.1".`+v[0], v[1]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Prices) != 1 || c.Prices[0] != (Price{Name: "work/gpt-4.1", Input: 3, Output: 8.5}) {
		t.Errorf("%+v", c.Prices)
	}
	if v, err := c.Get(`prices."work/gpt-4.1".output`); err != nil || v != 8.5 {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := Set(path, `providers."a b".kind`, "openai"); err == nil {
		t.Error("Set accepted a provider name with a space")
	}
}
