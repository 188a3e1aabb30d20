package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
)

const embedLimit = time.Minute // time limit per call

var _ llm.Embedder = (*Model)(nil)

// Embed implements llm.Embedder
// (https://platform.openai.com/docs/api-reference/embeddings).
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	return llm.EmbedBatches(ctx, texts, m.wire.FirstLimit(embedLimit, false), m.embedBatch)
}

func (m *Model) embedBatch(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	body, err := json.Marshal(map[string]any{"model": m.o.Model, "input": texts})
	if err != nil {
		return nil, llm.Usage{}, m.wire.Errorf(llm.BadRequest, "encode the texts: %w", err)
	}
	resp, err := m.sendTexts(ctx, body) //nolint:bodyclose // decodeResponse closes it
	raw, err := m.wire.ReadBody(ctx, resp, err, llm.MaxVectors)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	var out struct {
		Data  []vector        `json:"data"`
		Usage json.RawMessage `json:"usage"`
		// The format of Ollama's own API.
		Embeddings [][]float32 `json:"embeddings"`
		Counted    *int        `json:"prompt_eval_count"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, llm.Usage{}, m.wire.Errorf(llm.Garbled, "the answer contains no vectors: %w", err)
	}
	vectors := out.Embeddings
	if vectors == nil {
		vectors = orderVectors(out.Data)
	}
	if fail := m.wire.CheckVectors(vectors, len(texts)); fail != nil {
		return nil, llm.Usage{}, fail
	}
	var usage llm.Usage
	if u := parseUsage(out.Usage); u != nil {
		usage = *u
	} else if out.Counted != nil {
		usage = llm.Usage{Input: *out.Counted, Known: true}
	}
	return vectors, usage, nil
}

// sendTexts requests vectors at OpenAI's path. If the server does not know that path, it uses the
// path of Ollama's own API, the only one in older versions
// (https://github.com/ollama/ollama/blob/main/docs/api.md#generate-embeddings).
func (m *Model) sendTexts(ctx context.Context, body []byte) (*http.Response, error) {
	if m.knownQuirks()&ollamaVectors != 0 {
		return m.sendTo(ctx, http.MethodPost, m.ollamaURL(), body)
	}
	resp, err := m.sendRequest(ctx, http.MethodPost, "/embeddings", body)
	if err != nil || resp.StatusCode != http.StatusNotFound || m.knownQuirks()&ownServer != 0 {
		return resp, err
	}
	second, err := m.sendTo(ctx, http.MethodPost, m.ollamaURL(), body)
	if err != nil || second.StatusCode != http.StatusOK || !isAPIAnswer(second) {
		if err == nil {
			_ = second.Body.Close()
		}
		return resp, nil // the error from OpenAI's path is the relevant one: usually a missing model
	}
	m.addQuirk(ollamaVectors)
	_ = resp.Body.Close()
	return second, nil
}

// ollamaURL returns the address of Ollama's own embeddings API.
func (m *Model) ollamaURL() *url.URL {
	u := *m.base
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	u.Path = strings.TrimSuffix(u.Path, "/api")
	return u.JoinPath("/api/embed")
}

type vector struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// orderVectors sorts vectors by the index of their inputs. Vectors without an index are already in
// order.
func orderVectors(data []vector) [][]float32 {
	numbered := slices.ContainsFunc(data, func(v vector) bool { return v.Index != 0 })
	out := make([][]float32, len(data))
	for i, v := range data {
		if numbered {
			i = v.Index
		}
		if i >= 0 && i < len(out) {
			out[i] = v.Embedding
		}
	}
	return out
}
