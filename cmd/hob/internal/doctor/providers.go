package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
)

// Provider is one source of models.
type Provider struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Address string   `json:"address"`
	From    string   `json:"from"` // one of: configuration, environment, this machine, built in
	Key     string   `json:"key"`  // one of: present, missing, not needed
	Model   string   `json:"model"`
	Used    []string `json:"used"` // one or more of: model, fallback, small model
	// Tested reports whether the provider was called. If not, the other fields come from the
	// configuration.
	Tested    bool     `json:"tested"`
	Reachable bool     `json:"reachable"`
	LatencyMS int64    `json:"latency_ms"`
	Models    []string `json:"models"`
	Cause     string   `json:"cause"` // the reason why it does not work, or ""
	Remedy    string   `json:"remedy"`
}

// Providers lists the model providers. If test is set, it requests the list of models from each
// provider, which is free, and looks for local servers.
func Providers(ctx context.Context, e Env, test bool) []Provider {
	o := e.modelOptions(ctx)
	var out []Provider
	for _, p := range o.Configured {
		out = append(out, describeProvider(o, p.Name, "configuration", e))
	}
	for _, name := range llmall.FromEnvironment(o.Env) {
		if _, mine := e.Config.Provider(name); !mine {
			out = append(out, describeProvider(o, name, "environment", e))
		}
	}
	if test {
		for _, s := range llmall.LocalServers() {
			if _, mine := e.Config.Provider(s.Name); mine {
				continue
			}
			if p := tryProvider(ctx, o, describeProvider(o, s.Name, "this machine", e)); p.Reachable {
				out = append(out, p)
			}
		}
		for i := range out {
			out[i] = tryProvider(ctx, o, out[i])
		}
	}
	return append(out, Provider{
		Name: "offline", Kind: "built in", From: "built in", Key: "not needed", Model: "offline", Used: providerUses(e, "offline"), Tested: test, Reachable: test, Models: []string{},
	})
}

func describeProvider(o llmall.AutoOptions, name, from string, e Env) Provider {
	p := Provider{Name: name, From: from, Key: "present", Models: []string{}, Used: providerUses(e, name)}
	p.Kind, p.Address = o.ProviderEndpoint(name)
	m, err := llmall.ResolveModel(name, o)
	if err != nil {
		p.Key, p.Cause, p.Remedy = "missing", err.Error(), "set api_key of [providers."+name+"]: hob setup"
		return p
	}
	if p.Model = m.Info().Model; p.Model == "auto" {
		p.Model = ""
	}
	if c, ok := e.Config.Provider(name); ok && c.APIKey == "" || from == "this machine" {
		p.Key = "not needed"
	}
	return p
}

// providerUses returns what a provider is used for; see Provider.Used.
func providerUses(e Env, provider string) []string {
	a := e.Config.Agent
	is := func(name string) bool { return name == provider || strings.HasPrefix(name, provider+"/") }
	out := []string{}
	if is(a.Model) {
		out = append(out, "model")
	}
	if slices.ContainsFunc(a.Fallback, is) {
		out = append(out, "fallback")
	}
	if is(a.SmallModel) {
		out = append(out, "small model")
	}
	return out
}

// tryProvider requests the list of models from a provider.
func tryProvider(ctx context.Context, o llmall.AutoOptions, p Provider) Provider {
	if p.Tested || p.Cause != "" {
		return p
	}
	p.Tested = true
	m, err := llmall.ResolveModel(p.Name, o)
	if err != nil {
		p.Cause = err.Error()
		return p
	}
	l, is := m.(llmall.Lister)
	if !is {
		p.Reachable = true
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	start := time.Now()
	models, err := l.Models(ctx)
	p.LatencyMS = time.Since(start).Milliseconds()
	switch {
	case err != nil && llm.KindOf(err) == llm.NotFound:
		p.Reachable = true // the server responds but has no list of models
	case err != nil && ctx.Err() != nil:
		p.Cause, p.Remedy = fmt.Sprintf("%s did not answer within %s", p.Name, askWait), "check the internet connection and base_url of [providers."+p.Name+"]"
	case err != nil:
		p.Cause, p.Remedy, _ = strings.Cut(strings.TrimSuffix(llm.DescribeError(err), "."), "; ")
	default:
		p.Reachable = true
		p.Models = append(p.Models, models...)
	}
	return p
}
