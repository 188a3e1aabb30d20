package all

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"hob/autonomy/llm"
	"hob/autonomy/llm/acp"
)

// Acting is the kind of external agents.
const Acting = acp.Kind

// Agents creates each configured external agent once and ends their processes. Its methods may be
// called concurrently.
type Agents struct {
	// Home is the parent of the working folders of agents for which no folder is configured.
	Home string
	// Environ is the environment from which variables for the agents are selected.
	Environ []string
	// Secret resolves references in env.
	Secret func(ref string) (string, error)
	Log    *slog.Logger

	mu   sync.Mutex
	made map[string]*acp.Model
}

// agentModel returns the agent, which is created at the first call. If a is nil, the agent can be
// inspected but not used.
func (a *Agents) agentModel(p Provider, model string) (llm.Model, error) {
	if a == nil {
		a = &Agents{Home: filepath.Join(string(filepath.Separator), "nowhere")}
	}
	o := acp.Options{
		Provider: p.Name, Preset: p.Preset, Command: p.Command, Args: p.Args, Env: p.Env, Dir: p.Dir, Mode: p.Mode, Auth: p.Auth, Model: model,
		Environ: a.Environ, Secret: a.Secret, Log: a.Log,
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(a.Home, p.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := p.Name + "/" + model
	if m := a.made[key]; m != nil {
		return m, nil
	}
	m, err := acp.New(o)
	if err != nil {
		return nil, fmt.Errorf("[providers.%s]: %w", p.Name, err)
	}
	if a.made == nil {
		a.made = map[string]*acp.Model{}
	}
	a.made[key] = m
	return m, nil
}

// Pids lists the process ids of the running agents.
func (a *Agents) Pids() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []int
	for _, m := range a.made {
		out = append(out, m.Pids()...)
	}
	return out
}

// Close ends all agents and returns when their processes have ended.
func (a *Agents) Close() error {
	a.mu.Lock()
	made := a.made
	a.made = nil
	a.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, len(made))
	for _, m := range made {
		wg.Go(func() { errs <- m.Close() })
	}
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}
