package channels

import (
	"context"
	"errors"
	"time"
)

// ErrQuick says that a question was answered before anybody could have read it.
var ErrQuick = errors.New("that press came too soon after the question; read it and press again")

// ErrNotShown says that a spoken yes or no is none to the question that was spoken last.
var ErrNotShown = errors.New("that is not my latest question here; answer it with its button or its id in a chat, on my page, or with hob approve")

// ErrNotOwner says that somebody pressed who is not the owner.
var ErrNotOwner = errors.New("only my owner can answer this question")

// Press is one press on a button, as the platform reports it.
type Press struct {
	Channel  string
	Sender   string // stable id of who pressed
	Chat     string // where
	Question string
	Shown    time.Time // since when the buttons have been there
	Yes      bool
	// Client is set when the press is a spoken yes or no, and names the conversation in
	// which the question was spoken (see Buttons.Spoken). It counts under the conditions of
	// a bare yes.
	Client string
}

// Buttons is what a press on a channel may do. Its methods may be called
// concurrently.
type Buttons interface {
	// Asked returns the one question of a delivery that a single press may answer:
	// "" when there is none, or several, when it was answered already, or when a
	// program runs which Hob has started, and whose press nobody could tell from the
	// owner's.
	Asked(ctx context.Context, d Delivery) (question string, err error)
	// Answer decides the question, which has stood before the owner since shown. It
	// returns the words for him, and an error with words for him when his press counts
	// for nothing: ErrQuick when the question may be asked of him again.
	Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error)
	// Open returns the one question of a delivery that a single press may answer, "" as
	// in Asked, for channels whose platform vouches for who presses.
	Open(ctx context.Context, d Delivery) (question string, err error)
	// Spoken records that a delivery was spoken to the owner in a conversation, which
	// client names, and returns the one question that a spoken yes or no may answer there:
	// "" as in Open, and for a question of another turn or an older one.
	Spoken(ctx context.Context, client string, d Delivery) (question string, err error)
	// Press is Answer by somebody whom the platform names. Whoever is not paired as the
	// owner decides nothing: ErrNotOwner.
	Press(ctx context.Context, p Press) (string, error)
	// Ended returns nil once a question waits for no answer any more: it was decided,
	// or its time is up.
	Ended(ctx context.Context, question string) error
	// Later tells a delivery again in an hour. It returns the words for the owner.
	Later(ctx context.Context, delivery string) (string, error)
	// Trusted returns an error for a process that Hob has started: it shows and
	// presses nothing for the owner.
	Trusted(pid int) error
	// Page is the address on Hob's own page, on this machine, where a conversation is
	// read ("": the last one); "" when there is none.
	Page(session string) string
}
