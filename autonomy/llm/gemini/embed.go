package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"hob/autonomy/llm"
)

const embedLimit = time.Minute // time limit per call

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
	return llm.EmbedBatches(ctx, texts, embedLimit, m.embedBatch)
}

func (m *Model) embedBatch(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	var req embedRequest
	for _, t := range texts {
		req.Requests = append(req.Requests, embedOne{m.path, content{Parts: []part{textPart(t)}}})
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, llm.Usage{}, m.wire.Errorf(llm.BadRequest, "encode the texts: %w", err)
	}
	resp, err := m.sendRequest(ctx, http.MethodPost, m.path+":batchEmbedContents", nil, body) //nolint:bodyclose // decodeResponse closes it
	var out struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
		Usage json.RawMessage `json:"usageMetadata"`
	}
	if err := m.decodeResponse(ctx, resp, err, llm.MaxVectors, &out); err != nil {
		return nil, llm.Usage{}, err
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
