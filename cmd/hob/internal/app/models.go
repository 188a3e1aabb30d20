package app

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/usage"
	watchersall "hob/watchers/all"
)

// openUsage creates the accounting of model calls.
func (d *App) openUsage(context.Context) (err error) {
	d.usage, d.prices, err = usage.Open(d.store, d.opt.Paths.ConfigFile(), d.opt.Config, usage.Options{
		Zone: d.zone, Tell: func(ctx context.Context, key, text string) error { return d.intake.Notify(ctx, key, text) }, Log: d.opt.Log,
	})
	return err
}

// openModels creates the configured models.
func (d *App) openModels(context.Context) (err error) {
	c := d.opt.Config
	if err := llmall.CheckKinds(c); err != nil {
		return err
	}
	d.agents = &llmall.Agents{
		Home: cmp.Or(c.Files.Drop, filepath.Join(d.opt.Paths.Data, "agents")), Environ: os.Environ(), Secret: d.secrets.ResolveReference, Log: d.opt.Log,
	}
	d.providers = llmall.AutoOptions{
		Env: d.secrets.Env, Name: c.Agent.Name, Setup: c.DescribeSetup(), HTTP: d.opt.HTTP, Agents: d.agents, Configured: llmall.ConfiguredProviders(c, d.secrets.Resolve), Channels: d.channelDrivers(), Watchers: watchersall.Kinds(),
	}
	d.models, err = modelrouter.OpenModels(modelrouter.ModelsOptions{Store: d.store, Config: c, Source: d.providers, Meter: d.meterModel})
	return err
}

// meterModel returns a model that records the calls of m.
func (d *App) meterModel(m llm.Model) llm.Model {
	o := usage.MeterOptions{Host: d.providers.Host(m.Info().Provider)}
	if p, ok := d.opt.Config.Provider(m.Info().Provider); ok {
		o.MaxTokens = p.MaxTokens
	}
	return d.usage.Meter(m, o)
}

// hasBudget reports whether an unattended turn may begin.
func (d *App) hasBudget(now time.Time) (bool, time.Time) {
	if d.models.IsFree() {
		return true, now
	}
	return d.usage.CanSpend(now)
}
