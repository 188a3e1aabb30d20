package doctor

import (
	"context"
	"fmt"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/tools/web"
)

// Network is the HTTP client for public addresses, as the daemon creates it.
func Network(ctx context.Context, c *config.Config, s system.Secrets) (*safehttp.Client, error) {
	proxy, err := revealSecret(ctx, s, c.Network.Proxy)
	if err != nil {
		return nil, fmt.Errorf("[network] proxy: %w", err)
	}
	return safehttp.New(safehttp.Options{Allow: c.Network.Allow, Proxy: proxy, ProxyResolves: c.Network.ProxyResolves})
}

func revealSecret(ctx context.Context, s system.Secrets, ref string) (string, error) {
	if !system.IsReference(ref) {
		return ref, nil
	}
	v, err := s.Resolve(ctx, ref)
	return v.Reveal(), err
}

// checkSearch reports the web search provider and checks the network settings. It runs no
// search, because some services charge for it.
func checkSearch(ctx context.Context, e Env) []Check {
	s := e.Config.Search
	client, err := Network(ctx, e.Config, e.Secrets)
	if err != nil {
		return failWithError("web", err, "check [network]")
	}
	chosen, err := web.Search{
		Provider: s.Provider, BaseURL: s.BaseURL, Env: e.Secrets.Env,
		Key: func(ctx context.Context) (string, error) { return revealSecret(ctx, e.Secrets, s.Key) },
	}.Chosen(ctx)
	if err != nil {
		return failWithError("web", err, "check [search]")
	}
	if chosen == "searxng" {
		if _, err := client.Named(s.BaseURL); err != nil {
			return failWithError("web", err, "check [search] base_url")
		}
	}
	said := "searches are made with " + chosen
	switch {
	case e.Config.Network.Proxy != "" && e.Config.Network.ProxyResolves:
		return warnCheck("web", said+"; the proxy may resolve names, so Hob cannot check their addresses", "hob config set network.proxy_resolves false")
	case chosen == "duckduckgo" && s.Provider == "auto":
		said += ", which needs no key but sometimes rejects programs (docs/web.md)"
	}
	return okCheck("web", said)
}
