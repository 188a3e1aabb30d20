package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/session"
	"hob/autonomy/turn"
	"hob/autonomy/turn/prompt"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/tools"
)

// Default is the name of the agent that always exists.
const Default = "hob"

// Member is one agent.
type Member struct {
	Name   string
	About  string
	Runner *turn.Runner
	// Options are the agent's turn options. Sub-agents get restricted copies.
	Options turn.Options
	// Prompt creates the prompt builder for a reduced set of tools.
	Prompt func(*tools.Catalog) (*prompt.Builder, error)
	// Delegates lists the agents to which this agent may delegate tasks, in addition to itself;
	// "*" means all.
	Delegates []string
	// Isolated reports whether the agent's file tools run in a container. An isolated agent may
	// delegate only to isolated agents.
	Isolated bool
	// Refused returns why the agent cannot work now, for example because its container engine is
	// stopped, or nil if it can.
	Refused func(ctx context.Context) error
}

// Options holds the settings of a Registry. Store, Bus, Guard and Sessions are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Members must include the agent called Default. If Members is empty, OpenMembers creates the
	// agents.
	Members []Member
	Routes  []Route
	// Otherwise is the agent to use if no route matches; "" means none.
	Otherwise string
	// Parallel is the number of concurrent tasks per call (default 3).
	Parallel int
	// Depth is the maximum depth of delegation (default 1).
	Depth int
	// Timeout is how long a turn waits for its tasks (default 10 minutes). Longest is the time
	// limit of background tasks (default 2 hours).
	Timeout time.Duration
	Longest time.Duration
	Log     *slog.Logger
}

// Registry holds the agents, their routes, and the delegated tasks. Its methods may be called
// concurrently.
type Registry struct {
	o       Options
	members map[string]Member
	due     bus.DueSource // when the next background task exceeds its time limit

	mu      sync.Mutex
	owners  map[string]sessionOwner // keyed by session; nil until loadOwners has loaded it
	stale   bool                    // whether another process may have changed the owners
	running map[string]func(error)
}

// New returns a Registry after checking the options.
func New(o Options) (*Registry, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil {
		return nil, errors.New("agents: Options needs Store, Bus, Guard and Sessions")
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
	c := &Registry{o: o, members: map[string]Member{}, running: map[string]func(error){}}
	c.due.FollowOthers(o.Bus.Lease, o.Bus.Inbox, "crew_tasks")
	o.Bus.Lease.Follow(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stale = true
	}, "crew_sessions")
	if len(o.Members) == 0 {
		return c, nil
	}
	return c, c.setMembers(o.Members, o.Routes)
}

// setMembers checks and adds the agents and their routes.
func (c *Registry) setMembers(members []Member, routes []Route) error {
	for _, m := range members {
		if m.Runner == nil {
			return fmt.Errorf("agents: agent %q has not been created", m.Name)
		}
		if m.Refused == nil {
			m.Refused = func(context.Context) error { return nil }
		}
		c.members[m.Name] = m
	}
	if _, ok := c.members[Default]; !ok {
		return fmt.Errorf("agents: agent %q not found", Default)
	}
	for _, r := range routes {
		if _, ok := c.members[r.Agent]; !ok {
			return fmt.Errorf("agents: a route names the unknown agent %q", r.Agent)
		}
	}
	c.o.Members, c.o.Routes = members, routes
	return nil
}

// Main returns the runner of the default agent.
func (c *Registry) Main() *turn.Runner { return c.members[Default].Runner }

// Named returns the agent called name.
func (c *Registry) Named(name string) (Member, bool) {
	m, ok := c.members[name]
	return m, ok
}

// Members lists the agents: first the default one, then the others sorted by name.
func (c *Registry) Members() []Member {
	out := make([]Member, 0, len(c.members))
	for _, m := range c.members {
		out = append(out, m)
	}
	sorting.ByFunc(out, func(a, b Member) int {
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

// Routes lists the routes in configuration order.
func (c *Registry) Routes() []Route { return slices.Clone(c.o.Routes) }

// mayDelegateTo reports whether m may delegate tasks to the agent called to.
func (m Member) mayDelegateTo(to string) bool {
	return to == m.Name || slices.Contains(m.Delegates, to) || slices.Contains(m.Delegates, "*")
}
