package tools

import (
	"context"
	"time"

	"hob/platform/store"
)

// Waiter is an own tool whose work continues after the call. CallTx starts the work, and its result
// is ignored. OutcomeTx returns the outcome. Both run in the transaction that records the call:
// OutcomeTx runs immediately after CallTx and each time the turn resumes. Until the work is done,
// the turn is suspended in the database and occupies no worker. The code that finishes the work
// resumes the turn's event.
type Waiter interface {
	TxTool
	OutcomeTx(ctx context.Context, tx *store.Tx, c Call) (Outcome, error)
}

// Outcome is the outcome of a Waiter's call.
type Outcome struct {
	Done bool
	// Until is the latest time of the next check if the work is not done.
	Until  time.Time
	Result Result
	// Err is the error of work that failed.
	Err error
	// Stopped is true if the owner stopped the turn, which then ends without an answer.
	Stopped bool
	// Rounds and Tokens are added to the counts of the turn.
	Rounds, Tokens int
}
