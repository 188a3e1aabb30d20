package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
)

// lookAgain is how often `model = "auto"` looks for a local model server while
// it has found nothing better than the built-in brain.
const lookAgain = time.Minute

// brain is the model in force. Looking for one costs nothing at start: it is
// done with the first turn that needs a model.
type brain struct {
	name  string // agent.model
	chain []string
	opt   llmall.AutoOptions

	mu     sync.Mutex
	m      llm.Model
	looked time.Time
	reason string
}

func (d *Daemon) openBrain(context.Context) error {
	c := d.opt.Config
	b := &brain{name: c.Agent.Model, chain: c.Agent.Fallback}
	b.opt = llmall.AutoOptions{Env: os.Getenv, Name: c.Agent.Name, HTTP: d.opt.HTTP}
	for _, p := range c.Providers {
		if !slices.Contains(llmall.Kinds(), p.Kind) {
			return c.Errorf("providers."+p.Name+".kind", "it must be one of %s", strings.Join(llmall.Kinds(), ", "))
		}
		b.opt.Configured = append(b.opt.Configured, provider(p, d.secret))
	}
	if b.name != "auto" { // a wrong name is an error now, not at the first message
		if _, err := b.named(b.name); err != nil {
			return c.Errorf("agent.model", "%v", err)
		}
	}
	for _, f := range b.chain {
		if _, err := b.named(f); err != nil {
			return c.Errorf("agent.fallback", "%v", err)
		}
	}
	d.brain = b
	return nil
}

func provider(p config.Provider, secret func(string) (string, error)) llmall.Provider {
	out := llmall.Provider{Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL, Model: p.Model, MaxTokens: p.MaxTokens, Context: p.Context, Whole: !p.Stream}
	if p.APIKey != "" {
		out.Key = func() (string, error) { return secret(p.APIKey) }
	}
	return out
}

// named makes the model of a name, with retries and a breaker around it.
func (b *brain) named(name string) (llm.Model, error) {
	m, err := llmall.Named(name, b.opt)
	if err != nil {
		return nil, err
	}
	return guarded(m), nil
}

func guarded(m llm.Model) llm.Model {
	if m.Info().Provider == "offline" {
		return m
	}
	return llm.Breaker(llm.Retry(m, llm.RetryOptions{}), llm.BreakerOptions{})
}

// model returns the model in force.
func (b *brain) model(ctx context.Context) (llm.Model, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m != nil && (b.name != "auto" || b.m.Info().Provider != "offline" || time.Since(b.looked) < lookAgain) {
		return b.m, nil
	}
	m, err := b.find(ctx)
	if err != nil {
		return nil, err
	}
	all := []llm.Model{m}
	for _, f := range b.chain {
		more, err := b.named(f)
		if err != nil {
			return nil, err
		}
		all = append(all, more)
	}
	if len(all) > 1 {
		m = llm.Fallback(all...)
	}
	b.m, b.looked = m, time.Now()
	return m, nil
}

func (b *brain) find(ctx context.Context) (llm.Model, error) {
	if b.name != "auto" {
		b.reason = "set in the configuration"
		return b.named(b.name)
	}
	o := b.opt
	o.Probe = true
	m, reason, err := llmall.Auto(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("model = \"auto\": %w", err)
	}
	b.reason = reason
	return guarded(m), nil
}

// free reports whether the model in force costs nothing.
func (b *brain) free() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.m != nil && b.m.Info().Local
}

// describe names the model for people.
func (b *brain) describe() (name, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		return b.name, "not needed yet"
	}
	return b.m.Info().Name(), b.reason
}
