// Package usage records model calls and enforces the budget. Each call that a provider may charge
// for is one row: time, model, session, purpose, tokens, cost. Before each call the Tracker checks
// the user's caps against the maximum cost of the call and reserves that amount. When the call has
// ended, the Tracker commits the actual cost. Concurrent conversations therefore cannot exceed a
// cap together.
//
// A row needs no separate commit. It waits in memory for the next transaction of a turn, which
// stores it with the step that the call paid for; Run stores rows that have waited for 1 s. A crash
// therefore loses the rows of calls whose answers are also lost, and at most 1 s of other rows.
//
// The package does not select or call models. The daemon wraps its models with Meter; the loop and
// the agent pass their transactions.
package usage

import (
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// Call is one model call.
type Call struct {
	ID       string
	At       time.Time
	Provider string
	Model    string
	Account  llm.Account
	// Usage is the provider's count, or an estimate if Known is false.
	Usage llm.Usage
	// Cost is nil if the price is unknown, and 0 for models on this machine.
	Cost *Micros
	// Counted is the amount that counts toward the caps: Cost, or an upper estimate if the price is
	// unknown.
	Counted Micros
	// Outcome is "ok" or the kind of error.
	Outcome string
	Local   bool
}

// Migrations returns the package's table. Amounts are in millionths of a US dollar.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "usage", Steps: []string{`
CREATE TABLE model_calls (
	id TEXT PRIMARY KEY, at INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
	agent TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, purpose TEXT NOT NULL, outcome TEXT NOT NULL,
	input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, known INTEGER NOT NULL,
	cost INTEGER, counted INTEGER NOT NULL, local INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX model_calls_time ON model_calls(at);
CREATE INDEX model_calls_event ON model_calls(event);
`, `
CREATE TABLE unattended_calls (at INTEGER NOT NULL);
`}}
}

// insertRow stores the row of a call; an existing row stays unchanged.
func (c *Call) insertRow(tx *store.Tx) error {
	_, err := tx.Exec(`INSERT INTO model_calls (id, at, provider, model, agent, session, event, purpose, outcome, input, output, cache_read, cache_write, known, cost, counted, local)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`,
		c.ID, store.Millis(c.At), c.Provider, c.Model, c.Account.Agent, c.Account.Session, c.Account.Event, string(c.Account.Purpose), c.Outcome,
		c.Usage.Input, c.Usage.Output, c.Usage.CacheRead, c.Usage.CacheWrite, c.Usage.Known, c.Cost, int64(c.Counted), c.Local)
	if err != nil {
		return fmt.Errorf("usage: store a model call: %w", err)
	}
	return nil
}

// countedTokens returns the tokens that count toward a token cap.
func (c *Call) countedTokens() int {
	if c.Local {
		return 0
	}
	return c.Usage.Input + c.Usage.Output
}

// modelName returns the model's name in the form "provider/model".
func (c *Call) modelName() string { return llm.Info{Provider: c.Provider, Model: c.Model}.Name() }
