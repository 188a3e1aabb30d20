package llm

import (
	"context"
	"encoding/json"
)

// Desk is where a brain that acts by itself (Info.Acts), such as an external
// agent, asks before it does something and reports what it did. The engine
// makes one for each turn and gives it with the request.
//
// The brain is not trusted. What it says of an action is its own claim: an
// action that is not plainly harmless is passed as Unclear. It can only ask for
// less than the guard allows, never for more, and it is never told "always".
//
// The methods may be called concurrently while the stream of the request runs,
// and not after it has ended. A request without a Desk has nobody who could be
// asked: the brain must refuse every action that needs permission.
type Desk interface {
	// Open says whether such a brain may work on this turn; the error says why
	// not, in words for whoever asked.
	Open() error
	// Before lists what was reported in this turn before the daemon was cut off.
	// Those whose State is Begun have an unknown outcome: the brain is told of
	// them, so that nothing is done twice.
	Before() []Action
	// Ask passes an action through the guard and, where that wants it, puts it
	// before the owner and waits, perhaps for minutes. An error means that the
	// turn is over (ctx has ended, or the desk is closed) or that the question
	// could not be stored; the action must then be refused.
	Ask(ctx context.Context, a Action) (Ruling, error)
	// Tell records an action, or the next state of one that was told before or
	// asked for (the same ID), for the live feed, the ledger and the audit log.
	// What was told stays told: an action that has ended does not begin again.
	Tell(ctx context.Context, a Action)
	// Note shows a short text in the live feed: a plan, a mode. It is not kept.
	Note(text string)
}

// Action is something that a brain does by itself.
type Action struct {
	ID string // the brain's own, the same in all that is said of it
	// By names the brain: the section in [providers].
	By   string
	Kind string // one lower-case word for the ledger: read, edit, execute, ...
	Does Effects
	// Title is the brain's own words, Args what it says that it will do: one JSON
	// object. Neither is proven.
	Title string
	Args  json.RawMessage
	// Beyond: it touches files outside of the folder that the owner gave it.
	Beyond bool
	State  ActionState
	Result string // what came of it, when it has ended
}

// Effects is the set of things that an action may cause. The zero value counts
// as Unclear.
type Effects uint8

// The effects of actions; they mean what the tools' effects of the same names do.
const (
	Reads    Effects = 1 << iota
	Writes           // changes something on this machine
	Fetches          // a request whose address or body the model chose
	Runs             // runs a program
	Destroys         // cannot be undone
	Unclear          // the brain does not say, or nobody knows
)

// ActionState says how far an action is.
type ActionState string

// The states of an action.
const (
	Planned ActionState = "" // announced; it has not begun
	Begun   ActionState = "begun"
	Ended   ActionState = "ended"
	Failed  ActionState = "failed"
	Dropped ActionState = "dropped" // it never ran: refused, or the turn ended
)

// Ruling is what the guard and the owner say to an action. The zero value
// refuses.
type Ruling struct {
	Allowed bool
	// Expired: nobody answered in time, which is no refusal by the owner.
	Expired bool
	// Reason is one sentence for the brain and for whoever reads its answer.
	Reason string
}
