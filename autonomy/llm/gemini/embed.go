package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"hob/autonomy/llm"
)

const (
	maxBatch   = 100 // texts per call
	maxVectors = 32 << 20
	embedLimit = time.Minute // per call
)

type embedRequest struct {
	Requests []embedOne `json:"requests"`
}

type embedOne struct {
	Model   string  `json:"model"`
	Content content `json:"content"`
}

// Embed implements llm.Embedder
// (https://ai.google.dev/api/embeddings#method:-models.batchembedcontents).
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	return llm.EmbedBatches(texts, maxBatch, func(part []string) ([][]float32, llm.Usage, error) {
		ctx, watch := llm.NewWatch(ctx, embedLimit)
		defer watch.Stop()
		v, usage, err := m.embedBatch(ctx, part)
		if err != nil {
			return nil, llm.Usage{}, err
		}
		return v, usage, nil
	})
}

func (m *Model) embedBatch(ctx context.Context, texts []string) ([][]float32, llm.Usage, *llm.Error) {
	var req embedRequest
	for _, t := range texts {
		req.Requests = append(req.Requests, embedOne{m.path, content{Parts: []part{textPart(t)}}})
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, llm.Usage{}, m.wire.Errorf(llm.BadRequest, "encode the texts: %w", err)
	}
	resp, err := m.sendRequest(ctx, http.MethodPost, m.path+":batchEmbedContents", nil, body)
	if err != nil {
		return nil, llm.Usage{}, m.wire.TransportError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read, so Close cannot lose data
	var out struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
		Usage json.RawMessage `json:"usageMetadata"`
	}
	if fail := m.decodeResponse(ctx, resp, maxVectors, &out); fail != nil {
		return nil, llm.Usage{}, fail
	}
	vectors := make([][]float32, len(out.Embeddings))
	for i, e := range out.Embeddings {
		vectors[i] = e.Values
	}
	if fail := m.wire.CheckVectors(vectors, len(texts)); fail != nil {
		return nil, llm.Usage{}, fail
	}
	var usage llm.Usage
	if u := parseUsage(out.Usage); u != nil {
		usage = *u
	}
	return vectors, usage, nil
}
