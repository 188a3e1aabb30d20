package all

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func staticKey(k string) func() (string, error) { return func() (string, error) { return k, nil } }

func TestAuto(t *testing.T) {
	local := llmtest.NewServer(t, llmtest.Options{Models: []string{"nomic-embed-text", "llama3.2"}})
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	servers := []Server{{Name: "ollama", BaseURL: "http://127.0.0.1:1/v1"}, {Name: "page", BaseURL: page.URL}, {Name: "vllm", BaseURL: local.URL}}
	broken := func() (string, error) { return "", errors.New("the keychain is locked") }
	for _, c := range []struct {
		name   string
		o      AutoOptions
		want   string // Info().Name()
		reason string
	}{
		{"nothing", AutoOptions{}, "offline", "no provider"},
		{"configured", AutoOptions{Configured: []Provider{{Name: "work", Kind: "anthropic", Key: staticKey("k"), Model: "m"}}}, "work/m", "[providers.work]"},
		{"default model", AutoOptions{Configured: []Provider{{Name: "or", Kind: "openai", BaseURL: "https://openrouter.ai/api/v1", Key: staticKey("k")}}}, "or/openrouter/auto", "or"},
		{"key not readable, then environment", AutoOptions{
			Configured: []Provider{{Name: "work", Kind: "anthropic", Key: broken}},
			Env:        staticEnv("OPENAI_API_KEY", "sk-x"),
		}, "openai/gpt-5-mini", "keychain is locked"},
		{"no key, then the next", AutoOptions{Configured: []Provider{
			{Name: "a", Kind: "openai"},
			{Name: "b", Kind: "openai", BaseURL: "http://127.0.0.1:5/v1", Model: "m"},
		}}, "b/m", "[providers.b]"},
		{"environment", AutoOptions{Env: staticEnv("OPENROUTER_API_KEY", "x"), Probe: true, Servers: servers}, "openrouter/openrouter/auto", "OPENROUTER_API_KEY is set"},
		{"Gemini", AutoOptions{Env: staticEnv("GEMINI_API_KEY", "x")}, "gemini/gemini-flash-latest", "GEMINI_API_KEY is set"},
		{"Gemini, the other name", AutoOptions{Env: staticEnv("GOOGLE_API_KEY", "x")}, "gemini/gemini-flash-latest", "GOOGLE_API_KEY is set"},
		{"local server", AutoOptions{Probe: true, Servers: servers}, "vllm/llama3.2", "vllm"},
		{"local server, not asked", AutoOptions{Servers: servers}, "offline", "no provider"},
		{"no local server", AutoOptions{Probe: true, Servers: servers[:2]}, "offline", "no local model server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, reason, err := DetectModel(context.Background(), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Info().Name(); got != c.want || !strings.Contains(reason, c.reason) {
				t.Errorf("got %s because %q, want %s because of %q", got, reason, c.want, c.reason)
			}
		})
	}
}

func staticEnv(name, value string) func(string) string {
	return func(n string) string {
		if n == name {
			return value
		}
		return ""
	}
}

func TestAuto_RejectsWrongSections(t *testing.T) {
	for _, p := range []Provider{
		{Name: "x", Kind: "moon", Key: staticKey("k")},
		{Name: "x", Kind: "openai", BaseURL: "ftp://x", Model: "m", Key: staticKey("k")},
		{Name: "x", Kind: "anthropic", Key: staticKey("a b")},
	} {
		if m, _, err := DetectModel(context.Background(), AutoOptions{Configured: []Provider{p}}); err == nil || m != nil {
			t.Errorf("%+v: %v, %v", p, m, err)
		} else if strings.Contains(err.Error(), "a b") {
			t.Errorf("the error contains the key: %v", err)
		}
	}
}

func TestNamed(t *testing.T) {
	o := AutoOptions{
		Configured: []Provider{{Name: "work", Kind: "anthropic", Key: staticKey("k"), Model: "m"}, {Name: "dry", Kind: "anthropic", Key: staticKey("")}},
		Env:        staticEnv("OPENAI_API_KEY", "k"),
	}
	for name, want := range map[string]string{
		"offline":          "offline",
		"work":             "work/m",
		"work/other":       "work/other",
		"work/a/b":         "work/a/b",
		"openai/gpt-9":     "openai/gpt-9",
		"ollama/llama3.2":  "ollama/llama3.2",
		"ollama":           "ollama/auto",
		"dry/m":            "",
		"anthropic/claude": "",
		"nobody/m":         "",
		"":                 "",
	} {
		m, err := ResolveModel(name, o)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: got %s, want an error", name, m.Info().Name())
		case want != "" && err != nil:
			t.Errorf("%q: %v", name, err)
		case want != "" && m.Info().Name() != want:
			t.Errorf("%q: got %s, want %s", name, m.Info().Name(), want)
		}
	}
}

func TestDiscovered(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{Models: []string{"bge-m3", "qwen3"}}, llmtest.Answer{Text: "hi", Times: -1})
	m, err := New("openai", llm.ModelOptions{Provider: "local", BaseURL: srv.URL, HTTP: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.(Lister); !ok {
		t.Error("the model has no Models method")
	}
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}}}
	r, err := llm.Collect(m.Stream(context.Background(), req))
	if err != nil || r.Text() != "hi" || srv.Last().Model != "qwen3" || m.Info().Name() != "local/qwen3" {
		t.Errorf("%q, %v from %s, %s", r.Text(), err, srv.Last().Model, m.Info().Name())
	}
	empty := llmtest.NewServer(t, llmtest.Options{Models: []string{"bge-m3"}})
	m, err = New("openai", llm.ModelOptions{Provider: "local", BaseURL: empty.URL, HTTP: empty.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = llm.Collect(m.Stream(context.Background(), req)); llm.KindOf(err) != llm.NotFound {
		t.Errorf("got %v, want not found", err)
	}
}

func TestDrivers(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Services() {
		if names[s.Name] {
			t.Errorf("two services are named %s", s.Name)
		}
		names[s.Name] = true
	}
	for _, d := range Drivers() {
		t.Run(d.Describe().Kind, func(t *testing.T) { llmtest.Described(t, d) })
	}
}

func TestEmbedder(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{})
	o := AutoOptions{
		Configured: []Provider{
			{Name: "local", Kind: "openai", BaseURL: srv.URL}, {Name: "g", Kind: "gemini", BaseURL: srv.URL}, {Name: "work", Kind: "anthropic", Key: staticKey("k")},
		},
		Env: staticEnv("OPENAI_API_KEY", "k"), HTTP: srv.Client(),
	}
	for name, want := range map[string]string{
		"local/nomic-embed-text": "", "g": "", "g/other": "", "openai": "",
		"local": "is not the name of an embedding model", "work/claude": "does not support embeddings", "offline": "is not the name of an embedding model", "nobody/m": "[providers.nobody] does not exist",
	} {
		e, err := Embedder(name, o)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			continue
		}
		if err != nil || e == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "openai" {
			continue // not a local server
		}
		if v, _, err := e.Embed(context.Background(), []string{"tea"}); err != nil || len(v) != 1 {
			t.Errorf("%s: Embed = %v, %v", name, v, err)
		}
	}
}
