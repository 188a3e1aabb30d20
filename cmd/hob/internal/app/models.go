package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/usage"
)

// models creates each configured model once, so that all users of a name share its circuit
// breaker.
type models struct {
	opt llmall.AutoOptions
	// wrap decorates each single call, inside of the retries.
	wrap func(llm.Model) llm.Model

	mu   sync.Mutex
	made map[string]llm.Model
}

// newModels checks the kinds of the configured providers.
func (d *App) newModels() (*models, error) {
	c := d.opt.Config
	m := &models{made: map[string]llm.Model{}, wrap: d.meterModel}
	d.agents = &llmall.Agents{
		Home: cmp.Or(c.Files.Drop, filepath.Join(d.opt.Paths.Data, "agents")), Environ: os.Environ(), Secret: d.agentSecret, Log: d.opt.Log,
	}
	m.opt = llmall.AutoOptions{Env: d.secretEnv, Name: c.Agent.Name, HTTP: d.opt.HTTP, Agents: d.agents}
	for _, p := range c.Providers {
		if !slices.Contains(llmall.Kinds(), p.Kind) {
			return nil, c.Errorf("providers."+p.Name+".kind", "must be one of %s", strings.Join(llmall.Kinds(), ", "))
		}
		m.opt.Configured = append(m.opt.Configured, providerOptions(p, d.resolveSecret))
	}
	return m, nil
}

func providerOptions(p config.Provider, secret func(string) (string, error)) llmall.Provider {
	out := llmall.Provider{
		Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL, Model: p.Model, MaxTokens: p.MaxTokens, Context: p.Context, Whole: !p.Stream, Stall: p.Stall.Duration,
		Preset: p.Preset, Command: p.Command, Args: p.Args, Env: p.Env, Dir: p.Cwd, Mode: p.Mode, Auth: p.Auth,
	}
	if p.APIKey != "" {
		out.Key = func() (string, error) { return secret(p.APIKey) }
	}
	return out
}

// modelNamed is the model of a name, with retries and a breaker around it.
func (m *models) modelNamed(name string) (llm.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if got, ok := m.made[name]; ok {
		return got, nil
	}
	raw, err := llmall.ResolveModel(name, m.opt)
	if err != nil {
		return nil, err
	}
	m.made[name] = m.withBreaker(raw)
	return m.made[name], nil
}

// adoptModel is named for a model that was made elsewhere.
func (m *models) adoptModel(raw llm.Model) llm.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := raw.Info().Name()
	if _, ok := m.made[name]; !ok {
		m.made[name] = m.withBreaker(raw)
	}
	return m.made[name]
}

func (m *models) withBreaker(raw llm.Model) llm.Model {
	if raw.Info().Provider == "offline" {
		return m.wrap(raw)
	}
	return llm.Breaker(llm.Retry(m.wrap(raw), llm.RetryOptions{}), llm.BreakerOptions{})
}

// fallbackChain returns a model with its fallbacks: on errors the configured ones, over a limit the
// built-in brain.
func (m *models) fallbackChain(first llm.Model, more []string) (llm.Model, error) {
	all := []llm.Model{first}
	for _, name := range more {
		next, err := m.modelNamed(name)
		if err != nil {
			return nil, fmt.Errorf("fallback: %w", err)
		}
		all = append(all, next)
	}
	last, err := m.modelNamed("offline")
	if err != nil {
		return nil, err
	}
	if first == last {
		return llm.Fallback(all...), nil
	}
	return usage.WithLastResort(llm.Fallback(all...), last), nil
}
