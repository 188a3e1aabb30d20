package tools

import (
	"context"
	"time"

	"hob/knowledge/store"
)

// Waiter is an own tool whose work goes on after its call: CallTx begins it (its
// result counts for nothing), and OutcomeTx tells what it came to. Both run in
// the transaction that records the call, the second one at once and then
// whenever the turn is taken up again. Until it is done the turn is put away
// durably and holds no place; whoever ends the work resumes the turn's event.
type Waiter interface {
	Own
	OutcomeTx(ctx context.Context, tx *store.Tx, c Call) (Outcome, error)
}

// Outcome is what a Waiter's call came to.
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
