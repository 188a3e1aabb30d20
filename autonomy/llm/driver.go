package llm

import (
	"net/http"
	"time"
)

// Driver creates models of one kind, which are called over HTTP. Describe needs no
// configuration. New checks the options and opens no connection; without a configured model it
// chooses one, at the latest at the first call.
type Driver interface {
	Describe() Description
	New(o ModelOptions) (Model, error)
}

// ModelOptions holds the settings of a model, the same for all kinds.
type ModelOptions struct {
	Provider  string        // section name in [providers], for names and errors; "" = the kind
	BaseURL   string        // with or without a version such as /v1; "" = the kind's own server
	APIKey    string        // resolved; "" sends none
	Model     string        // the server's name of the model
	MaxTokens int           // output limit when a request names none; 0 = the driver's
	Stall     time.Duration // longest silence of the server; 0 = DefaultStall (and LocalFirst)
	Context   int           // context window in tokens; 0 = the driver's
	Whole     bool          // request answers in one piece instead of a stream
	HTTP      *http.Client  // for tests and proxies; nil = a new client
}

// Description describes a driver's kind without a model. Setup, the doctor and the search for a
// model know nothing else of a kind.
type Description struct {
	// Kind is the value of kind in [providers.NAME].
	Kind string
	// BaseURL is the address of the kind's own server.
	BaseURL string
	// Services lists the well-known services of this kind. The first one is the kind's own.
	Services []Service
	// Embedding returns the default embedding model at an address, where "" is the own server,
	// or "" if it has none. nil: the kind does not support embeddings.
	Embedding func(baseURL string) string
}

// Service is a well-known model service.
type Service struct {
	Name    string // its section in [providers]
	Title   string // "Anthropic, with a key"
	BaseURL string // "" = the kind's own server
	// Env lists the environment variables that may contain its key.
	Env []string
}
