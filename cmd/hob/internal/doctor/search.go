package doctor

import (
	"context"
	"fmt"

	"hob/platform/safehttp"
	"hob/platform/system"
	"hob/tools/web"
)

// checkSearch says who searches the web, and whether the way out is set up. It
// asks nobody: a search costs money at some services.
func checkSearch(ctx context.Context, e Env) []Check {
	n, s := e.Config.Network, e.Config.Search
	secret := func(ref string) (string, error) {
		if !system.IsReference(ref) {
			return ref, nil
		}
		v, err := e.Secrets.Resolve(ctx, ref)
		return v.Reveal(), err
	}
	proxy, err := secret(n.Proxy)
	if err != nil {
		return fail("web", fmt.Sprintf("the proxy cannot be read: %v", err), "check [network] proxy")
	}
	client, err := safehttp.New(safehttp.Options{Allow: n.Allow, Proxy: proxy, ProxyResolves: n.ProxyResolves})
	if err != nil {
		return failed("web", err, "check [network]")
	}
	chosen, err := web.Search{
		Provider: s.Provider, BaseURL: s.BaseURL, Env: e.Secrets.Env,
		Key: func(context.Context) (string, error) { return secret(s.Key) },
	}.Chosen(ctx)
	if err != nil {
		return failed("web", err, "check [search]")
	}
	if chosen == "searxng" {
		if _, err := client.Named(s.BaseURL); err != nil {
			return failed("web", err, "check [search] base_url")
		}
	}
	said := "searches are made with " + chosen
	switch {
	case proxy != "" && n.ProxyResolves:
		return warn("web", said+"; the proxy may resolve names, so that Hob cannot check where those lead", "hob config set network.proxy_resolves false")
	case chosen == "duckduckgo" && s.Provider == "auto":
		said += ", which wants no key and turns programs away at times (docs/web.md)"
	}
	return ok("web", said)
}
