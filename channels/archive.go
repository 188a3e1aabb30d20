package channels

import (
	"context"
	"encoding/json"
	"time"
)

// ArchiveReader is a Driver that can list the messages in a file of its platform. It works on any
// system, without a channel and without a running Hob.
type ArchiveReader interface {
	// ReadArchive calls each for every message in the file, in order. If each returns an error,
	// ReadArchive stops and returns that error.
	ReadArchive(ctx context.Context, file string, each func(ArchivedMessage) error) error
}

// ArchivedMessage is one message in a file. Its text is untrusted.
type ArchivedMessage struct {
	ID   string
	At   time.Time
	Who  string // the sender, or "me"
	Chat string // " in a group", " to somebody", or ""
	Kind string // "" for a plain message
	Text string
	// JSON is the complete message.
	JSON json.RawMessage
}
