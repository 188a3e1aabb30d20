package tools

import (
	"context"
	"time"

	"hob/platform/store"
)

// Waiter is an own tool whose work continues after its call: CallTx starts it (its result is
// ignored), and OutcomeTx returns the outcome. Both run in the transaction that records the call;
// OutcomeTx runs immediately after CallTx and again whenever the turn resumes. Until the work is
// done, the turn is suspended in the database and occupies no worker. The code that finishes the
// work resumes the turn's event.
type Waiter interface {
	TxTool
	OutcomeTx(ctx context.Context, tx *store.Tx, c Call) (Outcome, error)
}

// Outcome is the outcome of a Waiter's call.
type Outcome struct {
	Done bool
	// Until is the latest time of the next check while the work is not done.
	Until  time.Time
	Result Result
	// Err is the failure of finished work.
	Err error
	// Stopped is true if the owner stopped the turn, which then ends without an answer.
	Stopped bool
	// Rounds and Tokens are added to those of the turn.
	Rounds, Tokens int
}
