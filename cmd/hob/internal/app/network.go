package app

import (
	"context"
	"fmt"
	"os"

	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/net/safehttp"
	"hob/tools/weather"
	toolsweb "hob/tools/web"
)

// openNetwork creates the client for untrusted addresses.
func (d *App) openNetwork(ctx context.Context) (err error) {
	kept := vault.SecretsFor(d.opt.Paths)
	kept.Resolved = d.registerSecret
	d.secrets = &kept
	o, n := d.opt.Network, d.opt.Config.Network
	o.Allow, o.ProxyResolves, o.Proxy = n.Allow, n.ProxyResolves, n.Proxy
	if system.IsReference(n.Proxy) {
		if o.Proxy, err = d.resolveSecretContext(ctx, n.Proxy); err != nil {
			return fmt.Errorf("[network] proxy: %w", err)
		}
	}
	d.network, err = safehttp.New(o)
	return err
}

func (d *App) weatherDeps() weather.Deps {
	return weather.Deps{Network: d.network, Place: d.opt.Config.Plan.Place}
}

// webDeps returns the dependencies of the web tools. Keys are resolved at each search.
func (d *App) webDeps() toolsweb.Deps {
	s := d.opt.Config.Search
	return toolsweb.Deps{Network: d.network, Search: toolsweb.Search{
		Provider: s.Provider, BaseURL: s.BaseURL, Env: os.Getenv,
		Key: func(ctx context.Context) (string, error) {
			if s.Key == "" {
				return "", nil
			}
			return d.resolveSecretContext(ctx, s.Key)
		},
	}}
}
