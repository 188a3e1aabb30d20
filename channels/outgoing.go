package channels

import "time"

// OutgoingMessage is one message to one chat on a channel.
type OutgoingMessage struct {
	Channel, To, Text string
	Files             []OutgoingFile
	// Owner is true if only the user receives the message. The message is then sent immediately.
	Owner bool
}

// QueuedMessage is an OutgoingMessage in the outbox.
type QueuedMessage struct {
	ID string `json:"id"`
	// At is when the message will be sent. Until then it can be canceled.
	At time.Time `json:"at"`
	// Waits is true if the message is sent only after Hob starts.
	Waits bool `json:"waits,omitempty"`
	// Attached is true if the files are attached. Otherwise the text contains their paths.
	Attached bool `json:"attached,omitempty"`
}
