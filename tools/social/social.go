// Package social provides the tools that reach other people: send_message and send_file
// over the channels. A message to others is sent after a delay in which it can be
// canceled; the guard decides whether it may be sent at all.
package social

import (
	"context"

	"hob/channels"
	"hob/platform/store"
	"hob/tools"
)

// Sender sends messages through the engine. Its methods are safe for concurrent use; those
// with a Tx take part in the transaction that records the call.
type Sender interface {
	// Channels returns the names of the channels that can send, in order.
	Channels() []string
	// Owners reports whether only the owner and Hob are in a chat.
	Owners(ctx context.Context, channel, chat string) (bool, error)
	// File inspects a file to send, which the owner must allow Hob to read.
	File(ctx context.Context, path string) (channels.OutgoingFile, error)
	// Keep saves durable copies of the files to send, if the channel accepts such files. It
	// fails with Conflict if a file's content has changed.
	Keep(ctx context.Context, m channels.OutgoingMessage) error
	// Here returns the owner's chat on a channel; without a channel, the chat of the event,
	// or "" and "" for a conversation on this machine.
	Here(ctx context.Context, event, channel string) (in, chat string, err error)
	SendTx(ctx context.Context, tx *store.Tx, c tools.Call, m channels.OutgoingMessage) (channels.QueuedMessage, error)
	// CallBackTx cancels a message and describes the outcome. It fails with Conflict if the
	// message was sent.
	CallBackTx(ctx context.Context, tx *store.Tx, id string) (string, error)
}

// Tools returns the category's tools.
func Tools(p Sender) []tools.Tool { return []tools.Tool{sendMessage(p), sendFile(p)} }
