// Package social provides the tools for messages with other people: send_message and send_file, which
// use the channels, read_messages and message_summary over the chats of all channels and the Messages
// app, relationship_summary and suggest_followups, which also read mail and calendars, and
// start_facetime. set_auto_reply answers mail for a time, through a Replier. Summaries are extractive:
// they count, rank and quote. A message to other people is sent after a delay during which it can be
// canceled. The guard decides whether it may be sent at all.
package social

import (
	"context"

	"hob/channels"
	"hob/platform/host/osrun"
	"hob/platform/pim"
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

// Deps are the dependencies of the tools. All are optional: a tool without its dependencies is
// omitted, and a source that is nil is not read.
type Deps struct {
	Sender        Sender
	Conversations Conversations
	Store         *store.Store
	// Mailers, Calendars and People read the user's accounts.
	Mailers   func() []pim.Mailer
	Calendars func() []pim.Calendars
	People    func(ctx context.Context, words string) ([]pim.Contact, error)
	// MessagesDB is the path of the database of the Messages app; "" where there is none.
	MessagesDB string
	// Replies sends automatic replies. If it is nil, set_auto_reply is omitted.
	Replies *Replier
	// Scripts runs the script that starts a FaceTime call. It is nil except on a Mac.
	Scripts osrun.Runner
}

// Tools returns the category's tools.
func Tools(d Deps) (out []tools.Tool) {
	if d.Sender != nil {
		out = append(out, sendMessage(d.Sender), sendFile(d.Sender))
	}
	if d.Conversations == nil {
		return out
	}
	out = append(out, d.readMessages(), d.messageSummary(), d.relationshipSummary(), d.suggestFollowups(), d.startFacetime())
	if d.Replies != nil {
		out = append(out, d.setAutoReply())
	}
	return out
}
