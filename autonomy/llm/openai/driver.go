package openai

import (
	"cmp"
	"net/url"
	"strings"

	"hob/autonomy/llm"
)

// Kind is the value of kind in a [providers.NAME] section.
const Kind = "openai"

// openRouter is the base URL of OpenRouter.
const openRouter = "https://openrouter.ai/api/v1"

// Driver creates models of kind "openai", for any server that supports Chat Completions.
type Driver struct{}

// Describe implements llm.Driver.
func (Driver) Describe() llm.Description {
	return llm.Description{
		Kind: Kind, BaseURL: DefaultBaseURL,
		Services: []llm.Service{
			{Name: Kind, Title: "OpenAI, with an API key", Env: []string{"OPENAI_API_KEY"}},
			{Name: "openrouter", Title: "OpenRouter, with an API key", BaseURL: openRouter, Env: []string{"OPENROUTER_API_KEY"}},
		},
		Compatible: "another OpenAI-compatible server",
		Local: []llm.LocalServer{
			{Name: "ollama", Title: "Ollama", BaseURL: "http://127.0.0.1:11434/v1"},
			{Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1"},
			{Name: "llamacpp", Title: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1"},
			{Name: "vllm", Title: "vLLM", BaseURL: "http://127.0.0.1:8000/v1"},
		},
		Embedding: func(baseURL string) string {
			if baseURL != "" {
				return ""
			}
			return "text-embedding-3-small"
		},
	}
}

// New implements llm.Driver. If no model is configured, it uses the default model for a well-known
// server. Other servers are asked for their models on the first call, and the first chat model is
// used.
func (Driver) New(o llm.ModelOptions) (llm.Model, error) {
	if o.Model == "" {
		o.Model = defaultModel(o.BaseURL)
	}
	if o.Model == "" {
		return newDiscovered(o)
	}
	m, err := New(o)
	if err != nil { // a nil *Model would not be a nil llm.Model
		return nil, err
	}
	return m, nil
}

// defaultModel returns the default model for a well-known server, or "" for other servers.
func defaultModel(baseURL string) string {
	u, err := url.Parse(cmp.Or(baseURL, DefaultBaseURL))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Hostname()) {
	case "api.openai.com":
		return DefaultModel
	case "openrouter.ai":
		return "openrouter/auto"
	}
	return ""
}
