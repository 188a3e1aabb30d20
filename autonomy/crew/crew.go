package crew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/autonomy/agent"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/prompt"
	"hob/autonomy/session"
	"hob/knowledge/store"
	"hob/tools"
)

// Default is the name of the agent that is always there.
const Default = "hob"

// Member is one agent.
type Member struct {
	Name  string
	About string
	Agent *agent.Agent
	// Options are what Agent was made of: sub-agents get narrower copies.
	Options agent.Options
	// Prompt makes the builder of requests of one with fewer tools.
	Prompt func(*tools.Catalogue) (*prompt.Builder, error)
	// Delegates are the agents to which it may hand tasks beside itself; "*"
	// stands for all.
	Delegates []string
	// Isolated: its tools for files run in a container. It may hand tasks only to
	// agents that are kept apart as well.
	Isolated bool
	// Refused says why the agent cannot work now, such as a container engine
	// that does not run; nil when it can.
	Refused func(ctx context.Context) error
}

// Options of New. Store, Bus, Guard, Sessions and Members are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Members, of which the one named Default must be one.
	Members []Member
	Routes  []Route
	// Otherwise is who answers where no route fits; "" is nobody.
	Otherwise string
	// Parallel is how many tasks of one call run at a time (default 3).
	Parallel int
	// Depth is how deep tasks may be handed on (default 1).
	Depth int
	// Timeout is how long a turn waits for its tasks (default 10 minutes), Longest
	// how long one may take for which nobody waits (default 2 hours).
	Timeout time.Duration
	Longest time.Duration
	Log     *slog.Logger
}

// Crew is the agents, who answers where, and the tasks among them. Its methods
// may be called concurrently.
type Crew struct {
	o       Options
	members map[string]Member

	mu      sync.Mutex
	owners  map[string]owner // by session; nil until they were read
	running map[string]func(error)
	next    time.Time // when the next task in the background takes too long
	looked  bool      // next has been read
}

// New checks the options.
func New(o Options) (*Crew, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil {
		return nil, errors.New("crew: an option is missing")
	}
	if o.Parallel <= 0 {
		o.Parallel = 3
	}
	if o.Depth <= 0 {
		o.Depth = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Longest <= 0 {
		o.Longest = 2 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Crew{o: o, members: map[string]Member{}, running: map[string]func(error){}}
	for _, m := range o.Members {
		if m.Agent == nil {
			return nil, fmt.Errorf("crew: agent %q is not made", m.Name)
		}
		if m.Refused == nil {
			m.Refused = func(context.Context) error { return nil }
		}
		c.members[m.Name] = m
	}
	if _, ok := c.members[Default]; !ok {
		return nil, fmt.Errorf("crew: there is no agent %q", Default)
	}
	for _, r := range o.Routes {
		if _, ok := c.members[r.Agent]; !ok {
			return nil, fmt.Errorf("crew: a route names the agent %q, which is not there", r.Agent)
		}
	}
	return c, nil
}

// Named finds an agent.
func (c *Crew) Named(name string) (Member, bool) {
	m, ok := c.members[name]
	return m, ok
}

// Members lists the agents, the default one first, then by name.
func (c *Crew) Members() []Member {
	out := make([]Member, 0, len(c.members))
	for _, m := range c.members {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int {
		switch {
		case a.Name == Default:
			return -1
		case b.Name == Default:
			return 1
		case a.Name < b.Name:
			return -1
		}
		return 1
	})
	return out
}

// Routes lists the routes in the order of the configuration.
func (c *Crew) Routes() []Route { return slices.Clone(c.o.Routes) }

// mayHand reports whether an agent may hand tasks to another one.
func (m Member) mayHand(to string) bool {
	return to == m.Name || slices.Contains(m.Delegates, to) || slices.Contains(m.Delegates, "*")
}
