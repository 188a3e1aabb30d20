package agents

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/turn"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/platform/host/system"
	"hob/tools"
)

// MemberOptions describes the configured agents. All fields are required.
type MemberOptions struct {
	Config *config.Config
	Paths  system.Paths
	// Turn holds the options for the default agent's turns. The options of other agents derive from
	// them.
	Turn turn.Options
	// Prompt holds the options for all prompts. Each agent has its own text files, name and
	// catalog.
	Prompt prompt.Options
	// Tools holds all tools.
	Tools  []tools.Tool
	Models *modelrouter.Models
	// Contain returns an agent's tools in its container and a check of the container, or nil if the
	// agent's section does not require a container.
	Contain func(s config.Member, all *tools.Catalog) (contained *tools.Catalog, check func(context.Context) error, err error)
	Log     *slog.Logger
}

// OpenMembers creates the default agent, the agents in [agents.NAME] and the routes. Call it once,
// before the first turn.
func (c *Registry) OpenMembers(o MemberOptions) error {
	var members []Member
	for _, name := range o.Config.AgentNames() {
		s, ok := o.Config.Member(name)
		if !ok {
			s.Name = name
		}
		m, err := o.newMember(s)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	var routes []Route
	for _, r := range o.Config.Routes {
		routes = append(routes, Route(r))
	}
	return c.setMembers(members, routes)
}

// newMember creates an agent from its section. Missing keys use the default agent's values.
func (o MemberOptions) newMember(s config.Member) (Member, error) {
	m := Member{Name: s.Name, About: s.About, Delegates: s.Delegates, Options: o.Turn}
	t := &m.Options
	t.Level = guard.Level(s.Level)
	t.Limits.Rounds = cmp.Or(s.MaxRounds, t.Limits.Rounds)
	t.Limits.Tokens = cmp.Or(s.MaxTokensPerTurn, t.Limits.Tokens)
	t.Limits.Failures = cmp.Or(s.MaxToolFailures, t.Limits.Failures)
	if s.Name == Default {
		t.Realm = s.Realm
		if len(s.Delegates) == 0 {
			m.Delegates = []string{"*"}
		}
	} else {
		t.Name, t.Realm = s.Name, cmp.Or(s.Realm, s.Name)
	}
	if err := o.selectTools(t, s); err != nil {
		return m, err
	}
	switch contained, check, err := o.Contain(s, t.Catalog); {
	case err != nil:
		return m, err
	case contained != nil: // the agent must never run outside its container
		t.Catalog, m.Isolated, m.Refused = contained, true, check
	}
	if err := o.openPrompt(&m, s); err != nil {
		return m, err
	}
	models, err := o.Models.AddAgent(s)
	if err != nil {
		return m, err
	}
	if models != nil {
		t.Models = models
	}
	m.Runner, err = turn.New(*t)
	return m, err
}

func (o MemberOptions) selectTools(t *turn.Options, s config.Member) error {
	if len(s.Tools) == 0 && len(s.Deny) == 0 {
		return nil
	}
	some, err := FilterTools(o.Tools, s.Tools, s.Deny)
	if err != nil {
		return o.Config.Errorf("agents."+s.Name, "%v", err)
	}
	t.Whole = o.Turn.Catalog
	t.Catalog, err = o.Turn.Catalog.Following(func(spec *tools.Spec) bool { return isAllowedTool(spec, s.Tools, s.Deny) }, some...)
	return err
}

// openPrompt creates an agent's prompt builder from SOUL.md, USER.md and MEMORY.md in a separate
// folder. If that folder has no USER.md, the agent uses the shared one.
func (o MemberOptions) openPrompt(m *Member, s config.Member) error {
	paths := [3]string{o.Paths.SoulFile(), o.Paths.UserFile(), o.Paths.MemoryFile()}
	name := o.Config.Agent.Name
	if s.Name != Default {
		dir := o.Paths.AgentDir(s.Name)
		paths = [3]string{filepath.Join(dir, "SOUL.md"), filepath.Join(dir, "USER.md"), filepath.Join(dir, "MEMORY.md")}
		if fi, err := os.Stat(paths[1]); err != nil || fi.Size() == 0 {
			paths[1] = o.Paths.UserFile()
		}
		name = strings.ToUpper(s.Name[:1]) + s.Name[1:]
	}
	paths[0] = cmp.Or(s.Soul, paths[0])
	texts, err := prompt.OpenOwnTexts(paths[0], paths[1], paths[2], o.Log)
	if err != nil {
		return o.Config.Errorf("agents."+s.Name, "%v", err)
	}
	isolated := m.Isolated
	m.Prompt = func(c *tools.Catalog) (*prompt.Builder, error) {
		po := o.Prompt
		po.Texts, po.Name, po.Catalog = texts.Current, name, c
		if isolated { // an isolated agent must not read projects outside its container
			po.Projects = nil
		}
		return prompt.New(po)
	}
	if s.Name == Default && s.Soul == "" && m.Options.Catalog == o.Turn.Catalog {
		return nil // the default agent keeps the existing prompt builder
	}
	m.Options.Prompt, err = m.Prompt(m.Options.Catalog)
	return err
}
