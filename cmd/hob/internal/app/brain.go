package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	agentbrain "hob/autonomy/turn/modelrouter"
)

// lookAgain is how often `model = "auto"` looks for a local model server while
// it has found nothing better than the built-in brain.
const lookAgain = time.Minute

// brainOptions configure a brain. Each agent may have a separate one; the models behind them
// are shared.
type brainOptions struct {
	Models   *models
	Model    string   // "auto", "offline" or "provider/model"
	Fallback []string // names to try when it fails
	Small    string   // for plain messages, "" = none
	// Key is the section of the configuration that errors name, "agent" as a rule.
	Key string
}

// brain selects the current model. It detects the model lazily, with the first turn that needs
// one, so the start is fast.
type brain struct {
	o       brainOptions
	chooser *agentbrain.Router

	mu     sync.Mutex
	m      llm.Model
	looked time.Time
	reason string
}

func (d *App) openBrain(context.Context) (err error) {
	if d.models, err = d.newModels(); err != nil {
		return err
	}
	d.pins = agentbrain.NewPins(d.store)
	c := d.opt.Config.Agent
	d.brain, err = d.newBrain(brainOptions{Models: d.models, Model: c.Model, Fallback: c.Fallback, Small: c.SmallModel, Key: "agent"})
	return err
}

// newBrain makes sure of the names: a wrong one is an error now, not at the
// first message.
func (d *App) newBrain(o brainOptions) (*brain, error) {
	if o.Model != "auto" {
		if _, err := o.Models.modelNamed(o.Model); err != nil {
			return nil, d.opt.Config.Errorf(o.Key+".model", "%v", err)
		}
	}
	for _, f := range o.Fallback {
		if _, err := o.Models.modelNamed(f); err != nil {
			return nil, d.opt.Config.Errorf(o.Key+".fallback", "%v", err)
		}
	}
	if o.Small != "" {
		if _, err := o.Models.modelNamed(o.Small); err != nil {
			return nil, d.opt.Config.Errorf(o.Key+".small_model", "%v", err)
		}
	}
	b := &brain{o: o}
	var err error
	b.chooser, err = agentbrain.New(agentbrain.Options{Store: d.store, Pins: d.pins, Standing: b.defaultModel, Named: b.modelNamed, Small: o.Small})
	return b, err
}

// chooseModel implements agent.Options.Model.
func (b *brain) chooseModel(ctx context.Context, ask agentbrain.TurnInfo) (agentbrain.Choice, error) {
	return b.chooser.Choose(ctx, ask)
}

// modelNamed is the model of a name with this brain's models to fall back on.
func (b *brain) modelNamed(name string) (llm.Model, error) {
	m, err := b.o.Models.modelNamed(name)
	if err != nil {
		return nil, err
	}
	return b.o.Models.fallbackChain(m, b.o.Fallback)
}

// defaultModel returns the default model of all turns.
func (b *brain) defaultModel(ctx context.Context) (m llm.Model, reason string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m != nil && (b.o.Model != "auto" || b.m.Info().Provider != "offline" || time.Since(b.looked) < lookAgain) {
		return b.m, b.reason, nil
	}
	m, reason, err = b.detectModel(ctx)
	if err != nil {
		return nil, "", err
	}
	if m, err = b.o.Models.fallbackChain(m, b.o.Fallback); err != nil {
		return nil, "", err
	}
	b.m, b.reason, b.looked = m, reason, time.Now()
	return m, reason, nil
}

func (b *brain) detectModel(ctx context.Context) (llm.Model, string, error) {
	if b.o.Model != "auto" {
		m, err := b.o.Models.modelNamed(b.o.Model)
		return m, "set in the configuration", err
	}
	o := b.o.Models.opt
	o.Probe = true
	m, reason, err := llmall.DetectModel(ctx, o)
	if err != nil {
		return nil, "", fmt.Errorf("model = \"auto\": %w", err)
	}
	return b.o.Models.adoptModel(m), reason, nil
}

// isFree reports whether calls of the current model are free.
func (b *brain) isFree() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.m != nil && b.m.Info().Local
}

// describeModel returns the model's name for display.
func (b *brain) describeModel() (name, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		return b.o.Model, "not needed yet"
	}
	return b.m.Info().Name(), b.reason
}
