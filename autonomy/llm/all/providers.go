package all

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/llm/acp"
	"hob/autonomy/llm/openai"
	"hob/platform/host/system"
	"hob/platform/text/sorting"
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

// CheckKinds returns the mistakes of the [providers] sections that depend on their kinds, as
// config.Errors.
func CheckKinds(c *config.Config) error {
	var errs config.Errors
	for _, p := range c.Providers {
		require := func(key string, ok bool, format string, args ...any) {
			if !ok {
				errs = append(errs, c.Errorf("providers."+p.Name+key, format, args...))
			}
		}
		require(".kind", slices.Contains(Kinds(), p.Kind), "must be one of %s", strings.Join(Kinds(), ", "))
		// The keys for external agents have no effect with another kind, and the keys of other
		// kinds have none with an external agent.
		acts := p.Kind == Acting
		for key, set := range map[string]bool{
			"preset": p.Preset != "", "command": p.Command != "", "args": len(p.Args) > 0, "env": len(p.Env) > 0, "cwd": p.Cwd != "", "mode": p.Mode != "", "auth": p.Auth != "",
		} {
			require("."+key, acts || !set, "only an external agent (kind = %q) accepts this key", Acting)
		}
		for key, set := range map[string]bool{"api_key": p.APIKey != "", "base_url": p.BaseURL != "", "max_tokens": p.MaxTokens != 0, "context": p.Context != 0} {
			require("."+key, !acts || !set, "an external agent (kind = %q) does not accept this key; list the variables that the agent needs in env", Acting)
		}
		if acts {
			require("", p.Command != "" || p.Preset != "", "an external agent needs a command, or a preset such as %q", acp.Presets()[0].Name)
			abs, err := system.Expand(p.Cwd)
			require(".cwd", p.Cwd == "" || err == nil && filepath.IsAbs(abs), `must be a full path such as "~/Documents"`)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	sorting.ByFunc(errs, func(a, b *config.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Key, b.Key))
	})
	return errs
}

// Resolve calls ResolveModel with these options.
func (o AutoOptions) Resolve(name string) (llm.Model, error) { return ResolveModel(name, o) }

// Detect calls DetectModel with Probe.
func (o AutoOptions) Detect(ctx context.Context) (m llm.Model, reason string, err error) {
	o.Probe = true
	return DetectModel(ctx, o)
}

// Found calls FromEnvironment with Env.
func (o AutoOptions) Found() []string { return FromEnvironment(o.Env) }
