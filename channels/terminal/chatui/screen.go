// Package chatui shows the chat of `hob chat` and reads what the user types. UI is a full-screen
// terminal program; Lines prints plain lines for pipes, simple terminals and screen readers. The
// package does not depend on the daemon: cmd/hob sends messages, passes the events of turns to
// a Screen and carries out decisions.
//
// All text of models, tools and unknown senders passes through platform/text/visible before it is
// drawn, so that it cannot control the terminal.
package chatui

import (
	"context"
	"time"

	"hob/autonomy/api"
)

// Screen shows a chat. Its methods may be called concurrently.
type Screen interface {
	// Inputs yields what the user enters. The channel is closed when the user leaves; Err then
	// returns why the input failed, if it did. Inputs is called once.
	Inputs(ctx context.Context) <-chan Input
	Err() error
	// Note shows text outside an answer.
	Note(kind Kind, text string)
	// NewTurn begins the answer to a message that the user sent from this screen.
	NewTurn(message string) Turn
	// Ask shows an approval request. how explains how to answer it if the screen has no keys for
	// that.
	Ask(q api.Approval, how string)
	// Decided removes a request that was answered. If err is not nil, the answer failed and the
	// request stays.
	Decided(q api.Approval, outcome string, err error)
	// SetStatus updates the status bar.
	SetStatus(s Status)
}

// Turn shows one answer while it is generated.
type Turn interface {
	AddText(text string)
	// EndText completes a paragraph. More text may follow.
	EndText()
	StartTool(id, name string)
	AddArguments(id, text string)
	ShowProgress(id, name, text string)
	EndTool(id, name string, failure, result string)
	// End completes the turn.
	End()
}

// Kind selects the style of a note.
type Kind int

// The kinds of notes.
const (
	Hint    Kind = iota // about the chat itself
	Notice              // a notification from Hob
	Warning             // an unexpected state
	Failure             // an error
)

// Input is one action of the user. Exactly one of Text, Interrupt and Decision is set.
type Input struct {
	Text   string
	Pastes []Paste // the pastes whose placeholders are in Text

	Interrupt bool // stop the running answer
	Decision  *Decision
}

// Decision is the answer to an approval request.
type Decision struct {
	Request  api.Approval
	Approved bool
}

// Status is the content of the status bar.
type Status struct {
	Model   string // the model that answers
	Budget  string // today's costs, and the cap if there is one
	Queue   int    // messages and events that wait
	Quiet   string // the end of quiet hours, or "" outside them
	Offline bool   // whether Hob does not answer
	// Pending lists the ids of the pending approval requests, or is nil if unknown. AsOf is the time
	// at which the list was requested.
	Pending []string
	AsOf    time.Time
}

// Command is a chat command for the completion.
type Command struct{ Name, Args, About string }
