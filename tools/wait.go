package tools

import (
	"context"
	"time"

	"hob/knowledge/store"
)

// Waiter is an own tool whose work continues after its call: CallTx starts it (its result
// is ignored), and OutcomeTx returns the outcome. Both run in the transaction that records
// the call, the second one at once and then whenever the turn resumes. Until it is done,
// the turn is suspended durably and occupies no worker; the code that finishes the work
// resumes the turn's event.
type Waiter interface {
	Own
	OutcomeTx(ctx context.Context, tx *store.Tx, c Call) (Outcome, error)
}

// Outcome is the outcome of a Waiter's call.
type Outcome struct {
	Done bool
	// Until is when to look again at the latest, while it is not done.
	Until  time.Time
	Result Result
	// Err, when it is done, is its failure.
	Err error
	// Stopped: the owner stopped the turn; it ends without another word.
	Stopped bool
	// Rounds and Tokens count as the turn's own.
	Rounds, Tokens int
}
