package llm

import (
	"context"
	"encoding/json"
)

// PermissionBroker authorizes and records the actions of an external agent (Info.Acts). The engine creates
// one per turn and passes it with the request.
//
// The agent is not trusted. Its description of an action is only a claim: an action that is not
// clearly harmless is passed as Unclear. The agent can request only less than the guard allows,
// never more, and never receives an answer for all future actions.
//
// The methods may be called concurrently while the stream of the request runs, but not after it
// has ended. In a request without a PermissionBroker no user can be asked: the agent must refuse every
// action that needs permission.
type PermissionBroker interface {
	// CheckAllowed returns an error if an external agent may not work on this turn; the error explains
	// why to the user.
	CheckAllowed() error
	// PriorActions lists the actions that were reported in this turn before the daemon was
	// interrupted. Actions in the state Begun have an unknown outcome: the agent is informed of
	// them, so that it does not repeat them.
	PriorActions() []Action
	// RequestPermission checks an action with the guard and, if required, requests the user's
	// approval and waits, possibly for minutes. An error means that the turn is over (ctx has
	// ended, or the broker is closed) or that the request could not be stored; the action must
	// then be refused.
	RequestPermission(ctx context.Context, a Action) (PermissionResult, error)
	// RecordAction records an action, or the next state of an earlier one (the same ID), in the live
	// feed, the ledger and the audit log. States are final: an action that has ended does not
	// start again.
	RecordAction(ctx context.Context, a Action)
	// PublishStatus shows a short text in the live feed, such as a plan or a mode. It is not stored.
	PublishStatus(text string)
}

// Action is an action of an external agent.
type Action struct {
	ID string // the agent's id, the same in all reports about the action
	// By is the agent's name: the section in [providers].
	By   string
	Kind string // one lower-case word for the ledger: read, edit, execute, ...
	Does Effects
	// Title is the agent's description, Args its claimed parameters: one JSON object. Neither
	// is verified.
	Title string
	Args  json.RawMessage
	// Beyond: it touches files outside the folder that the user gave the agent.
	Beyond bool
	State  ActionState
	Result string // the result, once it has ended
}

// Effects is the set of possible effects of an action. The zero value counts as Unclear.
type Effects uint8

// Effects of actions; they mean the same as the tools' effects of these names.
const (
	Reads    Effects = 1 << iota
	Writes           // changes something on this machine
	Fetches          // a request whose address or body the model chose
	Runs             // runs a program
	Destroys         // cannot be undone
	Unclear          // the agent does not report its effects
)

// ActionState is the progress of an action.
type ActionState string

// Values of ActionState.
const (
	Planned ActionState = "" // announced, not started
	Begun   ActionState = "begun"
	Ended   ActionState = "ended"
	Failed  ActionState = "failed"
	Dropped ActionState = "dropped" // never ran: refused, or the turn ended
)

// PermissionResult is the decision of the guard and the user about an action. The zero value refuses.
type PermissionResult struct {
	Allowed bool
	// Expired: the request timed out, which is not a refusal by the user.
	Expired bool
	// Reason is one sentence for the agent and for readers of its answer.
	Reason string
}
