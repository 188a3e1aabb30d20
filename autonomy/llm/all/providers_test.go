package all

import (
	"slices"
	"testing"
)

func TestPlace(t *testing.T) {
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

func TestFromEnvironment(t *testing.T) {
	got := FromEnvironment(func(n string) string {
		return map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "k", "ANTHROPIC_API_KEY": " "}[n]
	})
	if !slices.Equal(got, []string{"openai", "gemini"}) {
		t.Error(got)
	}
}
