package all

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/llm/openai"
)

// FromEnvironment lists the providers whose keys are in the environment.
func FromEnvironment(env func(string) string) []string {
	var out []string
	for _, s := range Services() {
		if env != nil && slices.ContainsFunc(s.Env, func(name string) bool { return strings.TrimSpace(env(name)) != "" }) {
			out = append(out, s.Name)
		}
	}
	return out
}

// ProviderEndpoint returns the kind and address of a provider: a configured one, a well-known one
// or a local server. It returns "" for other names.
func (o AutoOptions) ProviderEndpoint(provider string) (kind, baseURL string) {
	for _, p := range o.Configured {
		if p.Name == provider {
			return p.Kind, defaultURL(p.Kind, p.BaseURL)
		}
	}
	for _, s := range Services() {
		if s.Name == provider {
			return s.Kind, defaultURL(s.Kind, s.BaseURL)
		}
	}
	for _, s := range o.probeList() {
		if s.Name == provider {
			return openai.Kind, s.BaseURL
		}
	}
	return "", ""
}

// Host returns the host of a provider, such as "api.openai.com".
func (o AutoOptions) Host(provider string) string {
	_, base := o.ProviderEndpoint(provider)
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// defaultURL returns baseURL if it is set, and otherwise the address of the kind's own server.
func defaultURL(kind, baseURL string) string {
	if baseURL != "" {
		return baseURL
	}
	return describeKind(kind).BaseURL
}

// ConfiguredProviders returns the [providers] sections in the configuration. secret resolves
// references to their keys. It is called only when a key is needed.
func ConfiguredProviders(c *config.Config, secret func(ref string) (string, error)) (out []Provider) {
	for _, p := range c.Providers {
		next := Provider{
			Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL, Model: p.Model, MaxTokens: p.MaxTokens, Context: p.Context, Whole: !p.Stream, Stall: p.Stall.Duration,
			Preset: p.Preset, Command: p.Command, Args: p.Args, Env: p.Env, Dir: p.Cwd, Mode: p.Mode, Auth: p.Auth,
		}
		if p.APIKey != "" {
			next.Key = func() (string, error) { return secret(p.APIKey) }
		}
		out = append(out, next)
	}
	return out
}

// CheckKinds checks the kinds in the [providers] sections of the configuration.
func CheckKinds(c *config.Config) error {
	for _, p := range c.Providers {
		if !slices.Contains(Kinds(), p.Kind) {
			return c.Errorf("providers."+p.Name+".kind", "must be one of %s", strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// Resolve is ResolveModel.
func (o AutoOptions) Resolve(name string) (llm.Model, error) { return ResolveModel(name, o) }

// Detect calls DetectModel with Probe.
func (o AutoOptions) Detect(ctx context.Context) (m llm.Model, reason string, err error) {
	o.Probe = true
	return DetectModel(ctx, o)
}

// Found calls FromEnvironment with Env.
func (o AutoOptions) Found() []string { return FromEnvironment(o.Env) }
