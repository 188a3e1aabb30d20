// Package social provides the tools that send messages to other people: send_message and send_file,
// which use the channels. A message to other people is sent after a delay during which it can be
// canceled. The guard decides whether it may be sent at all.
package social

import (
	"context"

	"hob/channels"
	"hob/platform/store"
	"hob/tools"
)

// Sender sends messages through the engine. Its methods are safe for concurrent use. Methods whose
// name ends with Tx run in the transaction that records the call.
type Sender interface {
	// Channels returns the names of the channels that can send, in alphabetical order.
	Channels() []string
	// Owners reports whether a chat has no members except the owner and Hob.
	Owners(ctx context.Context, channel, chat string) (bool, error)
	// File inspects a file to be sent. The owner must have allowed Hob to read it.
	File(ctx context.Context, path string) (channels.OutgoingFile, error)
	// Keep stores durable copies of the files to be sent, if the channel accepts such files. It
	// fails with Conflict if the content of a file has changed.
	Keep(ctx context.Context, m channels.OutgoingMessage) error
	// Here returns the owner's chat on a channel. If channel is empty, it returns the chat of the
	// event, or "" and "" for a conversation on this machine.
	Here(ctx context.Context, event, channel string) (in, chat string, err error)
	SendTx(ctx context.Context, tx *store.Tx, c tools.Call, m channels.OutgoingMessage) (channels.QueuedMessage, error)
	// CallBackTx cancels a message and describes the outcome. It fails with Conflict if the message
	// was already sent.
	CallBackTx(ctx context.Context, tx *store.Tx, id string) (string, error)
}

// Tools returns the category's tools.
func Tools(p Sender) []tools.Tool { return []tools.Tool{sendMessage(p), sendFile(p)} }
