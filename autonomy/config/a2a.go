package config

import (
	"net/url"
	"slices"
)

// A2A is the section [a2a].
type A2A struct {
	Agents map[string]A2AAgent `toml:"agents"`
}

// A2AAgent is one [a2a.agents.NAME] section: another agent to which Hob can delegate tasks.
type A2AAgent struct {
	Name  string `toml:"-"`
	URL   string `toml:"url"`   // address below which the agent's card is found
	Token string `toml:"token"` // a reference to its bearer token, or the token itself; "" means none
}

// A2AAgent returns the agent called name.
func (c *Config) A2AAgent(name string) (A2AAgent, bool) {
	i := slices.IndexFunc(c.A2AAgents, func(g A2AAgent) bool { return g.Name == name })
	if i < 0 {
		return A2AAgent{}, false
	}
	return c.A2AAgents[i], true
}

func (c *Config) indexA2A() {
	for _, n := range c.doc.subsectionNames("a2a", "agents") {
		if g, ok := c.file.A2A.Agents[n]; ok {
			g.Name = n
			c.A2AAgents = append(c.A2AAgents, g)
		}
	}
}

// checkA2A checks the [a2a.agents.NAME] sections. An unreachable agent is reported when it is used.
func (k *checker) checkA2A() {
	for _, g := range k.c.A2AAgents {
		key := "a2a.agents." + g.Name
		k.checkName(key, g.Name)
		u, err := url.Parse(g.URL)
		k.requireValid(key+".url", err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "",
			`must be an address such as "https://agent.example.org", without a password or a query`)
	}
}
