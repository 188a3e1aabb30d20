package app

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/turn"
	"hob/autonomy/turn/prompt"
	"hob/platform/store"
	"hob/tools"
	toolscrew "hob/tools/crew"
)

// openCrew creates the agents: the default one and those of [agents.NAME].
func (d *App) openCrew(base turn.Options) error {
	c := d.opt.Config
	o := agents.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Otherwise: c.Crew.Default, Parallel: c.Crew.Parallel,
		Depth: c.Crew.Depth, Timeout: c.Crew.Timeout.Duration, Longest: c.Crew.BackgroundTimeout.Duration, Log: d.opt.Log,
	}
	for _, name := range c.AgentNames() {
		section, ok := c.Member(name)
		if !ok {
			section.Name = name
		}
		m, err := d.agentMember(base, section)
		if err != nil {
			return err
		}
		o.Members = append(o.Members, m)
	}
	for _, r := range c.Routes {
		o.Routes = append(o.Routes, agents.Route(r))
	}
	var err error
	d.crew, err = agents.New(o)
	return err
}

// main is the default agent.
func (d *App) main() *turn.Runner {
	m, _ := d.crew.Named(agents.Default) // New makes sure of it
	return m.Runner
}

// agentMember creates an agent from its section; missing keys use the values of the default agent.
func (d *App) agentMember(base turn.Options, s config.Member) (agents.Member, error) {
	o := base
	m := agents.Member{Name: s.Name, About: s.About, Delegates: s.Delegates}
	o.Level = guard.Level(s.Level)
	o.Limits.Rounds = cmp.Or(s.MaxRounds, o.Limits.Rounds)
	o.Limits.Tokens = cmp.Or(s.MaxTokensPerTurn, o.Limits.Tokens)
	o.Limits.Failures = cmp.Or(s.MaxToolFailures, o.Limits.Failures)
	if s.Name == agents.Default {
		o.Realm = s.Realm
		if len(s.Delegates) == 0 {
			m.Delegates = []string{"*"}
		}
	} else {
		o.Name, o.Realm = s.Name, cmp.Or(s.Realm, s.Name)
	}
	if err := d.memberTools(&o, s); err != nil {
		return m, err
	}
	if err := d.memberBox(&o, &m, s); err != nil {
		return m, err
	}
	if err := d.memberPrompt(&o, &m, s); err != nil {
		return m, err
	}
	if err := d.memberModels(&o, s); err != nil {
		return m, err
	}
	m.Options = o
	var err error
	m.Runner, err = turn.New(o)
	return m, err
}

func (d *App) memberTools(o *turn.Options, s config.Member) error {
	if len(s.Tools) == 0 && len(s.Deny) == 0 {
		return nil
	}
	some, err := agents.FilterTools(d.tools, s.Tools, s.Deny)
	if err != nil {
		return d.opt.Config.Errorf("agents."+s.Name, "%v", err)
	}
	o.Whole = d.catalogue
	o.Catalogue, err = tools.NewCatalogue(some...)
	return err
}

// memberPrompt gives an agent its persona: SOUL.md, USER.md and MEMORY.md in a separate folder.
// Without its own USER.md it uses the shared one.
func (d *App) memberPrompt(o *turn.Options, m *agents.Member, s config.Member) error {
	p := d.opt.Paths
	own := [3]string{p.SoulFile(), p.UserFile(), p.MemoryFile()}
	name := d.opt.Config.Agent.Name
	if s.Name != agents.Default {
		dir := p.AgentDir(s.Name)
		own = [3]string{filepath.Join(dir, "SOUL.md"), filepath.Join(dir, "USER.md"), filepath.Join(dir, "MEMORY.md")}
		if fi, err := os.Stat(own[1]); err != nil || fi.Size() == 0 {
			own[1] = p.UserFile()
		}
		name = strings.ToUpper(s.Name[:1]) + s.Name[1:]
	}
	own[0] = cmp.Or(s.Soul, own[0])
	texts, err := prompt.OpenOwnTexts(own[0], own[1], own[2], d.opt.Log)
	if err != nil {
		return d.opt.Config.Errorf("agents."+s.Name, "%v", err)
	}
	build := func(c *tools.Catalogue) (*prompt.Builder, error) {
		po := d.promptOptions(texts)
		po.Name, po.Catalogue = name, c
		if m.Isolated { // it does not see the projects outside
			po.Projects = nil
		}
		return prompt.New(po)
	}
	m.Prompt = build
	if s.Name == agents.Default && s.Soul == "" && o.Catalogue == d.catalogue {
		return nil // it has the existing one
	}
	o.Prompt, err = build(o.Catalogue)
	return err
}

// delegations gives the crew, which is made later, to the tools.
type delegations struct{ d *App }

// BeginTx implements the tools' Engine.
func (e delegations) BeginTx(ctx context.Context, tx *store.Tx, c tools.Call, tasks []toolscrew.Task) error {
	wishes := make([]agents.TaskRequest, len(tasks))
	for i, t := range tasks {
		wishes[i] = agents.TaskRequest(t)
	}
	return e.d.crew.BeginTx(ctx, tx, c, wishes)
}

// OutcomeTx implements the tools' Engine.
func (e delegations) OutcomeTx(ctx context.Context, tx *store.Tx, c tools.Call) (tools.Outcome, error) {
	return e.d.crew.OutcomeTx(ctx, tx, c)
}

// ReadTx implements the tools' Engine.
func (e delegations) ReadTx(ctx context.Context, tx *store.Tx, c tools.Call, task string, offset int) (tools.Result, error) {
	return e.d.crew.ReadTx(ctx, tx, c, task, offset)
}

// StatusTx implements the tools' Engine.
func (e delegations) StatusTx(ctx context.Context, tx *store.Tx, c tools.Call, task string) (tools.Result, error) {
	return e.d.crew.StatusTx(ctx, tx, c, task)
}

// StopTx implements the tools' Engine.
func (e delegations) StopTx(ctx context.Context, tx *store.Tx, c tools.Call, task string) (tools.Result, error) {
	return e.d.crew.StopTx(ctx, tx, c, task)
}

// memberModels gives an agent separate models if its section names some.
func (d *App) memberModels(o *turn.Options, s config.Member) error {
	m, err := d.models.AddAgent(s)
	if err == nil && m != nil {
		o.Model = m.Choose
	}
	return err
}
