// Package brain decides which model answers a turn. The decision is made once,
// at the start of the turn, is recorded with the turn's first step, and holds
// until its end: also over a crash, so that a turn never changes its model in
// the middle. The agent asks; the daemon makes the models. It makes no model
// call itself and knows no provider.
package brain

import (
	"hob/autonomy/llm"
	"hob/knowledge/store"
)

// Ask is a turn for which a model is wanted.
type Ask struct {
	Agent   string // "" = the main agent
	Session string
	Event   string
	// Text is what is asked.
	Text string
	// Bare: nothing came along with the words, neither a picture nor other text.
	Bare bool
	// Attended: the owner asked in a conversation.
	Attended bool
	// Chain: the turn before used tools, so that the words may mean its results.
	Chain bool
	// Resumed: earlier steps of this turn are recorded; its model is, too.
	Resumed bool
}

// Choice is the model of a turn.
type Choice struct {
	Model llm.Model
	// Reason says in words why it was chosen.
	Reason string
	// Record stores the decision together with the turn's first step; nil when
	// there is nothing to store.
	Record func(tx *store.Tx) error
}
