package doctor

import (
	"context"
	"errors"

	"hob/platform/host/browser"
	"hob/tools/web"
)

// checkSearch reports the web search provider and checks the network settings. It does not search,
// because some services charge for searches.
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
	said := "searches use " + chosen
	switch {
	case e.Config.Network.Proxy != "" && e.Config.Network.ProxyResolves:
		return warnCheck("web", said+"; the proxy may resolve names, so Hob cannot check their addresses", "hob config set network.proxy_resolves false")
	case chosen == "duckduckgo" && s.Provider == "auto":
		said += ", which needs no key but sometimes rejects programs (docs/web.md)"
	}
	return okCheck("web", said)
}

// checkBrowser looks for the browser. If Env.Starts is set, it also tests whether the browser
// starts without a window and without a network.
func checkBrowser(ctx context.Context, e Env) []Check {
	c := e.Config.Browser
	if !c.Enabled {
		return nil
	}
	b, err := browser.New(browser.Options{Profile: e.Paths.Browser(), Network: browser.Nowhere{}, Path: c.Path, Headless: c.Headless})
	if err != nil {
		return failWithError("browser", err, "check [browser]")
	}
	found, err := b.Find()
	switch {
	case err != nil && c.Path != "":
		return failWithError("browser", err, "check [browser] path")
	case err != nil:
		e, _ := errors.AsType[*browser.Error](err)
		if e == nil {
			return failWithError("browser", err, "")
		}
		return okCheck("browser", e.Message+", so Hob has no browser (docs/browser.md)")
	case b.RunsUnsandboxed():
		return warnCheck("browser", found.Name+" would run without its sandbox, because Hob runs as root", "run Hob as a normal user, or: hob config set browser.enabled false")
	case e.Browses != nil && e.Browses(): // starting a second instance would prove nothing more
		return okCheck("browser", found.Name+" runs")
	case e.Starts:
		if err := b.TestStart(ctx); err != nil {
			cause, remedy := splitRemedy(err, "start it manually to see its messages: "+found.Path)
			return warnCheck("browser", found.Name+" is installed but does not start: "+cause, remedy)
		}
		return okCheck("browser", found.Name+" starts")
	case b.Headless():
		return okCheck("browser", found.Name+" is installed and runs without a window")
	}
	return okCheck("browser", found.Name+" is installed")
}
