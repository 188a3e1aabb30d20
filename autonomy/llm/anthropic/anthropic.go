// Package anthropic is the driver for Anthropic's Messages API and compatible servers. It streams
// answers, returns thinking blocks with their signature, marks what the provider should cache, and
// converts every failure to an *llm.Error. It is a thin client over net/http. It does not use
// Anthropic's SDK, because it would need only the JSON types, and the SDK adds 6 MB to the program.
//
// It reads nothing from the environment except the proxy settings of net/http. It does not retry
// (llm.Retry does), track usage or choose models. autonomy/llm/all creates it.
//
// The protocol: https://docs.anthropic.com/en/api/messages-streaming
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/autonomy/llm"
)

const (
	// DefaultBaseURL is Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultModel is used by Driver if no model is configured.
	DefaultModel = "claude-sonnet-5-5"

	apiVersion       = "2023-06-01" // the only version with the events that this driver reads
	defaultMaxTokens = 8192
	defaultContext   = 200_000 // smallest context window of all current models
)

// Options holds the settings of a Model. Model is required. APIKey is required for Anthropic's own
// server.
type Options = llm.ModelOptions

// Model is an llm.Model that uses a Messages API server.
type Model struct {
	o      Options
	wire   llm.Endpoint
	base   *url.URL
	client *http.Client
	// noThinking is set if the server refused thinking blocks in the history. This happens if
	// another model signed them.
	noThinking atomic.Bool
	// noFormat is set if the model does not support structured answers.
	noFormat atomic.Bool
}

var _ llm.Model = (*Model)(nil)

// New returns a Model after checking the options. It opens no connection.
func New(o Options) (*Model, error) {
	if o.Provider == "" {
		o.Provider = Kind
	}
	if o.Model = strings.TrimSpace(o.Model); o.Model == "" {
		return nil, fmt.Errorf("anthropic: [providers.%s] has no model; set model = \"...\"", o.Provider)
	}
	wire, u, err := llm.NewWire(o.Provider, o.BaseURL, DefaultBaseURL, o.APIKey)
	if err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/messages"), "/v1")
	if wire.Key == "" && strings.EqualFold(u.Hostname(), "api.anthropic.com") {
		return nil, fmt.Errorf("anthropic: [providers.%s] has no API key; run hob setup or set api_key", o.Provider)
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = defaultMaxTokens
	}
	if o.Context <= 0 {
		o.Context = defaultContext
	}
	return &Model{o: o, wire: wire, base: u, client: llm.Client(o.HTTP)}, nil
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	return llm.Info{
		Provider: m.o.Provider, Model: m.o.Model, Context: m.o.Context,
		Tools: true, Vision: true, Structured: true, Local: m.wire.Local(),
	}
}

// Models lists the models that the key may use, in the server's order.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, watch := llm.NewWatch(ctx, 30*time.Second)
	defer watch.Stop()
	var names []string
	for query := (url.Values{"limit": {"100"}}); ; {
		resp, err := m.sendRequest(ctx, http.MethodGet, "v1/models", query, nil) //nolint:bodyclose // ReadBody closes it
		body, err := m.wire.ReadBody(ctx, resp, err, llm.MaxModelList)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data *[]struct {
				ID string `json:"id"`
			} `json:"data"`
			More bool   `json:"has_more"`
			Last string `json:"last_id"`
		}
		if err := json.Unmarshal(body, &page); err != nil || page.Data == nil {
			return nil, m.wire.Errorf(llm.Garbled, "the server's list of models cannot be read")
		}
		for _, x := range *page.Data {
			if x.ID != "" {
				names = append(names, x.ID)
			}
		}
		if !page.More || page.Last == "" || page.Last == query.Get("after_id") || len(names) >= 1000 {
			return names, nil
		}
		query.Set("after_id", page.Last)
	}
}

// sendRequest sends one HTTP request.
func (m *Model) sendRequest(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := m.base.JoinPath(path)
	if query != nil {
		u.RawQuery = query.Encode()
	}
	req, err := llm.NewRequest(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Anthropic-Version", apiVersion)
	if m.wire.Key != "" {
		req.Header.Set("X-Api-Key", m.wire.Key)
	}
	return m.client.Do(req)
}
