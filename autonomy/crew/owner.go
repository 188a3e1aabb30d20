package crew

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/knowledge/store"
)

// ErrNobody says that no agent answers in a conversation.
var ErrNobody = errors.New("no agent is responsible for this conversation; add a [[routes]] entry for it, set crew.default, or choose one with /agent NAME")

// ErrUnknown says that there is no such agent.
var ErrUnknown = errors.New("there is no such agent")

// owner is to whom a conversation belongs.
type owner struct {
	agent  string // whose window it is
	chosen string // by /agent; "" leaves it to the routes
	since  string // the event of that choice; what was taken before goes by before
	before string
}

// Migrations of the package's tables.
func Migrations() store.Set {
	return store.Set{Owner: "crew", Steps: []string{`
CREATE TABLE crew_sessions (
	session TEXT PRIMARY KEY, agent TEXT NOT NULL,
	chosen TEXT NOT NULL, since TEXT NOT NULL, before TEXT NOT NULL) WITHOUT ROWID;
` + taskTable}}
}

// load reads the owners once. There are rows only for conversations in which
// another agent than the default one has ever been.
func (c *Crew) load(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners != nil {
		return nil
	}
	rows, err := c.o.Store.Read().QueryContext(ctx, `SELECT session, agent, chosen, since, before FROM crew_sessions`)
	if err != nil {
		return fmt.Errorf("crew: %w", err)
	}
	defer rows.Close()
	all := map[string]owner{}
	for rows.Next() {
		var session string
		var o owner
		if err := rows.Scan(&session, &o.agent, &o.chosen, &o.since, &o.before); err != nil {
			return fmt.Errorf("crew: %w", err)
		}
		all[session] = o
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("crew: %w", err)
	}
	c.owners = all
	return nil
}

func (c *Crew) ownerOf(session string) owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[session]
	if o.agent == "" {
		o.agent = Default
	}
	return o
}

// Pick returns the agent that answers an event in its conversation, and gives
// it the conversation when it was another one's. It is ErrNobody when no route
// fits and there is no default.
func (c *Crew) Pick(ctx context.Context, event string, at Place) (Member, error) {
	if err := c.load(ctx); err != nil {
		return Member{}, err
	}
	m, err := c.responsible(event, at)
	if err != nil || c.ownerOf(at.Session).agent == m.Name {
		return m, err
	}
	return m, c.handOver(ctx, at.Session, m.Name)
}

// Whose is Pick without a change, for those who only ask.
func (c *Crew) Whose(ctx context.Context, at Place) (Member, error) {
	if err := c.load(ctx); err != nil {
		return Member{}, err
	}
	return c.responsible("~", at) // after every event
}

func (c *Crew) responsible(event string, at Place) (Member, error) {
	o := c.ownerOf(at.Session)
	name := o.chosen
	if event < o.since { // ids sort by time
		name = o.before
	}
	if m, ok := c.members[name]; ok {
		return m, nil
	}
	if name != "" {
		c.o.Log.Warn("the agent chosen for a conversation is not there any more; the routes decide", "session", at.Session, "agent", name)
	}
	name, ok := routed(c.o.Routes, at)
	if !ok {
		name = c.o.Otherwise
	}
	m, ok := c.members[name]
	if !ok {
		return Member{}, ErrNobody
	}
	return m, nil
}

// handOver gives a conversation to another agent: its window begins afresh.
func (c *Crew) handOver(ctx context.Context, session, name string) error {
	err := c.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := c.o.Sessions.ResetTx(tx, session); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO crew_sessions (session, agent, chosen, since, before) VALUES (?, ?, '', '', '')
			ON CONFLICT (session) DO UPDATE SET agent = excluded.agent`, session, name)
		c.rememberTx(tx, session, func(o *owner) { o.agent = name })
		return err
	})
	if err != nil {
		return fmt.Errorf("crew: hand over: %w", err)
	}
	c.o.Log.Info("a conversation changed its agent", "session", session, "agent", name)
	return nil
}

// rememberTx changes what is known of a conversation once that is durable.
func (c *Crew) rememberTx(tx *store.Tx, session string, change func(*owner)) {
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

// Choose lets the named agent answer in a conversation from the event on; ""
// leaves it to the routes again.
func (c *Crew) Choose(ctx context.Context, event, session, name string) error {
	if _, ok := c.members[name]; !ok && name != "" {
		return fmt.Errorf("%w: %q; the agents are %s", ErrUnknown, name, strings.Join(c.names(), ", "))
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	err := c.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO crew_sessions (session, agent, chosen, since, before) VALUES (?, ?, ?, ?, '')
			ON CONFLICT (session) DO UPDATE SET before = chosen, chosen = excluded.chosen, since = excluded.since`, session, Default, name, event)
		c.rememberTx(tx, session, func(o *owner) { o.before, o.chosen, o.since = o.chosen, name, event })
		return err
	})
	if err != nil {
		return fmt.Errorf("crew: choose: %w", err)
	}
	return nil
}

func (c *Crew) names() []string {
	var out []string
	for _, m := range c.Members() {
		out = append(out, m.Name)
	}
	return out
}
