// Package usage keeps the books on model calls. Every call that a provider may
// charge for is one row: when, which model, for whom and what for, how many
// tokens, what it cost. A Books also stands in front of each call: it checks the
// owner's caps with what the call may cost at most, reserves that much, and
// settles when the call has ended, so that conversations which run side by side
// cannot overrun a cap together.
//
// A row costs no commit of its own. It waits in memory for the next transaction
// of a turn, which stores it along with the step that the call paid for; what
// no transaction takes within a second is stored by Run. So a crash loses the
// rows of calls whose answers it loses as well, and at most a second of others.
//
// It chooses no model, and asks none. The daemon wraps its models with Meter;
// the loop and the agent hand in their transactions.
package usage

import (
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge/store"
)

// Call is one model call.
type Call struct {
	ID       string
	At       time.Time
	Provider string
	Model    string
	Account  llm.Account
	// Usage is what the provider counted, or with Known false an estimate.
	Usage llm.Usage
	// Cost is nil when no price is known, and 0 for models on this machine.
	Cost *Micros
	// Counted is what the call takes from the caps: Cost, or without a price
	// what a dear model would have cost.
	Counted Micros
	// Outcome is "ok", or the kind of the error.
	Outcome string
	Local   bool
}

// Migrations of the package's table. Money is in millionths of a US dollar.
func Migrations() store.Set {
	return store.Set{Owner: "usage", Steps: []string{`
CREATE TABLE model_calls (
	id TEXT PRIMARY KEY, at INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
	agent TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, purpose TEXT NOT NULL, outcome TEXT NOT NULL,
	input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, known INTEGER NOT NULL,
	cost INTEGER, counted INTEGER NOT NULL, local INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX model_calls_time ON model_calls(at);
CREATE INDEX model_calls_event ON model_calls(event);
`}}
}

// insert stores a row; a row that is there already stays.
func (c *Call) insert(tx *store.Tx) error {
	_, err := tx.Exec(`INSERT INTO model_calls (id, at, provider, model, agent, session, event, purpose, outcome, input, output, cache_read, cache_write, known, cost, counted, local)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`,
		c.ID, store.Millis(c.At), c.Provider, c.Model, c.Account.Agent, c.Account.Session, c.Account.Event, string(c.Account.Purpose), c.Outcome,
		c.Usage.Input, c.Usage.Output, c.Usage.CacheRead, c.Usage.CacheWrite, c.Usage.Known, c.Cost, int64(c.Counted), c.Local)
	if err != nil {
		return fmt.Errorf("usage: store a model call: %w", err)
	}
	return nil
}

// tokens is what a call takes from a cap on tokens.
func (c *Call) tokens() int {
	if c.Local {
		return 0
	}
	return c.Usage.Input + c.Usage.Output
}

// name is "provider/model".
func (c *Call) name() string { return llm.Info{Provider: c.Provider, Model: c.Model}.Name() }
