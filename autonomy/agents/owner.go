package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/platform/store"
)

// ErrNobody is returned if no agent is assigned to a conversation.
var ErrNobody = errors.New("no agent is assigned to this conversation; add a [[routes]] entry for it, set crew.default, or choose one with /agent NAME")

// ErrUnknown is returned if an agent does not exist.
var ErrUnknown = errors.New("agent not found")

// sessionOwner is the agent of a conversation.
type sessionOwner struct {
	agent  string // agent that owns the current window
	chosen string // chosen with /agent; "" means that the routes decide
	since  string // event in which the choice was made; earlier events keep the former agent
	before string
}

// Migrations returns the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "crew", Steps: []string{`
CREATE TABLE crew_sessions (
	session TEXT PRIMARY KEY, agent TEXT NOT NULL,
	chosen TEXT NOT NULL, since TEXT NOT NULL, before TEXT NOT NULL) WITHOUT ROWID;
` + taskTable}}
}

// loadOwners loads the owners once, and again after another process wrote something. Only conversations that have ever had an agent other than the
// default one have rows.
func (c *Registry) loadOwners(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners != nil && !c.stale {
		return nil
	}
	c.stale = false
	rows, err := c.o.Store.Read().QueryContext(ctx, `SELECT session, agent, chosen, since, before FROM crew_sessions`)
	if err != nil {
		return fmt.Errorf("agents: read chosen agents: %w", err)
	}
	defer rows.Close()
	all := map[string]sessionOwner{}
	for rows.Next() {
		var session string
		var o sessionOwner
		if err := rows.Scan(&session, &o.agent, &o.chosen, &o.since, &o.before); err != nil {
			return fmt.Errorf("agents: read chosen agents: %w", err)
		}
		all[session] = o
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("agents: read chosen agents: %w", err)
	}
	c.owners = all
	return nil
}

func (c *Registry) ownerOf(session string) sessionOwner {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[session]
	if o.agent == "" {
		o.agent = Default
	}
	return o
}

// SelectAgent returns the agent that answers an event, and assigns the conversation to that agent.
// It returns ErrNobody if no route matches and there is no default agent.
func (c *Registry) SelectAgent(ctx context.Context, event string, at MessageOrigin) (Member, error) {
	if err := c.loadOwners(ctx); err != nil {
		return Member{}, err
	}
	m, err := c.responsibleAgent(event, at)
	if err != nil || c.ownerOf(at.Session).agent == m.Name {
		return m, err
	}
	return m, c.handOver(ctx, at.Session, m.Name)
}

// CurrentAgent is like SelectAgent, but does not assign the conversation. It is for read-only
// callers.
func (c *Registry) CurrentAgent(ctx context.Context, at MessageOrigin) (Member, error) {
	if err := c.loadOwners(ctx); err != nil {
		return Member{}, err
	}
	return c.responsibleAgent("~", at) // "~" sorts after the ids of all events
}

func (c *Registry) responsibleAgent(event string, at MessageOrigin) (Member, error) {
	o := c.ownerOf(at.Session)
	name := o.chosen
	if event < o.since { // ids sort by time
		name = o.before
	}
	if m, ok := c.members[name]; ok {
		return m, nil
	}
	if name != "" {
		c.o.Log.Warn("chosen agent no longer exists; using the routes", "session", at.Session, "agent", name)
	}
	name, ok := selectRoute(c.o.Routes, at)
	if !ok {
		name = c.o.Otherwise
	}
	m, ok := c.members[name]
	if !ok {
		return Member{}, ErrNobody
	}
	return m, nil
}

// handOver assigns a conversation to another agent and resets its window.
func (c *Registry) handOver(ctx context.Context, session, name string) error {
	c.o.Sessions.End(ctx, session)
	err := c.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := c.o.Sessions.ResetTx(tx, session); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO crew_sessions (session, agent, chosen, since, before) VALUES (?, ?, '', '', '')
			ON CONFLICT (session) DO UPDATE SET agent = excluded.agent`, session, name)
		c.rememberTx(tx, session, func(o *sessionOwner) { o.agent = name })
		return err
	})
	if err != nil {
		return fmt.Errorf("agents: change agent: %w", err)
	}
	c.o.Log.Info("conversation assigned to another agent", "session", session, "agent", name)
	return nil
}

// rememberTx updates the cached owner when the change is durable.
func (c *Registry) rememberTx(tx *store.Tx, session string, change func(*sessionOwner)) {
	tx.AfterCommit(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		o := c.owners[session]
		if o.agent == "" {
			o.agent = Default
		}
		change(&o)
		c.owners[session] = o
	})
}

// Choose assigns the agent called name to a conversation, starting with the given event. If name is
// empty, the routes decide again.
func (c *Registry) Choose(ctx context.Context, event, session, name string) error {
	if _, ok := c.members[name]; !ok && name != "" {
		return fmt.Errorf("%w: %q; choose one of %s", ErrUnknown, name, strings.Join(c.agentNames(), ", "))
	}
	if err := c.loadOwners(ctx); err != nil {
		return err
	}
	err := c.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO crew_sessions (session, agent, chosen, since, before) VALUES (?, ?, ?, ?, '')
			ON CONFLICT (session) DO UPDATE SET before = crew_sessions.chosen, chosen = excluded.chosen, since = excluded.since`, session, Default, name, event)
		c.rememberTx(tx, session, func(o *sessionOwner) { o.before, o.chosen, o.since = o.chosen, name, event })
		return err
	})
	if err != nil {
		return fmt.Errorf("agents: store chosen agent: %w", err)
	}
	return nil
}

func (c *Registry) agentNames() []string {
	var out []string
	for _, m := range c.Members() {
		out = append(out, m.Name)
	}
	return out
}
