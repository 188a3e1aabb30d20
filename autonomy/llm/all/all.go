// Package all lists the drivers of language models and finds the model that the configuration
// selects. It contains no driver code. The daemon, the setup wizard and the doctor call it.
package all

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/anthropic"
	"hob/autonomy/llm/gemini"
	"hob/autonomy/llm/openai"
)

// Options holds the settings of a wire model, the same for all kinds.
type Options struct {
	Provider  string        // section name in [providers]
	BaseURL   string        // "" = the kind's own server
	APIKey    string        // resolved; "" sends none
	Model     string        // "" = see New
	MaxTokens int           // output limit when a request names none; 0 = the driver's
	Stall     time.Duration // longest silence of the server; 0 = llm.DefaultStall
	Context   int           // context window in tokens; 0 = the driver's
	Whole     bool          // request answers in one piece instead of a stream
	HTTP      *http.Client  // nil = a new client
}

// Lister is a model whose server can list its models. All wire models are Listers.
type Lister interface {
	Models(ctx context.Context) ([]string, error)
}

// Kinds lists the values of kind in a [providers] section.
func Kinds() []string { return []string{"anthropic", "openai", "gemini", Acting} }

// New creates a model of the given kind; external agents come from Agents. It opens no
// connection. Without a configured model, a well-known server has a default; other servers are
// queried for their models at the first call, and the first chat model is used.
func New(kind string, o Options) (llm.Model, error) {
	switch kind {
	case "anthropic":
		if o.Model == "" {
			o.Model = anthropic.DefaultModel
		}
		m, err := anthropic.New(anthropic.Options(o))
		return asModel(m, err)
	case "gemini":
		if o.Model == "" {
			o.Model = gemini.DefaultModel
		}
		m, err := gemini.New(gemini.Options(o))
		return asModel(m, err)
	case "openai":
		if o.Model == "" {
			o.Model = defaultModel(o.BaseURL)
		}
		if o.Model == "" {
			return newDiscovered(o)
		}
		m, err := openai.New(openai.Options(o))
		return asModel(m, err)
	}
	return nil, fmt.Errorf("kind %q of [providers.%s] is not one of %s", kind, o.Provider, strings.Join(Kinds(), ", "))
}

// asModel keeps a nil pointer from becoming a non-nil interface.
func asModel[M llm.Model](m M, err error) (llm.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// defaultModel returns the default model of a well-known server, "" for others.
func defaultModel(baseURL string) string {
	if baseURL == "" {
		baseURL = openai.DefaultBaseURL
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Hostname()) {
	case "api.openai.com":
		return openai.DefaultModel
	case "openrouter.ai":
		return "openrouter/auto"
	}
	return ""
}
