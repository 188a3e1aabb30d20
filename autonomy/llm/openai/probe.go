package openai

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/llm"
)

// ProbeTimeout bounds Probe.
const ProbeTimeout = 300 * time.Millisecond

// Probe asks a server for its models, without a key and for no longer than
// ProbeTimeout. It fails at once when nothing listens there, and when what
// listens is no model server. The list may be empty: a server without models.
func Probe(ctx context.Context, baseURL string) ([]string, error) {
	m, err := New(Options{Provider: "local", BaseURL: baseURL, Model: "-"})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	defer m.client.CloseIdleConnections()
	return m.list(ctx)
}

// ChatModel picks the first model of a list that can talk, and "" when there is
// none: servers list models for embeddings, ranking and speech as well.
func ChatModel(models []string) string {
	for _, name := range models {
		if !special(strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

func special(name string) bool {
	for _, w := range []string{"embed", "rerank", "whisper", "tts-", "bge-", "minilm", "-e5-", "gte-", "clip"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

var _ llm.Model = (*Model)(nil)
