// Package gemini is the driver for Google's Gemini API (the REST interface of
// generativelanguage.googleapis.com) and compatible proxies. It is a thin client over net/http. It
// streams answers, returns the signatures of thoughts when the API requires them, and supports
// pictures, structured answers and embeddings. It learns from the first refusal what a model does
// not support.
//
// It does not retry (llm.Retry does), track usage or choose models. autonomy/llm/all creates it.
//
// The protocol: https://ai.google.dev/api/generate-content
package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hob/autonomy/llm"
	"hob/platform/text/lazyregexp"
)

const (
	// DefaultBaseURL is Google's own server.
	DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"
	// DefaultModel is used by Driver if no model is configured.
	DefaultModel = "gemini-flash-latest"
	// DefaultEmbedding is the default embedding model.
	DefaultEmbedding = "gemini-embedding-001"

	defaultContext = 1 << 20 // context window of Google's text models
	imageContext   = 32 << 10
)

// Options holds the settings of a Model. Model is required. APIKey is required for Google's own
// server.
type Options = llm.ModelOptions

// Model is an llm.Model and llm.Embedder that uses a Gemini server.
type Model struct {
	o      Options
	wire   llm.Endpoint
	base   *url.URL
	path   string // for example "models/NAME"
	client *http.Client
	quirks atomic.Uint32
}

var (
	_ llm.Model    = (*Model)(nil)
	_ llm.Embedder = (*Model)(nil)

	versionSegment = lazyregexp.New(`(^|/)v[0-9]+((beta|alpha)[0-9]*)?(/|$)`)
)

// New returns a Model after checking the options. It opens no connection.
func New(o Options) (*Model, error) {
	if o.Provider == "" {
		o.Provider = Kind
	}
	o.Model = strings.TrimPrefix(strings.TrimSpace(o.Model), "models/")
	if o.Model == "" {
		return nil, fmt.Errorf("gemini: [providers.%s] has no model; set model = \"...\"", o.Provider)
	}
	if strings.ContainsAny(o.Model, ":?#%\\ ") || slices.Contains(strings.Split(o.Model, "/"), "..") {
		return nil, fmt.Errorf("gemini: model in [providers.%s] is not a valid model name; set model to a name such as gemini-flash-latest", o.Provider)
	}
	wire, u, err := llm.NewWire(o.Provider, o.BaseURL, DefaultBaseURL, o.APIKey)
	if err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	// Users often paste the address of Google's OpenAI-compatible interface.
	u.Path = strings.TrimSuffix(u.Path, "/openai")
	if !versionSegment.MatchString(u.Path) {
		u.Path += "/v1beta"
	}
	if wire.Key == "" && strings.EqualFold(u.Hostname(), "generativelanguage.googleapis.com") {
		return nil, fmt.Errorf("gemini: [providers.%s] has no API key; run hob setup or set api_key", o.Provider)
	}
	if o.Context <= 0 {
		o.Context = contextOf(o.Model)
	}
	path := "models/" + o.Model
	if strings.Contains(o.Model, "/") { // for example "tunedModels/NAME"
		path = o.Model
	}
	return &Model{o: o, wire: wire, base: u, path: path, client: llm.Client(o.HTTP)}, nil
}

func contextOf(model string) int {
	if generatesImages(model) || strings.HasPrefix(model, "gemma") {
		return imageContext
	}
	return defaultContext
}

// generatesImages reports whether a model generates images, judging by its name.
func generatesImages(model string) bool {
	return strings.Contains(model, "-image") && !strings.Contains(model, "imagen")
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	q := m.knownQuirks()
	return llm.Info{
		Provider: m.o.Provider, Model: m.o.Model, Context: m.o.Context,
		Tools: q&noTools == 0, Vision: q&noImages == 0, Structured: q&noFormat == 0, Local: m.wire.Local(),
	}
}

// Models lists the chat models, in the server's order.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, watch := llm.NewWatch(ctx, 30*time.Second)
	defer watch.Stop()
	var names []string
	for page := ""; ; {
		more, next, err := m.listModels(ctx, page)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
		if next == "" || len(names) >= 1000 || next == page {
			return names, nil
		}
		page = next
	}
}

func (m *Model) listModels(ctx context.Context, page string) (names []string, next string, err error) {
	query := url.Values{"pageSize": {"1000"}}
	if page != "" {
		query.Set("pageToken", page)
	}
	var list struct {
		Models *[]struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
		Next string `json:"nextPageToken"`
	}
	resp, err := m.sendRequest(ctx, http.MethodGet, "models", query, nil) //nolint:bodyclose // decodeResponse closes it
	if err := m.decodeResponse(ctx, resp, err, llm.MaxModelList, &list); err != nil {
		return nil, "", err
	}
	if list.Models == nil {
		return nil, "", m.wire.Errorf(llm.Garbled, "the server's list of models cannot be read")
	}
	for _, x := range *list.Models {
		if len(x.Methods) == 0 || slices.Contains(x.Methods, "generateContent") {
			names = append(names, strings.TrimPrefix(x.Name, "models/"))
		}
	}
	return names, list.Next, nil
}

// decodeResponse reads and decodes a complete response. err is the error of the request.
func (m *Model) decodeResponse(ctx context.Context, resp *http.Response, err error, limit int64, out any) error {
	body, err := m.wire.ReadBody(ctx, resp, err, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return m.wire.Errorf(llm.Garbled, "the answer is not from the Gemini API: %w", err)
	}
	return nil
}

// sendRequest sends one HTTP request. The key is in a header, because URLs appear in logs.
func (m *Model) sendRequest(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := *m.base
	u.Path += "/" + path
	q := u.Query()
	for k, v := range query {
		q[k] = v
	}
	u.RawQuery = q.Encode()
	req, err := llm.NewRequest(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if m.wire.Key != "" {
		req.Header.Set("X-Goog-Api-Key", m.wire.Key)
	}
	return m.client.Do(req)
}
