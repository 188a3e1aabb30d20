package doctor

import (
	"context"

	"hob/tools/web"
)

// checkSearch reports the web search provider and checks the network settings. It runs no
// search, because some services charge for it.
func checkSearch(ctx context.Context, e Env) []Check {
	s := e.Config.Search
	client, err := e.Config.Network.Client(ctx, e.Secrets)
	if err != nil {
		return failWithError("web", err, "check [network]")
	}
	chosen, err := web.Search{
		Provider: s.Provider, BaseURL: s.BaseURL, Env: e.Secrets.Env,
		Key: func(ctx context.Context) (string, error) { return e.Secrets.Reveal(ctx, s.Key) },
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
