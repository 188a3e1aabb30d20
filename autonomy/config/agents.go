package config

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"
)

// DefaultAgent is the agent that always exists. [agents.hob] may restrict it.
const DefaultAgent = "hob"

// Member is one [agents.NAME] section: an additional agent, or changes to the default agent. Zero
// values inherit from [agent].
type Member struct {
	Name             string          `toml:"-"`
	About            string          `toml:"about"`
	Soul             string          `toml:"soul"` // path; "" means agents/NAME/SOUL.md in Hob's home
	Model            string          `toml:"model"`
	Fallback         []string        `toml:"fallback"`
	Tools            []string        `toml:"tools"` // empty means all tools
	Deny             []string        `toml:"deny"`
	Realm            string          `toml:"realm"` // "" means the agent's name
	Delegates        []string        `toml:"delegates"`
	BudgetShare      float64         `toml:"budget_share"` // share of [budget]; 0 means no limit
	MaxRounds        int             `toml:"max_rounds"`
	MaxTokensPerTurn int             `toml:"max_tokens_per_turn"`
	MaxToolFailures  int             `toml:"max_tool_failures"`
	Level            Level           `toml:"level"`     // "" means the level in [autonomy]
	Isolation        string          `toml:"isolation"` // "", "none" or "container"
	Roles            []string        `toml:"roles"`     // facts of policy rules
	Container        ContainerConfig `toml:"container"`
}

// ContainerConfig is the [agents.NAME.container] section.
type ContainerConfig struct {
	Engine    string   `toml:"engine"` // "auto" or a program
	Image     string   `toml:"image"`
	Program   string   `toml:"program"`   // absolute path; "" means the running program
	Workspace string   `toml:"workspace"` // absolute path
	Memory    string   `toml:"memory"`
	CPUs      float64  `toml:"cpus"`
	PIDs      int      `toml:"pids"`
	Network   bool     `toml:"network"`
	Timeout   Duration `toml:"timeout"`
}

// Route is one [[routes]] entry, which assigns conversations to an agent. All fields that are set
// must match.
type Route struct {
	Agent   string `toml:"agent"`
	Chat    string `toml:"chat"`    // "telegram:42" (a channel and a chat id on it), or a session
	Name    string `toml:"name"`    // a pattern for the chat's name
	Server  string `toml:"server"`  // id of a server or workspace
	Channel string `toml:"channel"` // name of a channel
}

// Crew is the [crew] section.
type Crew struct {
	Default  string   `toml:"default"` // name of an agent, or "" for none
	Parallel int      `toml:"parallel"`
	Depth    int      `toml:"depth"`
	Timeout  Duration `toml:"timeout"`
	// BackgroundTimeout is the time limit for an unattended task.
	BackgroundTimeout Duration `toml:"background_timeout"`
}

// Member returns the section of the agent called name.
func (c *Config) Member(name string) (Member, bool) {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return c.Members[i], true
}

// AgentNames lists all agents, the default one first.
func (c *Config) AgentNames() []string {
	names := []string{DefaultAgent}
	for _, m := range c.Members {
		if m.Name != DefaultAgent {
			names = append(names, m.Name)
		}
	}
	return names
}

func (k *checker) checkCrew() {
	c := k.c.Crew
	k.requireBetween("crew.parallel", c.Parallel, 1, 16)
	k.requireBetween("crew.depth", c.Depth, 1, 2)
	k.requireValid("crew.timeout", c.Timeout.Duration >= time.Second && c.Timeout.Duration <= 24*time.Hour, `must be between "1s" and "24h"`)
	k.requireValid("crew.background_timeout", c.BackgroundTimeout.Duration >= time.Minute && c.BackgroundTimeout.Duration <= 168*time.Hour, `must be between "1m" and "168h"`)
	if c.Default != "" {
		k.agentName("crew.default", c.Default)
	}
	for i := range k.c.Members {
		k.checkMember(&k.c.Members[i])
	}
	for i, r := range k.c.Routes {
		k.checkRoute(i, r)
	}
}

// agentName reports a mistake at key unless the agent called name exists.
func (k *checker) agentName(key, name string) {
	if msg := k.unknownAgent(name); msg != "" {
		k.requireValid(key, false, "%s", msg)
	}
}

func (k *checker) unknownAgent(name string) string {
	names := k.c.AgentNames()
	if slices.Contains(names, name) {
		return ""
	}
	msg := "there is no [agents." + name + "]; the agents are " + strings.Join(names, ", ")
	if near := nearestName(name, names); near != "" {
		msg = "there is no [agents." + name + "]; did you mean " + quoteString(near) + "?"
	}
	return msg
}

// isNarrower reports whether l allows no more than the level than.
func (l Level) isNarrower(than Level) bool {
	order := []Level{Watch, Supervised, Trusted}
	return slices.Index(order, l) <= slices.Index(order, than)
}

func (k *checker) checkMember(m *Member) {
	key := "agents." + m.Name
	k.requireValid(key, validAgent.MatchString(m.Name), "an agent's name may contain only lower-case letters, digits, - and _, must begin with a letter, and may be at most 32 characters long")
	k.requireValid(key+".model", m.Model == "" || m.Model == "auto" || k.modelName(m.Model), `must be "", "auto", "offline", "provider/model" or the name of a provider`)
	k.checkFallback(key+".fallback", m.Fallback)
	k.requireValid(key+".realm", m.Realm == "" || validAgent.MatchString(m.Realm), "must follow the rules for an agent's name")
	for _, d := range m.Delegates {
		if d != "*" {
			k.agentName(key+".delegates", d)
		}
	}
	k.requireValid(key+".budget_share", m.BudgetShare >= 0 && m.BudgetShare <= 1, "must be between 0 and 1: a quarter of the budget is 0.25")
	k.requireBetween(key+".max_rounds", m.MaxRounds, 0, 100)
	k.requireBetween(key+".max_tool_failures", m.MaxToolFailures, 0, 20)
	k.requireValid(key+".max_tokens_per_turn", m.MaxTokensPerTurn == 0 || (m.MaxTokensPerTurn >= 256 && m.MaxTokensPerTurn <= 1_000_000), "must be between 256 and 1000000, or 0 to use the value of [agent]")
	if m.Level != "" {
		k.oneOf(key+".level", string(m.Level), string(Watch), string(Supervised), string(Trusted))
		k.requireValid(key+".level", m.Level.isNarrower(k.c.Autonomy.Level), "an agent's level must not allow more than [autonomy] level = %q", k.c.Autonomy.Level)
	}
	for _, list := range [][]string{m.Tools, m.Deny} {
		for _, p := range list {
			_, err := path.Match(p, "")
			k.requireValid(key, err == nil && strings.TrimSpace(p) != "", `%q is not a pattern; write a tool's name, "read_*", or "category:files"`, p)
		}
	}
	if m.Soul != "" {
		if paths := k.expandFolders(key+".soul", []string{m.Soul}); len(paths) > 0 {
			m.Soul = paths[0]
		}
	}
	k.checkContainer(key, m)
}

func (k *checker) checkContainer(key string, m *Member) {
	k.oneOf(key+".isolation", m.Isolation, "", "none", "container")
	b := &m.Container
	key += ".container"
	k.requireValid(key+".memory", b.Memory == "" || validSize.MatchString(b.Memory), `must be a size such as "256m" or "1g"`)
	k.requireValid(key+".cpus", b.CPUs >= 0 && b.CPUs <= 64, "must be between 0 and 64; 0 means 1")
	k.requireValid(key+".pids", b.PIDs >= 0 && b.PIDs <= 4096, "must be between 0 and 4096; 0 means 64")
	k.requireValid(key+".timeout", b.Timeout.Duration >= 0 && b.Timeout.Duration <= time.Hour, `must be between "0s" and "1h"; "0s" means two minutes`)
	if b.Program != "" {
		if paths := k.expandFolders(key+".program", []string{b.Program}); len(paths) > 0 {
			b.Program = paths[0]
		}
	}
	if b.Workspace != "" {
		if paths := k.expandFolders(key+".workspace", []string{b.Workspace}); len(paths) > 0 {
			b.Workspace = paths[0]
		}
	}
}

func (k *checker) checkRoute(i int, r Route) {
	bad := func(key, format string, args ...any) {
		k.errs = append(k.errs, k.c.RouteErrorf(i, key, format, args...))
	}
	if r.Agent == "" {
		bad("", "the route has no agent; set agent = %q", DefaultAgent)
	} else if msg := k.unknownAgent(r.Agent); msg != "" {
		bad("agent", "%s", msg)
	}
	if r.Chat == "" && r.Name == "" && r.Server == "" && r.Channel == "" {
		bad("", "the route has no condition; set chat, name, server or channel, or set crew.default for all other conversations")
	}
	if _, err := path.Match(r.Name, ""); err != nil {
		bad("name", `must be a pattern such as "work-*"`)
	}
}

// RouteErrorf returns an error about a key of the ith route, with its line. An empty key means the
// route itself.
func (c *Config) RouteErrorf(i int, key, format string, args ...any) *Error {
	return c.nthErrorf("routes", i, key, format, args...)
}

// nthErrorf returns an error about a key of the ith [[section]].
func (c *Config) nthErrorf(section string, i int, key, format string, args ...any) *Error {
	e := c.Errorf(section, format, args...)
	if at := c.doc.findNth(section, i, key); at != nil {
		e.Line = at.line
		if !at.isHeader() {
			e.Msg = c.doc.formatValue(at) + e.Msg
		}
	}
	if key != "" {
		e.Key += "." + key
	}
	return e
}

// findNth finds a key of the ith [[section]], or its header.
func (d *document) findNth(section string, i int, key string) *entry {
	var header *entry
	path := splitKey(section)
	for j := range d.entries {
		e := &d.entries[j]
		switch {
		case (e.kind == unstable.ArrayTable || e.kind == unstable.Table) && slices.Equal(e.path, path):
			if i--; i < -1 {
				return header
			}
			if i == -1 {
				header = e
			}
		case header != nil && slices.Equal(e.path, append(slices.Clip(path), key)):
			return e
		}
	}
	return header
}
