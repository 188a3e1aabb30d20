package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/usage"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/system"
)

// SettingChecks returns the checks of a changed configuration that need the drivers, but neither
// secrets nor the network.
func SettingChecks() []func(*config.Config) error {
	return []func(*config.Config) error{llmall.CheckKinds, channel.CheckTargets}
}

// ConfigChecker returns a function that finds the mistakes that only drivers can detect.
func ConfigChecker(s system.Secrets) func(context.Context, *config.Config) error {
	return func(ctx context.Context, c *config.Config) error {
		if errs := Drivers(ctx, c, s); len(errs) > 0 {
			return errs
		}
		return nil
	}
}

// Drivers checks the settings that only the drivers can check: the kinds of providers, the channel
// sections and the model names.
func Drivers(ctx context.Context, c *config.Config, s system.Secrets) config.Errors {
	var errs config.Errors
	for _, check := range SettingChecks() {
		err := check(c)
		if more, ok := errors.AsType[config.Errors](err); ok {
			errs = append(errs, more...)
		}
	}
	drivers := map[string]channels.Driver{}
	var names []string
	for _, d := range channelsall.Drivers() {
		name := d.Describe().Name
		drivers[name] = d
		names = append(names, name)
	}
	slices.Sort(names)
	deps := channels.Deps{Log: slog.New(slog.DiscardHandler), Secret: func(ref string) (string, error) { return s.Reveal(ctx, ref) }}
	var err error
	if deps.Network, err = c.Network.Client(ctx, s); err != nil {
		errs = append(errs, c.Errorf("network.proxy", "%v", err))
	}
	for _, section := range c.Channels {
		d, known := drivers[section.Name]
		if !known {
			errs = append(errs, section.Errorf("", "unknown channel; known channels: %s", strings.Join(names, ", ")))
			continue
		}
		if _, err := d.New(section.Decode, deps); err != nil {
			errs = append(errs, section.Errors(err)...)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return checkModelNames(ctx, Env{Config: c, Secrets: s})
}

// checkModelNames checks the model names in the same way as the daemon at startup.
func checkModelNames(ctx context.Context, e Env) (errs config.Errors) {
	o := e.modelOptions(ctx)
	check := func(key string, names ...string) {
		for _, name := range names {
			if name == "" || name == "auto" {
				continue
			}
			if _, err := llmall.ResolveModel(name, o); err != nil {
				errs = append(errs, e.Config.Errorf(key, "%v", err))
			}
		}
	}
	check("agent.model", e.Config.Agent.Model)
	check("agent.fallback", config.FallbackModels(e.Config.Agent.Fallback)...)
	check("agent.small_model", e.Config.Agent.SmallModel)
	for _, m := range e.Config.Members {
		check("agents."+m.Name+".model", m.Model)
		check("agents."+m.Name+".fallback", config.FallbackModels(m.Fallback)...)
	}
	return errs
}

// askWait is the timeout for a model server's response.
const askWait = 5 * time.Second

// modelOptions returns the configuration in the form that model detection uses.
func (e Env) modelOptions(ctx context.Context) llmall.AutoOptions {
	return llmall.AutoOptions{
		Env: e.Secrets.Env, Probe: true, Name: e.Config.Agent.Name, HTTP: e.HTTP,
		Configured: llmall.ConfiguredProviders(e.Config, func(ref string) (string, error) { return e.Secrets.Reveal(ctx, ref) }),
	}
}

func checkModel(ctx context.Context, e Env) []Check {
	o := e.modelOptions(ctx)
	var out []Check
	if e.Config.Agent.Model == "auto" {
		m, why, err := llmall.DetectModel(ctx, o)
		out = append(out, pingModel(ctx, "model", m, why, err)...)
	} else {
		m, err := llmall.ResolveModel(e.Config.Agent.Model, o)
		out = append(out, pingModel(ctx, "model", m, "agent.model names it", err)...)
	}
	for _, f := range config.FallbackModels(e.Config.Agent.Fallback) {
		m, err := llmall.ResolveModel(f, o)
		out = append(out, pingModel(ctx, "fallback", m, "agent.fallback names it", err)...)
	}
	if small := e.Config.Agent.SmallModel; small != "" {
		m, err := llmall.ResolveModel(small, o)
		out = append(out, pingModel(ctx, "small model", m, "agent.small_model names it", err)...)
	}
	return out
}

// checkBudget reports the limits, and a configured model without a known price, whose assumed price
// counts toward them.
func checkBudget(ctx context.Context, e Env) []Check {
	b := e.Config.Budget
	var caps []string
	for _, c := range []struct {
		usd float64
		per string
	}{{b.DailyUSD, "a day"}, {b.MonthlyUSD, "a month"}} {
		if c.usd > 0 {
			caps = append(caps, usage.Dollars(c.usd).String()+" "+c.per)
		}
	}
	if b.DailyTokens > 0 {
		caps = append(caps, fmt.Sprintf("%d tokens per day", b.DailyTokens))
	}
	if len(caps) == 0 {
		return okCheck("budget", "no limit on model costs (hob config set budget.daily_usd 2)")
	}
	said := "at most " + strings.Join(caps, ", ")
	prices, err := usage.NewPrices(usage.OwnPrices(e.Config.Prices))
	if err != nil {
		return failCheck("budget", err.Error(), "")
	}
	if b.DailyUSD+b.MonthlyUSD > 0 {
		if name := unpricedModel(ctx, e, prices); name != "" {
			u := prices.Unknown()
			return warnCheck("budget", fmt.Sprintf("%s; the price of %s is unknown, so Hob assumes $%g and $%g per million tokens in and out", said, name, u.Input, u.Output),
				fmt.Sprintf("hob config set 'prices.\"%s\".input' 1, and the same with output", name))
		}
	}
	return okCheck("budget", fmt.Sprintf("%s, at the prices of %s", said, prices.AsOf()))
}

// unpricedModel returns a configured model without a known price, or "".
func unpricedModel(ctx context.Context, e Env, prices *usage.Prices) string {
	a := e.Config.Agent
	o := e.modelOptions(ctx)
	for _, name := range slices.Concat([]string{a.Model, a.SmallModel}, config.FallbackModels(a.Fallback)) {
		if name == "" || name == "auto" {
			continue
		}
		m, err := llmall.ResolveModel(name, o)
		if err != nil {
			continue // another check reports this
		}
		if _, known := prices.Of(m.Info(), o.Host(m.Info().Provider)); !known {
			return m.Info().Name()
		}
	}
	return ""
}

// pingModel checks that the model's server responds. It uses no tokens.
func pingModel(ctx context.Context, name string, m llm.Model, why string, err error) []Check {
	const remedy = "see the section [providers] in the configuration: hob config path"
	if err != nil {
		return failCheck(name, err.Error(), remedy)
	}
	info := m.Info()
	if info.Provider == "offline" {
		return okCheck(name, "the built-in brain ("+why+")")
	}
	l, is := m.(llmall.Lister)
	if !is {
		return skipCheck(name, info.Name()+" cannot be checked without using it ("+why+")", "hob ask hello")
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	have, err := l.Models(ctx)
	switch {
	case info.Acts && err == nil:
		return okCheck(name, info.Name()+" is installed ("+why+"); the first message shows whether it is signed in")
	case err != nil && llm.KindOf(err) == llm.NotFound && !info.Acts:
		return warnCheck(name, fmt.Sprintf("%s: its server answers but cannot list its models", info.Name()), "")
	case err != nil:
		return failCheck(name, fmt.Sprintf("%s does not work: %v", info.Name(), err), remedy)
	case info.Model != "" && len(have) > 0 && !slices.Contains(have, info.Model):
		return warnCheck(name, fmt.Sprintf("the server of %s does not list this model", info.Name()), "it has "+strings.Join(have[:min(5, len(have))], ", "))
	}
	return okCheck(name, info.Name()+" answers ("+why+")")
}

// checkTriggers checks the triggers. It also reports triggers that share a secret: the signature
// does not cover the trigger's name, so a recorded call to one trigger is a valid call to the
// other.
func checkTriggers(ctx context.Context, e Env) []Check {
	var out []Check
	users := map[system.Secret]string{}
	for _, t := range e.Config.Triggers {
		if t.Signature != "v1" {
			out = append(out, warnCheck("trigger "+t.Name, fmt.Sprintf("signature = %q is obsolete: calls without a signed time and key are refused", t.Signature), "remove the key and sign calls as docs/triggers.md shows")...)
		}
		secret, err := e.Secrets.Resolve(ctx, t.Secret)
		switch {
		case err != nil:
			out = append(out, failCheck("trigger "+t.Name, err.Error(), "")...)
		case secret == "":
		case users[secret] != "":
			out = append(out, warnCheck("trigger "+t.Name, "same secret as the trigger "+users[secret]+", so a recorded call to one is a valid call to the other", "give each trigger a different secret")...)
		default:
			users[secret] = t.Name
		}
	}
	return out
}
