package app

import (
	"context"
	"fmt"
	"os"

	"hob/platform/host/system"
	"hob/platform/host/system/power"
	"hob/platform/host/vault"
	"hob/platform/net/release"
	"hob/platform/net/safehttp"
	"hob/tools/weather"
	toolsweb "hob/tools/web"
)

// openNetwork creates the client for untrusted addresses.
func (d *App) openNetwork(ctx context.Context) (err error) {
	kept := vault.SecretsFor(d.opt.Paths)
	kept.Resolved = func(ref string, s system.Secret) { d.redact.AddReference(ref, s.Reveal()) }
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

// releaseFollower returns the daily update check.
func (d *App) releaseFollower() release.Follower {
	c := d.opt.Config.Update
	return release.Follower{
		Checker: release.Checker{Built: d.opt.Release, Configured: release.Source{URL: c.URL, Key: c.Key}, Network: d.network, File: d.opt.Paths.UpdateFile(), Version: d.opt.Version},
		Delay:   d.opt.ReleaseDelay, Notify: d.intake.Notify, Log: d.opt.Log,
	}
}

// secretEnv reads a variable that may contain a provider's key.
func (d *App) secretEnv(name string) string {
	v := d.secrets.Env(name)
	d.redact.AddReference("env:"+name, v)
	return v
}

// agentSecret resolves the references in an agent's environment; a literal value is not treated
// as a secret.
func (d *App) agentSecret(value string) (string, error) {
	if !system.IsReference(value) {
		return value, nil
	}
	return d.resolveSecret(value)
}

// followWakes makes the loop, the channels and the watchers check the clock when the machine
// wakes. Without wake notifications they do so within a tick.
func (d *App) followWakes(ctx context.Context) error {
	env := d.environLookup()
	if env == nil {
		<-ctx.Done()
		return nil
	}
	return power.FollowWakes(ctx, power.Options{Getenv: env}, d.opt.Log, func() {
		d.watchers.HandleWake()
		d.channels.HandleWake()
		d.bus.Inbox.SignalWork()
	})
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
