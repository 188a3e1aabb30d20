package config

import (
	"errors"
	"strings"
	"testing"
)

func TestAgents(t *testing.T) {
	c, err := Parse("c.toml", []byte(`
[autonomy]
level = "supervised"
[agents.research]
about = "looks things up"
tools = ["category:web", "read_*"]
level = "watch"
[agents.hob]
max_rounds = 9
[agents.home]
isolation = "container"
[agents.home.container]
memory = "1g"
[[routes]]
chat = "telegram:42"
agent = "research"
[[routes]]
name = "work-*"
channel = "slack"
agent = "hob"
[crew]
depth = 2
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.AgentNames(), " "); got != "hob research home" {
		t.Errorf("agents: %s", got)
	}
	m, ok := c.Member("home")
	if !ok || m.Container.Memory != "1g" || m.Isolation != "container" {
		t.Errorf("home: %+v", m)
	}
	if len(c.Routes) != 2 || c.Routes[1] != (Route{Agent: "hob", Name: "work-*", Channel: "slack"}) || c.Crew.Default != "hob" || c.Crew.Depth != 2 {
		t.Errorf("routes: %+v, crew: %+v", c.Routes, c.Crew)
	}
}

func TestAgents_RejectsMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown agent in the second route", "[agents.a]\n[[routes]]\nchat = \"x\"\nagent = \"a\"\n[[routes]]\nchat = \"y\"\nagent = \"writer\"\n", `c.toml:7: routes.agent: "writer": there is no [agents.writer]; the agents are hob, a`},
		{"a slip of the pen", "[agents.research]\n[[routes]]\nchat = \"x\"\nagent = \"reserch\"\n", `c.toml:4: routes.agent: "reserch": there is no [agents.reserch]; did you mean "research"?`},
		{"a route without an agent", "[[routes]]\nchat = \"x\"\n", `c.toml:1: routes: the route has no agent`},
		{"a route that fits everything", "[[routes]]\nagent = \"hob\"\n", `c.toml:1: routes: the route has no condition`},
		{"a bad pattern", "[[routes]]\nagent = \"hob\"\nname = \"[\"\n", `c.toml:3: routes.name: "[": must be a pattern`},
		{"an unknown key of a route", "[[routes]]\nagent = \"hob\"\nchatt = \"x\"\n", `c.toml:3: routes.chatt: unknown key; did you mean "routes.chat"?`},
		{"a level that is wider", "[autonomy]\nlevel = \"watch\"\n[agents.a]\nlevel = \"trusted\"\n", `c.toml:4: agents.a.level: "trusted": an agent's level must not allow more than [autonomy] level = "watch"`},
		{"a name", "[agents.Big]\n", `c.toml:1: agents.Big: an agent's name may contain only lower-case letters`},
		{"delegates", "[agents.a]\ndelegates = [\"b\"]\n", `c.toml:2: agents.a.delegates: ["b"]: there is no [agents.b]`},
		{"isolation", "[agents.a]\nisolation = \"contaner\"\n", `did you mean "container"?`},
		{"memory", "[agents.a.container]\nmemory = \"lots\"\n", `c.toml:2: agents.a.container.memory: "lots": must be a size`},
		{"default", "[crew]\ndefault = \"x\"\n", `c.toml:2: crew.default: "x": there is no [agents.x]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("c.toml", []byte(tt.text))
			if errs, ok := errors.AsType[Errors](err); !ok || !strings.Contains(errs.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}
