package setup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
)

const (
	listWait = 10 * time.Second // timeout for a server's list of models
	callWait = 30 * time.Second // timeout for a short answer from a model
)

// provider is a model service that needs an address or a key.
type provider struct {
	name, kind, baseURL, title string
	env                        []string // environment variables that may hold its key
}

// knownProviders lists each kind's own service, then the other services, then an entry for any
// server.
func knownProviders() []provider {
	var own, others []provider
	for _, s := range llmall.Services() {
		p := provider{s.Name, s.Kind, s.BaseURL, s.Title, s.Env}
		if p.baseURL == "" {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	kind, title := llmall.Compatible()
	return append(append(own, others...), provider{other, kind, "", title, nil})
}

func providerOf(name string) (provider, bool) {
	i := slices.IndexFunc(knownProviders(), func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return knownProviders()[i], true
}

// chosenProvider returns the chosen provider with the address to call. A tested key is sent to no
// other address.
func (o Options) chosenProvider(a Answers) (provider, bool) {
	p, ok := providerOf(a["brain"])
	if p.name == other {
		p.baseURL = a["server"]
	} else if s, is := o.Config.Provider(p.name); is {
		p.baseURL = cmp.Or(s.BaseURL, p.baseURL)
	}
	return p, ok
}

// listModels requests the server's list of models. It uses no tokens.
func (o Options) listModels(ctx context.Context, p provider, key string) ([]string, error) {
	m, err := llmall.New(p.kind, llm.ModelOptions{Provider: p.name, BaseURL: p.baseURL, APIKey: key, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	l, ok := m.(llmall.Lister)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	models, err := l.Models(ctx)
	if llm.KindOf(err) == llm.NotFound { // the server responds but has no list of models
		return nil, nil
	}
	return models, err
}

// tryModel sends one short message to the model. This test is needed because some servers list
// their models without a valid key, and the list does not show whether there is credit.
func (o Options) tryModel(ctx context.Context, p provider, key, model string) error {
	m, err := llmall.New(p.kind, llm.ModelOptions{Provider: p.name, BaseURL: p.baseURL, APIKey: key, Model: model, HTTP: o.HTTP})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	hello := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "Say OK."}}}}, MaxTokens: 16, NoTools: true}
	for _, err := range m.Stream(ctx, hello) {
		return err // the first event shows that the server accepted the call
	}
	return errors.New("empty answer from the model")
}

func (o Options) valuesOf(p provider, ref, model string) []config.Value {
	section := "providers." + p.name
	out := []config.Value{{Key: section + ".kind", Value: p.kind}}
	for _, x := range [][2]string{{"base_url", p.baseURL}, {"api_key", ref}, {"model", model}} {
		if x[1] != "" {
			out = append(out, config.Value{Key: section + "." + x[0], Value: x[1]})
		}
	}
	if was, ok := o.Config.Provider(p.name); ok && was.APIKey != "" && ref == "" { // the stored key belongs to a different server
		out = append(out, config.Value{Key: section + ".api_key"})
	}
	if model == "" {
		return append(out, config.Value{Key: "agent.model", Value: p.name})
	}
	return append(out, config.Value{Key: "agent.model", Value: p.name + "/" + model})
}
