package all

import (
	"fmt"
	"strings"

	"hob/autonomy/llm"
)

// EmbedderName returns the full name, "provider/model", of the embedder that Embedder would use. It
// needs no key. A name without a default model is returned unchanged.
func EmbedderName(name string, o AutoOptions) string {
	provider, model, _ := strings.Cut(name, "/")
	if model == "" {
		model = o.defaultEmbedding(provider)
	}
	if model == "" {
		return name
	}
	return provider + "/" + model
}

// Embedder returns the embedder for a name in the form that ResolveModel accepts. If the name
// contains no model, Google and OpenAI have a default; other servers need a model.
func Embedder(name string, o AutoOptions) (llm.Embedder, error) {
	provider, model, _ := strings.Cut(name, "/")
	if model == "" {
		model = o.defaultEmbedding(provider)
	}
	if model == "" {
		return nil, fmt.Errorf("%q is not the name of an embedding model; write \"provider/model\"", name)
	}
	m, err := ResolveModel(provider+"/"+model, o)
	if err != nil {
		return nil, err
	}
	e, ok := m.(llm.Embedder)
	if !ok {
		return nil, fmt.Errorf("%s does not support embeddings; use a model from a provider whose kind is %s", m.Info().Name(), strings.Join(embeddingKinds(), " or "))
	}
	return e, nil
}

func (o AutoOptions) defaultEmbedding(provider string) string {
	kind, base := "", ""
	for _, s := range Services() {
		if s.Name == provider {
			kind, base = s.Kind, s.BaseURL
		}
	}
	for _, p := range o.Configured {
		if p.Name == provider {
			kind, base = p.Kind, p.BaseURL
		}
	}
	if about := describeKind(kind); about.Embedding != nil {
		return about.Embedding(base)
	}
	return ""
}

// embeddingKinds lists the kinds that support embeddings.
func embeddingKinds() (out []string) {
	for _, d := range Drivers() {
		if about := d.Describe(); about.Embedding != nil {
			out = append(out, about.Kind)
		}
	}
	return out
}
