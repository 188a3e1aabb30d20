package openai

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/llm"
)

// ProbeTimeout bounds Probe.
const ProbeTimeout = 300 * time.Millisecond

// Probe queries a server for its models, without a key and for at most ProbeTimeout. It fails
// immediately if no server listens, or if it is not a model server. The list may be empty.
func Probe(ctx context.Context, baseURL string) ([]string, error) {
	m, err := New(Options{Provider: "local", BaseURL: baseURL, Model: "-"})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	defer m.client.CloseIdleConnections()
	return m.listModels(ctx)
}

// ChatModel returns the first chat model of a list, "" if it has none: servers also list models
// for embeddings, reranking and speech.
func ChatModel(models []string) string {
	for _, name := range models {
		if !isSpecial(strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

func isSpecial(name string) bool {
	for _, w := range []string{"embed", "rerank", "whisper", "tts-", "bge-", "minilm", "-e5-", "gte-", "clip"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

var _ llm.Model = (*Model)(nil)
