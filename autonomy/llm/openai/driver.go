package openai

import (
	"cmp"
	"net/url"
	"strings"

	"hob/autonomy/llm"
)

// Kind is the value of kind in [providers.NAME].
const Kind = "openai"

// openRouter is the address of OpenRouter.
const openRouter = "https://openrouter.ai/api/v1"

// Driver creates models of the kind "openai": any server with Chat Completions.
type Driver struct{}

// Describe implements llm.Driver.
func (Driver) Describe() llm.Description {
	return llm.Description{
		Kind: Kind, BaseURL: DefaultBaseURL,
		Services: []llm.Service{
			{Name: Kind, Title: "OpenAI, with a key", Env: []string{"OPENAI_API_KEY"}},
			{Name: "openrouter", Title: "OpenRouter, with a key", BaseURL: openRouter, Env: []string{"OPENROUTER_API_KEY"}},
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

// New implements llm.Driver. Without a configured model, a well-known server has a default; other
// servers are queried for their models at the first call, and the first chat model is used.
func (Driver) New(o llm.ModelOptions) (llm.Model, error) {
	if o.Model == "" {
		o.Model = defaultModel(o.BaseURL)
	}
	if o.Model == "" {
		return newDiscovered(o)
	}
	m, err := New(o)
	if err != nil { // a nil *Model is not a nil llm.Model
		return nil, err
	}
	return m, nil
}

// defaultModel returns the default model of a well-known server, "" for others.
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
