package modelrouter

import (
	"cmp"
	"context"
	"errors"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/platform/store"
)

// ModelsOptions holds the options of OpenModels. All fields are required.
type ModelsOptions struct {
	Store  *store.Store
	Config *config.Config
	Source Source
	// Meter decorates each single model call, inside the retries.
	Meter func(llm.Model) llm.Model
}

// Models holds the models of all agents. The embedded AgentModels belong to the default agent. Add
// all agents before the first turn; after that, methods may be called concurrently.
type Models struct {
	*AgentModels
	o    ModelsOptions
	pool *modelPool
	pins *SessionModels
	own  map[string]*AgentModels // the agents whose section names models
}

// OpenModels creates the models of the default agent. It calls no model. An unknown name is an
// error that includes its configuration key.
func OpenModels(o ModelsOptions) (*Models, error) {
	if o.Store == nil || o.Config == nil || o.Source == nil || o.Meter == nil {
		return nil, errors.New("models: ModelsOptions needs Store, Config, Source and Meter")
	}
	m := &Models{o: o, pool: &modelPool{source: o.Source, meter: o.Meter, made: map[string]llm.Model{}}, pins: NewPins(o.Store), own: map[string]*AgentModels{}}
	c := o.Config.Agent
	var err error
	m.AgentModels, err = m.newAgentModels("agent", c.Model, c.Fallback, c.SmallModel)
	return m, err
}

// newAgentModels creates the models named in a configuration section.
func (m *Models) newAgentModels(section, model string, fallback []string, small string) (*AgentModels, error) {
	out := &AgentModels{pool: m.pool, model: model, fallback: fallback, small: small}
	if err := out.checkNames(m.o.Config, section); err != nil {
		return nil, err
	}
	var err error
	out.Router, err = New(Options{Store: m.o.Store, Pins: m.pins, Standing: out.Default, Named: out.Named, Small: out.small})
	return out, err
}

// AddAgent creates, registers and returns the models of an agent if its section names a model or
// fallbacks. Otherwise it returns nil, and the agent uses the default agent's models.
func (m *Models) AddAgent(s config.Member) (*AgentModels, error) {
	if s.Model == "" && len(s.Fallback) == 0 {
		return nil, nil
	}
	fallback := s.Fallback
	if main := m.o.Config.Agent.Fallback; len(fallback) == 0 && len(config.FallbackModels(main)) < len(main) {
		fallback = []string{config.NoFallback}
	}
	a, err := m.newAgentModels("agents."+s.Name, cmp.Or(s.Model, m.o.Config.Agent.Model), fallback, "")
	if err != nil {
		return nil, err
	}
	m.own[s.Name] = a
	return a, nil
}

// Of returns the models of an agent.
func (m *Models) Of(agent string) *AgentModels {
	if own := m.own[agent]; own != nil {
		return own
	}
	return m.AgentModels
}

// IsOffline reports whether the built-in brain is the agent's only model.
func (m *Models) IsOffline(ctx context.Context, agent string) bool {
	got, _, err := m.Of(agent).Default(ctx)
	return err == nil && got.Info().Provider == builtIn
}

// Lazy returns a function that returns the model called name without fallbacks, or the default
// model for "auto".
func (m *Models) Lazy(name string) func(context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		if name == "auto" {
			got, _, err := m.Default(ctx)
			return got, err
		}
		return m.pool.modelNamed(name)
	}
}
