package modelrouter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/platform/store"
)

// source has scripted models by name.
type source struct {
	models   map[string]llm.Model
	detected string // name of the model for "auto"
}

func (s *source) Resolve(name string) (llm.Model, error) {
	if m := s.models[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("model %q: [providers.%s] does not exist", name, name)
}

func (s *source) Detect(context.Context) (llm.Model, string, error) {
	return s.models[s.detected], s.detected + " was found", nil
}

func (*source) Found() []string { return nil }

// scriptModel returns a model that answers each call with text; "" fails each call.
func scriptModel(provider, text string) *llmtest.Scripted {
	a := llmtest.Answer{Text: text, Times: -1}
	if text == "" {
		a = llmtest.Answer{Status: 401, Times: -1}
	}
	return llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: provider, Model: "m", Tools: true, Local: provider == builtIn}}, a)
}

func openModels(t *testing.T, db *store.Store, s *source, agent string) (*Models, error) {
	t.Helper()
	c, err := config.Parse("c.toml", []byte("[agent]\n"+agent))
	if err != nil {
		t.Fatal(err)
	}
	return OpenModels(ModelsOptions{Store: db, Config: c, Source: s, Meter: func(m llm.Model) llm.Model { return m }})
}

// askModel makes one call and returns the answer, or the error.
func askModel(t *testing.T, m llm.Model) string {
	t.Helper()
	got, err := llm.Collect(m.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}}}))
	if err != nil {
		return "error: " + string(llm.KindOf(err))
	}
	return got.Text()
}

// TestOpenModels_ReportsUnknownNames: a mistyped model is reported with its line at startup, not at
// the first message.
func TestOpenModels_ReportsUnknownNames(t *testing.T) {
	db := openStore(t)
	s := &source{models: map[string]llm.Model{"work/m": scriptModel("work", "hi"), builtIn: scriptModel(builtIn, "plain")}}
	for _, tt := range []struct{ name, agent, want string }{
		{"known names", "model = \"work/m\"\nfallback = [\"offline\"]\n", ""},
		{"the model", "model = \"wrk/m\"\n", "c.toml:2: agent.model: "},
		{"a fallback", "model = \"work/m\"\nfallback = [\"hom/m\"]\n", "c.toml:3: agent.fallback: "},
		{"the small model", "model = \"work/m\"\nsmall_model = \"tiny/m\"\n", "c.toml:3: agent.small_model: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openModels(t, db, s, tt.agent)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("OpenModels = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestModels_AnswerWithFallback: a provider that fails is replaced by the configured fallback, in the
// same turn.
func TestModels_AnswerWithFallback(t *testing.T) {
	s := &source{models: map[string]llm.Model{"work/m": scriptModel("work", ""), "home/m": scriptModel("home", "from home"), builtIn: scriptModel(builtIn, "plain")}}
	m, err := openModels(t, openStore(t), s, "model = \"work/m\"\nfallback = [\"home/m\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := m.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := askModel(t, got); text != "from home" {
		t.Errorf("the answer is %q, want that of the fallback", text)
	}
}

// TestModels_AgentsShareProviders: an agent uses its own model and fallbacks, or those of the
// default agent. If a provider fails for one agent, the other agents do not call it either.
func TestModels_AgentsShareProviders(t *testing.T) {
	broken := scriptModel("work", "")
	s := &source{models: map[string]llm.Model{"work/m": broken, "home/m": scriptModel("home", "from home"), builtIn: scriptModel(builtIn, "plain")}}
	m, err := openModels(t, openStore(t), s, "model = \"home/m\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if own, err := m.AddAgent(config.Member{Name: "clerk"}); own != nil || err != nil {
		t.Errorf("an agent without a model has %v, %v, want the models of the default agent", own, err)
	}
	if _, err := m.AddAgent(config.Member{Name: "typo", Model: "wrk/m"}); err == nil || !strings.Contains(err.Error(), "agents.typo.model") {
		t.Errorf("AddAgent = %v, want an error that names agents.typo.model", err)
	}
	for _, name := range []string{"ada", "bob"} {
		if _, err := m.AddAgent(config.Member{Name: name, Model: "work/m"}); err != nil {
			t.Fatal(err)
		}
	}
	call := func(agent string) string {
		got, _, err := m.Of(agent).Default(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return askModel(t, got)
	}
	for _, agent := range []string{"", "clerk", "unknown"} {
		if got := call(agent); got != "from home" {
			t.Errorf("agent %q answers %q, want the default model", agent, got)
		}
	}
	for range 5 { // opens the circuit breaker
		if got := call("ada"); got != "error: unauthorized" {
			t.Fatalf("ada answers %q", got)
		}
	}
	before := len(broken.Asked())
	got, _, err := m.Of("bob").Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.Collect(got.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}}}))
	if !errors.Is(err, llm.ErrOpen) || len(broken.Asked()) != before {
		t.Errorf("bob's call = %v after %d more requests, want the open breaker of ada's", err, len(broken.Asked())-before)
	}
}

// TestModels_AutoFindsServerThatStartsLater: without a model, Hob searches for a model server once
// a minute, and keeps the model that it finds.
func TestModels_AutoFindsServerThatStartsLater(t *testing.T) {
	db := openStore(t) // the goroutines of the store must not be in the synctest bubble
	synctest.Test(t, func(t *testing.T) {
		s := &source{models: map[string]llm.Model{"ollama": scriptModel("ollama", "from ollama"), builtIn: scriptModel(builtIn, "plain")}, detected: builtIn}
		m, err := openModels(t, db, s, "model = \"auto\"\n")
		if err != nil {
			t.Fatal(err)
		}
		if !m.IsOffline(t.Context(), "") {
			t.Fatal("IsOffline() = false without a server")
		}
		s.detected = "ollama"
		if !m.IsOffline(t.Context(), "") {
			t.Error("IsOffline() = false: Hob looked for a server again within 1 min")
		}
		time.Sleep(detectInterval)
		if m.IsOffline(t.Context(), "") {
			t.Error("IsOffline() = true: Hob did not find the server after 1 min")
		}
		if name, reason := m.Describe(); name != "ollama/m" || reason != "ollama was found" {
			t.Errorf("Describe = %q, %q", name, reason)
		}
		s.detected = builtIn // the server is being restarted
		time.Sleep(2 * detectInterval)
		if m.IsOffline(t.Context(), "") {
			t.Error("IsOffline() = true although a model is in use")
		}
	})
}
