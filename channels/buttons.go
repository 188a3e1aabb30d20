package channels

import (
	"context"
	"errors"
	"time"
)

// ErrQuick means that a question was answered before a person could have read it.
var ErrQuick = errors.New("the button was pressed too soon after the question appeared; read the question and press again")

// ErrNotShown means that a spoken yes or no does not answer the question spoken last.
var ErrNotShown = errors.New("that is not my latest question here; answer it with its button or its id in a chat, on my page, or with hob approve")

// ErrNotOwner means that the person who pressed is not the owner.
var ErrNotOwner = errors.New("only my owner can answer this question")

// ButtonPress is one button press, as the platform reports it.
type ButtonPress struct {
	Channel  string
	Sender   string // stable id of the person who pressed
	Chat     string // chat of the question
	Question string
	Shown    time.Time // when the buttons were posted
	Yes      bool
	// Client is set when the press is a spoken yes or no. It names the conversation in which
	// the question was spoken (see Buttons.Spoken). The conditions of a bare yes apply.
	Client string
}

// ButtonHandler handles button presses of a channel. Its methods may be called concurrently.
type ButtonHandler interface {
	// Asked returns the only question of a delivery that a press may answer. It returns "" if there
	// is none or several, if it is already answered, or while a program runs that Hob started and
	// that could simulate a press.
	Asked(ctx context.Context, d Delivery) (question string, err error)
	// Answer decides the question, which has been visible to the owner since shown. It returns
	// the reply for the owner, or an error with text for the owner if the press does not
	// count; after ErrQuick the question may be shown again.
	Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error)
	// Open returns the only question of a delivery that a press may answer, "" as in Asked,
	// for channels whose platform authenticates the person who presses.
	Open(ctx context.Context, d Delivery) (question string, err error)
	// Spoken records that a delivery was spoken to the owner in the conversation named client.
	// It returns the only question that a spoken yes or no may answer there: "" as in Open,
	// and for a question of another turn or an older one.
	Spoken(ctx context.Context, client string, d Delivery) (question string, err error)
	// Press is Answer with a sender authenticated by the platform. It returns ErrNotOwner for
	// senders who are not paired as the owner.
	Press(ctx context.Context, p ButtonPress) (string, error)
	// Ended waits until a question is closed, because it was decided or has expired, and then
	// returns nil.
	Ended(ctx context.Context, question string) error
	// Later sends a delivery again in one hour. It returns the reply for the owner.
	Later(ctx context.Context, delivery string) (string, error)
	// Trusted returns an error for a process that Hob started: such a process may neither show
	// questions nor press buttons for the owner.
	Trusted(pid int) error
	// Page returns the URL of a conversation on Hob's own page on this machine ("": the last
	// conversation); "" if there is no page.
	Page(session string) string
}
