package openai

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"hob/autonomy/llm"
)

// discoveredModel is a model that is chosen on the first call, from the server's list of models.
// Startup therefore needs no connection, and the server may start later.
type discoveredModel struct {
	o     Options
	asker *Model

	mu    sync.Mutex
	found *Model
}

// anyModel is the model's name until a model has been found.
const anyModel = "auto"

func newDiscovered(o Options) (llm.Model, error) {
	o.Model = anyModel
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	return &discoveredModel{o: o, asker: m}, nil
}

func (d *discoveredModel) Info() llm.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found != nil {
		return d.found.Info()
	}
	return d.asker.Info()
}

func (d *discoveredModel) Models(ctx context.Context) ([]string, error) { return d.asker.Models(ctx) }

func (d *discoveredModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m, err := d.findModel(ctx)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		for e, err := range m.Stream(ctx, r) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// findModel asks the server for its models and remembers the first chat model. Concurrent first
// calls may each ask the server, which is harmless.
func (d *discoveredModel) findModel(ctx context.Context) (*Model, error) {
	d.mu.Lock()
	m := d.found
	d.mu.Unlock()
	if m != nil {
		return m, nil
	}
	names, err := d.asker.Models(ctx)
	if err != nil {
		return nil, err
	}
	o := d.o
	if o.Model = ChatModel(names); o.Model == "" {
		return nil, &llm.Error{
			Kind: llm.NotFound, Provider: d.asker.Info().Provider,
			Message: "the server has no chat model",
			Remedy:  "install a chat model on the server (for Ollama: ollama pull llama3.2), or set model in [providers." + d.asker.Info().Provider + "]",
		}
	}
	if m, err = New(o); err != nil {
		return nil, &llm.Error{Kind: llm.BadRequest, Provider: o.Provider, Message: err.Error(), Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found == nil {
		d.found = m
	}
	return d.found, nil
}

// ProbeTimeout is the time limit for Probe.
const ProbeTimeout = 300 * time.Millisecond

// Probe asks a server for its models, without a key and for at most ProbeTimeout. It fails
// immediately if no server listens at the address or if the server is not a model server. The list
// may be empty.
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

// ChatModel returns the first chat model in a list, or "" if there is none. Servers also list
// models for embeddings, reranking and speech.
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
