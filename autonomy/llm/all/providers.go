package all

import (
	"net/url"
	"slices"
	"strings"

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

// ProviderEndpoint returns the kind and address of a provider: a configured one, a well-known one or a
// local server; "" for other names.
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

// defaultURL returns the address of a kind's own server, unless baseURL is set.
func defaultURL(kind, baseURL string) string {
	if baseURL != "" {
		return baseURL
	}
	return describeKind(kind).BaseURL
}
