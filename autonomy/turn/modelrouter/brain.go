// Package modelrouter selects the model that answers a turn. It decides once, at the start of the
// turn, and records the decision with the turn's first step. The decision stays valid after a
// crash, so the model never changes within a turn. The package also holds the models of all agents
// with their retries and fallbacks, and answers /model. It calls no model and does not depend on
// providers: a Source creates the models.
package modelrouter

import (
	"hob/autonomy/llm"
	"hob/platform/store"
)

// TurnInfo describes a turn that needs a model.
type TurnInfo struct {
	Agent   string // "" means the main agent
	Session string
	Event   string
	// Text is the user's message.
	Text string
	// Bare reports whether the message consists only of Text, without attachments such as pictures
	// and without other text.
	Bare bool
	// Attended reports whether the user sent the message in a conversation.
	Attended bool
	// Chain reports whether the previous turn used tools, so that the message may refer to their
	// results.
	Chain bool
	// Resumed reports whether earlier steps of this turn, and so its model, are already recorded.
	Resumed bool
}

// Choice is the model selected for a turn.
type Choice struct {
	Model llm.Model
	// Reason explains the choice.
	Reason string
	// Record stores the decision together with the turn's first step. It is nil if there is nothing
	// to store.
	Record func(tx *store.Tx) error
}
