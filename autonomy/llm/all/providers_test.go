package all

import (
	"slices"
	"strings"
	"testing"

	"hob/autonomy/config"
)

func TestAutoOptions_Host(t *testing.T) {
	o := AutoOptions{Configured: []Provider{
		{Name: "work", Kind: "anthropic"},
		{Name: "proxy", Kind: "openai", BaseURL: "llm.example:8443/v1"},
		{Name: "openai", Kind: "openai", BaseURL: "https://other.example/v1"},
	}}
	for name, want := range map[string][2]string{
		"work":       {"anthropic", "api.anthropic.com"},
		"proxy":      {"openai", "llm.example"},
		"openai":     {"openai", "other.example"}, // the configured section, not the well-known provider
		"anthropic":  {"anthropic", "api.anthropic.com"},
		"openrouter": {"openai", "openrouter.ai"},
		"gemini":     {"gemini", "generativelanguage.googleapis.com"},
		"ollama":     {"openai", "127.0.0.1"},
		"nobody":     {"", ""},
		"offline":    {"", ""},
	} {
		if kind, _ := o.ProviderEndpoint(name); kind != want[0] || o.Host(name) != want[1] {
			t.Errorf("%s: %s at %s, want %v", name, kind, o.Host(name), want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got := FromEnvironment(func(n string) string {
		return map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "k", "ANTHROPIC_API_KEY": " "}[n]
	})
	if !slices.Equal(got, []string{"openai", "gemini"}) {
		t.Error(got)
	}
}

// TestCheckKinds: a key that would have no effect is a mistake with its line, not ignored.
func TestCheckKinds(t *testing.T) {
	for _, tt := range []struct{ name, section, want string }{
		{"a server", "kind = \"openai\"\napi_key = \"env:KEY\"\n", ""},
		{"an external agent", "kind = \"acp\"\npreset = \"claude\"\ncwd = \"~/Documents\"\n", ""},
		{"an unknown kind", "kind = \"carrier\"\n", `c.toml:2: providers.x.kind: "carrier": must be one of anthropic, openai, gemini, acp`},
		{"a server with a command", "kind = \"openai\"\ncommand = \"llama\"\n", `c.toml:3: providers.x.command: "llama": only an external agent (kind = "acp") accepts this key`},
		{"an agent with a key", "kind = \"acp\"\npreset = \"claude\"\napi_key = \"env:KEY\"\n", "c.toml:4: providers.x.api_key"},
		{"an agent without a command", "kind = \"acp\"\n", "an external agent needs a command, or a preset"},
		{"an agent in a relative folder", "kind = \"acp\"\npreset = \"claude\"\ncwd = \"src\"\n", `c.toml:4: providers.x.cwd: "src": must be a full path`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Parse("c.toml", []byte("[providers.x]\n"+tt.section))
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckKinds(c); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckKinds = %v, want %q", err, tt.want)
			}
		})
	}
}
