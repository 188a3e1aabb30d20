package llm

import (
	"encoding/json"
	"net/http"
	"time"
)

// Driver creates models of one kind, which are called over HTTP. Describe needs no configuration.
// New checks the options and opens no connection. If no model is configured, the driver chooses one
// no later than the first call.
type Driver interface {
	Describe() Description
	New(o ModelOptions) (Model, error)
}

// ModelOptions holds the settings of a model. Every kind of provider has the same settings.
type ModelOptions struct {
	Provider  string        // section name in [providers], for names and errors; "" means the kind
	BaseURL   string        // with or without a version such as /v1; "" means the kind's own server
	APIKey    string        // the resolved key; "" sends none
	Model     string        // the model name used by the server
	MaxTokens int           // output limit for requests that set none; 0 means the driver's default
	Stall     time.Duration // maximum time without output from the server; 0 means DefaultStall (and LocalFirst)
	Context   int           // context window in tokens; 0 means the driver's default
	Whole     bool          // whether to request complete answers instead of a stream
	HTTP      *http.Client  // for tests and proxies; nil means a new client
}

// Description describes a driver's kind without a model. Setup, the doctor and model detection know
// a kind only by its Description.
type Description struct {
	// Kind is the value of kind in a [providers.NAME] section.
	Kind string
	// BaseURL is the address of the kind's own server.
	BaseURL string
	// Services lists the well-known services of this kind. The first one is the kind's own service.
	Services []Service
	// Compatible is the title in setup for any other server that uses the protocol of this kind, or
	// "" if setup offers only Services and Local.
	Compatible string
	// Local lists the model servers of this kind that may run on this machine, in order of
	// preference.
	Local []LocalServer
	// Embedding returns the default embedding model at an address; the address "" means the kind's
	// own server. It returns "" if the address has no embedding model. It is nil if the kind does
	// not support embeddings.
	Embedding func(baseURL string) string
}

// LocalServer is a program that serves models on this machine at a default address.
type LocalServer struct {
	Name    string // name of its section in [providers]
	Title   string // for example "LM Studio"
	BaseURL string
}

// Service is a well-known model service.
type Service struct {
	Name    string // name of its section in [providers]
	Title   string // for example "OpenRouter, with an API key"
	BaseURL string // "" means the kind's own server
	// Env lists the environment variables that may contain the service's key.
	Env []string
}

// ClosedSchema returns the schema with every object closed (no additional properties), as providers
// require for structured answers. strict reports whether every object also requires all its
// properties, as OpenAI's strict mode demands. Input that is not a schema is returned unchanged.
func ClosedSchema(raw json.RawMessage) (closed map[string]any, strict bool) {
	if json.Unmarshal(raw, &closed) != nil || closed == nil {
		return map[string]any{"type": "object"}, false
	}
	return closed, closeObjects(closed, 0)
}

func closeObjects(v any, depth int) (strict bool) {
	strict = true
	if depth > 64 {
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		if props, ok := x["properties"].(map[string]any); ok {
			x["additionalProperties"] = false
			required, _ := x["required"].([]any)
			strict = len(required) == len(props)
		} else if x["type"] == "object" {
			strict = false // any object is valid, so strict mode is impossible
		}
		for _, inner := range x {
			strict = closeObjects(inner, depth+1) && strict
		}
	case []any:
		for _, inner := range x {
			strict = closeObjects(inner, depth+1) && strict
		}
	}
	return strict
}

// safeOutput is an output length in tokens that every current model supports.
const safeOutput = 4096

// Limit returns the output limit to send: the smaller of the request's limit and own, the limit set
// by the user or the driver (0 means none). If own is 0, Limit omits a limit above safeOutput,
// because models reject limits above their maximum. A result of 0 means that no limit is sent.
func (r Request) Limit(own int) int {
	switch {
	case r.MaxTokens <= 0:
		return own
	case own > 0:
		return min(own, r.MaxTokens)
	case r.MaxTokens > safeOutput:
		return 0
	}
	return r.MaxTokens
}
