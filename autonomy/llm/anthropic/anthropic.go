// Package anthropic is the driver for Anthropic's Messages API and compatible servers, based on the
// official SDK. It streams answers, returns thinking blocks with their signature, marks what the
// provider should cache, and converts every failure to an *llm.Error.
//
// It reads nothing from the environment except the proxy settings of net/http. It does not retry
// (llm.Retry does), track usage or choose models. autonomy/llm/all creates it.
//
// The protocol: https://docs.anthropic.com/en/api/messages-streaming
package anthropic

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"hob/autonomy/llm"
)

// Limits for a server's responses.
const (
	maxBlocks = 256     // maximum content blocks in one answer
	maxArgs   = 4 << 20 // maximum bytes of one call's arguments
)

const (
	// DefaultBaseURL is Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultModel is used by Driver if no model is configured.
	DefaultModel = string(sdk.ModelClaudeSonnet5_5)

	defaultMaxTokens = 8192
	defaultContext   = 200_000 // smallest context window of all current models
)

// Options holds the settings of a Model. Model is required. APIKey is required for Anthropic's own
// server.
type Options = llm.ModelOptions

// Model is an llm.Model that uses a Messages API server.
type Model struct {
	o    Options
	wire llm.Endpoint
	// The client is wrapped in a function, because an interface value that contains it as a field
	// would link every method of every SDK service into the program, about 10 MB.
	post   func(ctx context.Context, path string, params, res any, opts ...option.RequestOption) error
	models sdk.ModelService
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
	client := llm.Client(o.HTTP)
	client.Transport = limitedTransport{client.Transport}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithBaseURL(u.String()),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	}
	if wire.Key != "" {
		options = append(options, option.WithAPIKey(wire.Key))
	}
	api := sdk.NewClient(options...)
	return &Model{o: o, wire: wire, post: api.Post, models: api.Models}, nil
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
	page := m.models.ListAutoPaging(ctx, sdk.ModelListParams{Limit: sdk.Int(100)})
	var names []string
	for page.Next() && len(names) < 1000 {
		if id := page.Current().ID; id != "" {
			names = append(names, id)
		}
	}
	if err := page.Err(); err != nil {
		return nil, m.convertError(ctx, err)
	}
	return names, nil
}

// limitedTransport limits the size of every response body, because the SDK reads error bodies to
// their end.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		resp.Body = llm.LimitBody(resp.Body, llm.MaxAnswer)
	}
	return resp, err
}

// CloseIdleConnections passes http.Client.CloseIdleConnections on to the transport.
func (c limitedTransport) CloseIdleConnections() {
	if t, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
