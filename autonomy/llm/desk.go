package llm

import (
	"context"
	"encoding/json"
)

// PermissionBroker authorizes and records the actions of an external agent (Info.Acts). The engine
// creates one per turn and passes it with the request.
//
// The agent is not trusted. Its description of an action is only a claim: an action that is not
// clearly harmless is passed as Unclear. The description can narrow what the guard allows, but
// never widen it, and no answer covers all future actions.
//
// The methods may be called concurrently while the request's stream runs, but not after it has
// ended. If a request has no PermissionBroker, no user can be asked: the agent must refuse every
// action that needs permission.
type PermissionBroker interface {
	// CheckAllowed returns an error if an external agent may not work on this turn. The error
	// explains the reason to the user.
	CheckAllowed() error
	// PriorActions lists the actions that were reported in this turn before the daemon was
	// interrupted. Actions in the state Begun have an unknown outcome. The agent is informed of
	// them, so that it does not repeat them.
	PriorActions() []Action
	// RequestPermission checks an action with the guard. If required, it requests the user's
	// approval and waits, possibly for minutes. An error means that the turn is over (ctx has
	// ended, or the broker is closed) or that the request could not be stored. The action must then
	// be refused.
	RequestPermission(ctx context.Context, a Action) (PermissionResult, error)
	// RecordAction records an action, or the next state of an earlier action with the same ID, in
	// the live feed, the ledger and the audit log. States are final: an action that has ended does
	// not start again.
	RecordAction(ctx context.Context, a Action)
	// PublishStatus shows a short text in the live feed, such as a plan or a mode. The text is not
	// stored.
	PublishStatus(text string)
}

// ToolServer is a PermissionBroker that offers Hob's tools to an external agent as an MCP server
// (streamable HTTP).
type ToolServer interface {
	// ToolEndpoint returns the address of the server, and the bearer token for the agent of this
	// conversation. The token is the same in every turn of the conversation, but valid only while a
	// turn runs whose ToolEndpoint was called. It returns false if there is no server.
	ToolEndpoint() (url, token string, ok bool)
}

// Action is an action of an external agent.
type Action struct {
	ID string // the agent's id for the action, the same in all reports about it
	// By is the agent's name, which is the name of its section in [providers].
	By   string
	Kind string // one lower-case word for the ledger, such as read, edit or execute
	Does Effects
	// Title is the agent's description. Args holds the claimed parameters as one JSON object.
	// Neither is verified.
	Title string
	Args  json.RawMessage
	// Beyond reports whether the action accesses files outside the folder that the user gave the
	// agent.
	Beyond bool
	State  ActionState
	Result string // the result when the action has ended
}

// Effects is the set of possible effects of an action. The zero value is treated as Unclear.
type Effects uint8

// The effects of actions. They have the same meaning as the tool effects with these names.
const (
	Reads    Effects = 1 << iota
	Writes           // changes something on this machine
	Fetches          // sends a request whose address or body the model chose
	Runs             // runs a program
	Destroys         // cannot be undone
	Unclear          // the agent does not report the effects
)

// ActionState is the progress of an action.
type ActionState string

// Values of ActionState.
const (
	Planned ActionState = "" // announced but not started
	Begun   ActionState = "begun"
	Ended   ActionState = "ended"
	Failed  ActionState = "failed"
	Dropped ActionState = "dropped" // never ran: it was refused, or the turn ended
)

// PermissionResult is the decision by the guard and the user about an action. The zero value
// refuses.
type PermissionResult struct {
	Allowed bool
	// Expired reports that the request timed out, which is not a refusal by the user.
	Expired bool
	// Reason is one sentence for the agent and for readers of the agent's answer.
	Reason string
}
