// Package openai is the driver for servers with OpenAI's Chat Completions API: OpenAI itself,
// OpenRouter, Ollama, LM Studio, llama.cpp, vLLM and many more. It is a thin client over net/http,
// because these servers deviate from the specification in ways that break a client made for OpenAI.
// The driver accepts deviations with a clear meaning. It learns from the first refusal what a
// server does not support (tools, stream_options, images, or one of the two names of the token
// limit).
//
// It does not retry (llm.Retry does), track usage or choose models. autonomy/llm/all creates it.
//
// The protocol: https://platform.openai.com/docs/api-reference/chat
package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/autonomy/llm"
	"hob/platform/text/lazyregexp"
)

// DefaultBaseURL is the base URL of OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultModel is the model that Driver uses at OpenAI if none is configured.
const DefaultModel = "gpt-5-mini"

// Options holds the settings of a Model. Only Model is required.
type Options = llm.ModelOptions

// Model is an llm.Model that uses a Chat Completions server.
type Model struct {
	o    Options
	wire llm.Endpoint
	base *url.URL
	// bare is base without the /v1 that New added, or nil if New added none.
	bare   *url.URL
	client *http.Client
	quirks atomic.Uint32
}

// New returns a Model after checking the options. It opens no connection.
func New(o Options) (*Model, error) {
	if o.Provider == "" {
		o.Provider = Kind
	}
	if o.Model = strings.TrimSpace(o.Model); o.Model == "" {
		return nil, fmt.Errorf("openai: [providers.%s] has no model; set model = \"...\"", o.Provider)
	}
	wire, u, err := llm.NewWire(o.Provider, o.BaseURL, DefaultBaseURL, o.APIKey)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	base, bare := baseURLs(u)
	m := &Model{o: o, wire: wire, base: base, bare: bare, client: llm.Client(o.HTTP)}
	if strings.EqualFold(base.Hostname(), "api.openai.com") {
		m.addQuirk(completionTokens | ownServer)
	}
	return m, nil
}

var versionSegment = lazyregexp.New(`(^|/)v[0-9]+(beta|alpha)?[0-9]*(/|$)`)

// baseURLs returns the base URL of /chat/completions. It adds /v1 to a path without a version; bare
// is then the URL without /v1.
func baseURLs(u *url.URL) (base, bare *url.URL) {
	u.Path = strings.TrimSuffix(u.Path, "/chat/completions")
	if versionSegment.MatchString(u.Path) {
		return u, nil
	}
	b := *u
	u.Path += "/v1"
	return u, &b
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	q := m.knownQuirks()
	return llm.Info{
		Provider: m.o.Provider, Model: m.o.Model, Context: m.o.Context,
		Tools: q&noTools == 0, Vision: q&noImages == 0, Structured: q&noFormat == 0, Local: m.wire.Local(),
	}
}

// Models lists the models that the server offers, in the server's order.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, watch := llm.NewWatch(ctx, 30*time.Second)
	defer watch.Stop()
	return m.listModels(ctx)
}

func (m *Model) listModels(ctx context.Context) ([]string, error) {
	resp, err := m.sendRequest(ctx, http.MethodGet, "/models", nil) //nolint:bodyclose // decodeResponse closes it
	body, err := m.wire.ReadBody(ctx, resp, err, llm.MaxModelList)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, m.wire.Errorf(llm.Garbled, "the server's list of models cannot be read")
	}
	var names []string
	for _, x := range *list.Data {
		if x.ID != "" {
			names = append(names, x.ID)
		}
	}
	return names, nil
}

// sendRequest sends one HTTP request. If /v1 was added to the configured address and the server
// does not know that path, it retries without /v1.
func (m *Model) sendRequest(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	base := m.base
	if m.knownQuirks()&bareBase != 0 {
		base = m.bare
	}
	resp, err := m.sendTo(ctx, method, base.JoinPath(path), body)
	if err != nil || resp.StatusCode != http.StatusNotFound || m.bare == nil || base == m.bare {
		return resp, err
	}
	second, err := m.sendTo(ctx, method, m.bare.JoinPath(path), body)
	if err != nil || second.StatusCode != http.StatusOK || !isAPIAnswer(second) {
		if err == nil {
			_ = second.Body.Close()
		}
		return resp, nil
	}
	m.addQuirk(bareBase)
	_ = resp.Body.Close()
	return second, nil
}

func (m *Model) sendTo(ctx context.Context, method string, u *url.URL, body []byte) (*http.Response, error) {
	req, err := llm.NewRequest(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if m.wire.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.wire.Key)
	}
	return m.client.Do(req)
}

// isAPIAnswer reports whether a response comes from an API and is not a web page.
func isAPIAnswer(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "application/json" || kind == "text/event-stream"
}
