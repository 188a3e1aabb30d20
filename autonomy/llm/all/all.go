// Package all lists the drivers of language models and decides which model the
// owner's configuration means. It holds no driver code. The daemon, the setup
// wizard and the doctor call it.
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

// Options of a wire model, the same for all kinds.
type Options struct {
	Provider  string        // section name in [providers]
	BaseURL   string        // "" = the kind's own server
	APIKey    string        // resolved; "" sends none
	Model     string        // "" = see New
	MaxTokens int           // output limit when a request names none; 0 = the driver's
	Stall     time.Duration // longest silence of the server; 0 = llm.DefaultStall
	Context   int           // context window in tokens; 0 = the driver's
	Whole     bool          // ask for answers in one piece, not for a stream
	HTTP      *http.Client  // nil = a client of its own
}

// Lister is a model whose server can say which models it has. All wire models
// are Listers.
type Lister interface {
	Models(ctx context.Context) ([]string, error)
}

// Kinds lists the values of kind in a [providers] section.
func Kinds() []string { return []string{"anthropic", "openai", "gemini", Acting} }

// New makes a model of the given kind; external agents come from Agents. It
// makes no connection. When the owner names no model, a well-known server has a
// default; any other server is asked for its models at the first call, and the
// first that can talk is taken.
func New(kind string, o Options) (llm.Model, error) {
	switch kind {
	case "anthropic":
		if o.Model == "" {
			o.Model = anthropic.DefaultModel
		}
		m, err := anthropic.New(anthropic.Options(o))
		return model(m, err)
	case "gemini":
		if o.Model == "" {
			o.Model = gemini.DefaultModel
		}
		m, err := gemini.New(gemini.Options(o))
		return model(m, err)
	case "openai":
		if o.Model == "" {
			o.Model = defaultModel(o.BaseURL)
		}
		if o.Model == "" {
			return newDiscovered(o)
		}
		m, err := openai.New(openai.Options(o))
		return model(m, err)
	}
	return nil, fmt.Errorf("kind %q of [providers.%s] is not one of %s", kind, o.Provider, strings.Join(Kinds(), ", "))
}

// model keeps a nil pointer from becoming a non-nil interface.
func model[M llm.Model](m M, err error) (llm.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// defaultModel is the model of a well-known server, "" elsewhere.
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
