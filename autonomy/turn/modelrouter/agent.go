package modelrouter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
)

// detectInterval is how often model = "auto" searches for a local model server while only the
// built-in brain is available.
const detectInterval = time.Minute

// AgentModels holds the models of one agent. The default model is detected when a turn first needs
// it, which keeps startup fast. Methods may be called concurrently.
type AgentModels struct {
	*Router
	pool     *modelPool
	model    string   // "auto", "offline" or "provider/model"
	fallback []string // models to try when model fails
	small    string   // model for plain messages; "" means none

	mu       sync.Mutex
	m        llm.Model
	detected time.Time
	reason   string
}

// checkNames checks that all model names exist, so that a wrong name is reported at startup and not
// at the first message. key is the configuration section to name in errors.
func (a *AgentModels) checkNames(c *config.Config, key string) error {
	if a.model != "auto" {
		if _, err := a.pool.modelNamed(a.model); err != nil {
			return c.Errorf(key+".model", "%v", err)
		}
	}
	for _, name := range config.FallbackModels(a.fallback) {
		if _, err := a.pool.modelNamed(name); err != nil {
			return c.Errorf(key+".fallback", "%v", err)
		}
	}
	if a.small == "" {
		return nil
	}
	if _, err := a.pool.modelNamed(a.small); err != nil {
		return c.Errorf(key+".small_model", "%v", err)
	}
	return nil
}

// Named returns the model called name, with this agent's fallbacks.
func (a *AgentModels) Named(name string) (llm.Model, error) {
	m, err := a.pool.modelNamed(name)
	if err != nil {
		return nil, err
	}
	return a.pool.fallbackChain(m, a.fallback)
}

// Default returns the default model for all turns, and the reason for its choice.
func (a *AgentModels) Default(ctx context.Context) (m llm.Model, reason string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m != nil && (a.model != "auto" || a.m.Info().Provider != builtIn || time.Since(a.detected) < detectInterval) {
		return a.m, a.reason, nil
	}
	m, reason, err = a.detectModel(ctx)
	if err != nil {
		return nil, "", err
	}
	if m, err = a.pool.fallbackChain(m, a.fallback); err != nil {
		return nil, "", err
	}
	a.m, a.reason, a.detected = m, reason, time.Now()
	return m, reason, nil
}

func (a *AgentModels) detectModel(ctx context.Context) (llm.Model, string, error) {
	if a.model != "auto" {
		m, err := a.pool.modelNamed(a.model)
		return m, "set in the configuration", err
	}
	m, reason, err := a.pool.source.Detect(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("model = \"auto\": %w", err)
	}
	return a.pool.adoptModel(m), reason, nil
}

// Cheapest returns the small model, or the default one if there is none.
func (a *AgentModels) Cheapest(ctx context.Context) (llm.Model, error) {
	if a.small != "" {
		return a.Named(a.small)
	}
	m, _, err := a.Default(ctx)
	return m, err
}

// CheapestVision returns the small model if it can read pictures, otherwise the default one.
func (a *AgentModels) CheapestVision(ctx context.Context) (llm.Model, error) {
	if a.small != "" {
		if m, err := a.Named(a.small); err == nil && m.Info().Vision {
			return m, nil
		}
	}
	m, _, err := a.Default(ctx)
	return m, err
}

// Info returns the known limits of the default model.
func (a *AgentModels) Info(ctx context.Context) llm.Info {
	m, _, err := a.Default(ctx)
	if err != nil {
		return llm.Info{}
	}
	return m.Info()
}

// IsFree reports whether calls to the default model are free.
func (a *AgentModels) IsFree() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.m != nil && a.m.Info().Local
}

// Describe returns the name of the default model for display, and the reason for its choice. It
// does not detect models.
func (a *AgentModels) Describe() (name, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		return a.model, "not needed yet"
	}
	return a.m.Info().Name(), a.reason
}

// LooksOffline reports whether the default model is the built-in brain, judging without detection.
func (a *AgentModels) LooksOffline() bool {
	name, _ := a.Describe()
	return strings.HasPrefix(name, builtIn)
}
