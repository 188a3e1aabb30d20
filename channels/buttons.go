package channels

import (
	"context"
	"errors"
	"time"
)

// ErrQuick means that a question was answered before a person could have read it.
var ErrQuick = errors.New("the button was pressed too soon after the question appeared; read the question and press again")

// ErrNotShown means that a spoken yes or no does not refer to the last spoken question.
var ErrNotShown = errors.New("that is not the latest question that I asked here; answer it with its button, with its id in a chat, on my page or with hob approve")

// ErrNotOwner means that the person who pressed a button is not the owner.
var ErrNotOwner = errors.New("only my owner can answer this question")

// ButtonPress is one button press, as the platform reports it.
type ButtonPress struct {
	Channel  string
	Sender   string // stable id of the person who pressed
	Chat     string // chat of the question
	Question string
	Shown    time.Time // when the buttons were posted
	Yes      bool
	// Client is set if the press is a spoken yes or no. It identifies the conversation in which the
	// question was spoken (see Buttons.Spoken). The conditions for a bare yes apply.
	Client string
}

// ButtonHandler handles button presses of a channel. Its methods may be called concurrently.
type ButtonHandler interface {
	// Asked returns the only question in a delivery that a press may answer. It returns "" if there
	// is none, if there are several, or if the question is already answered. It also returns ""
	// while a program that Hob started is running, because the program could simulate a press.
	Asked(ctx context.Context, d Delivery) (question string, err error)
	// Answer decides the question, which has been visible to the owner since shown. It returns the
	// reply for the owner. If the press is not accepted, it returns an error with text for the
	// owner. After ErrQuick, the question may be shown again.
	Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error)
	// Open is like Asked, but for channels whose platform authenticates the person who presses.
	Open(ctx context.Context, d Delivery) (question string, err error)
	// Spoken records that a delivery was spoken to the owner in the conversation identified by
	// client. It returns the only question that a spoken yes or no may answer in that conversation.
	// It returns "" under the conditions of Open, and if the question belongs to another turn or is
	// not the newest.
	Spoken(ctx context.Context, client string, d Delivery) (question string, err error)
	// Press is like Answer, but the platform has authenticated the sender. It returns ErrNotOwner
	// for senders who are not paired as the owner.
	Press(ctx context.Context, p ButtonPress) (string, error)
	// Ended waits until a question was decided or has expired, and then returns nil.
	Ended(ctx context.Context, question string) error
	// Later sends a delivery again in one hour. It returns the reply to the owner.
	Later(ctx context.Context, delivery string) (string, error)
	// CanCancel reports whether the event of a delivery includes a send to other people that can
	// still be canceled.
	CanCancel(ctx context.Context, d Delivery) (bool, error)
	// Cancel cancels the sends of an event that CanCancel found. It returns the reply for the
	// owner.
	Cancel(ctx context.Context, channel, event string) (string, error)
	// Trusted returns an error if Hob started the process pid: such a process may neither show
	// questions nor press buttons for the owner.
	Trusted(pid int) error
	// Page returns the URL of a conversation on Hob's page on this machine, or "" if there is no
	// page. An empty session means the last conversation.
	Page(session string) string
}
