package modelrouter

import (
	"context"
	"sync"

	"hob/autonomy/llm"
)

// builtIn is the model name of the built-in brain.
const builtIn = "offline"

// Source creates the models available through the configuration and the environment. The models
// have neither retries nor a circuit breaker.
type Source interface {
	// Resolve returns the model called name: "offline", "provider" or "provider/model".
	Resolve(name string) (llm.Model, error)
	// Detect returns the model for model = "auto", and the reason for it.
	Detect(ctx context.Context) (m llm.Model, reason string, err error)
	// Found lists the names of providers whose keys are in the environment.
	Found() []string
}

// modelPool creates each configured model once, so that all users of a model share its circuit
// breaker.
type modelPool struct {
	source Source
	// meter decorates each single model call, inside the retries.
	meter func(llm.Model) llm.Model

	mu   sync.Mutex
	made map[string]llm.Model

	standIns standInState
}

// modelNamed returns the model called name, with retries and a circuit breaker.
func (p *modelPool) modelNamed(name string) (llm.Model, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, ok := p.made[name]; ok {
		return got, nil
	}
	raw, err := p.source.Resolve(name)
	if err != nil {
		return nil, err
	}
	p.made[name] = p.withBreaker(raw)
	return p.made[name], nil
}

// adoptModel is like modelNamed, but for an existing model.
func (p *modelPool) adoptModel(raw llm.Model) llm.Model {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := raw.Info().Name()
	if _, ok := p.made[name]; !ok {
		p.made[name] = p.withBreaker(raw)
	}
	return p.made[name]
}

func (p *modelPool) withBreaker(raw llm.Model) llm.Model {
	if raw.Info().Provider == builtIn {
		return p.meter(raw)
	}
	t := &trackedModel{Model: llm.Breaker(llm.Retry(p.meter(raw), llm.RetryOptions{}), llm.BreakerOptions{})}
	if l, ok := raw.(interface {
		Models(ctx context.Context) ([]string, error)
	}); ok {
		t.list = l.Models
	}
	return t
}

// fallbackChain returns a model with its fallbacks and the built-in brain as the last resort.
func (p *modelPool) fallbackChain(first llm.Model, more []string) (llm.Model, error) {
	brain, err := p.modelNamed(builtIn)
	if err != nil || first == brain {
		return first, err
	}
	return p.newStandIn(first, brain, more)
}
