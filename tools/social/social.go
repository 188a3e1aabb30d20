// Package social are the tools that reach other people: send_message and
// send_file over the channels. A message to somebody else goes out after a delay in which it can be
// called back; whether it may be sent at all is the guard's business.
package social

import (
	"context"
	"time"

	"hob/knowledge/store"
	"hob/tools"
)

// Message is one text to one chat of a channel.
type Message struct {
	Channel, To, Text string
	Files             []File
	// Owner: it reaches nobody but the owner, and goes out at once.
	Owner bool
}

// File is one that goes along, as it was found.
type File struct {
	Name, MIME, Path string
	Hidden           bool // it, or a folder in which it lies
	Size             int64
	Digest           string // SHA-256 of its content, in hexadecimal
}

// Sent is a message that is on its way.
type Sent struct {
	ID string `json:"id"`
	// At is when it goes out, and until then it can be called back.
	At time.Time `json:"at"`
	// Waits: nothing goes out before Hob is started.
	Waits bool `json:"waits,omitempty"`
	// Attached: the files go along. Else the text says where they lie.
	Attached bool `json:"attached,omitempty"`
}

// Post is the engine's way out. Its methods may be called concurrently; those
// with a Tx take part in the transaction that records the call.
type Post interface {
	// Channels names those that send by themselves, in order.
	Channels() []string
	// Owners reports whether a chat is one between the owner and Hob alone.
	Owners(ctx context.Context, channel, chat string) (bool, error)
	// File looks at a file that may be sent: one that the owner lets Hob read.
	File(ctx context.Context, path string) (File, error)
	// Keep makes the copies that go out, durable when it returns, where the channel takes
	// such files. It fails with Conflict when one holds something else than it did.
	Keep(ctx context.Context, m Message) error
	// Here is the owner's chat on a channel; without one the chat in which the event
	// was said, "" and "" when that is a conversation on this machine.
	Here(ctx context.Context, event, channel string) (in, chat string, err error)
	SendTx(ctx context.Context, tx *store.Tx, c tools.Call, m Message) (Sent, error)
	// CallBackTx stops a message. It says in words what came of it, or fails with
	// Conflict when it has gone out.
	CallBackTx(ctx context.Context, tx *store.Tx, id string) (string, error)
}

// Tools returns the category's tools.
func Tools(p Post) []tools.Tool { return []tools.Tool{sendMessage(p), sendFile(p)} }
