package channels

import "time"

// OutgoingMessage is one text for one chat of a channel.
type OutgoingMessage struct {
	Channel, To, Text string
	Files             []OutgoingFile
	// Owner is true if only the user receives the message; it is then sent at once.
	Owner bool
}

// QueuedMessage is an OutgoingMessage in the outbox.
type QueuedMessage struct {
	ID string `json:"id"`
	// At is the time of sending; until then the message can be canceled.
	At time.Time `json:"at"`
	// Waits is true if the message is sent only after Hob starts.
	Waits bool `json:"waits,omitempty"`
	// Attached is true if the files are attached; otherwise the text names their location.
	Attached bool `json:"attached,omitempty"`
}
