package chatdb

import (
	"cmp"
	"strings"
	"time"

	"hob/platform/pim/messages/bplist"
	"hob/platform/pim/messages/typedstream"
)

// Kind is the type of a row.
type Kind string

// The types of rows.
const (
	Plain   Kind = "message"
	Tapback Kind = "tapback" // a reaction to another message, or a sticker on it
	Edit    Kind = "edit"    // a message that was edited after it was sent
	Unsent  Kind = "unsent"  // an unsent (retracted) message
	Event   Kind = "event"   // an event in a chat: a new name, a member who joined or left
	App     Kind = "app"     // the balloon of an app, such as a game or a payment
)

// Message is one row of the database.
type Message struct {
	RowID int64
	GUID  string
	Chat  *Chat // nil if the message belongs to no chat (yet)
	// Sender is the sender's address (see Handle), or "" for the owner of the database.
	Sender string
	// Person is the same for all addresses on one contact card, as Messages groups them.
	Person string
	// Handle is the other person's address, even in a message from the owner.
	Handle string
	FromMe bool
	At     time.Time // UTC
	Text   string
	// Approximate is true if the text was recovered from a damaged row or from columns that
	// contradict each other. Undecodable is true if the row has text but it could not be decoded.
	Approximate, Undecodable bool
	Kind                     Kind
	// ReplyTo is the guid of the message that this message answers or reacts to.
	ReplyTo  string
	Reaction string // reaction of a tapback: "love" and others, an emoji, or "sticker"
	Removed  bool   // the reaction was removed
	Files    []Attachment
	// Missing is the number of attachments for which the text has a placeholder but the database
	// has no row (yet).
	Missing int
	Service string // iMessage, SMS, RCS
	Caller  string // the owner's address that received or sent the message
	Balloon string // app that created the balloon
	// Sent and Delivered are the status of a message that the owner sent. Error is not 0 if sending
	// failed.
	Sent, Delivered bool
	Error           int64
}

// Attachment is a file that belongs to a message.
type Attachment struct {
	GUID string
	Name string // name that the sender gave the file
	Path string // as stored in the database, "~/Library/Messages/Attachments/..."
	MIME string
	Size int64
}

// Chat is a conversation.
type Chat struct {
	ID         int64
	GUID       string
	Identifier string // an address, or the identifier of a group: "chat123456"
	Name       string // name that the members gave the chat
	Service    string // iMessage, SMS, RCS; never derived from the guid
	Group      bool
	Login      string // the owner's account
	Addressed  string // the user's address from which the last message was sent
}

// Key returns a stable key of a chat: the other person's address or the group's identifier. It does
// not depend on the service of the chat or on guids, which macOS rewrites.
func (c *Chat) Key() string {
	if c.Group {
		return c.Identifier
	}
	return Handle(c.Identifier, "")
}

// The styles of chats.
const (
	styleGroup  = 43
	styleDirect = 45
)

// isGroupChat reports whether a chat is a group chat.
func isGroupChat(style int64, guid string) bool {
	switch style {
	case styleGroup:
		return true
	case styleDirect:
		return false
	}
	return strings.Contains(guid, ";+;")
}

// epoch is 2001-01-01T00:00:00Z in seconds since 1970.
const epoch = 978_307_200

// parseDate converts the value of a date column. It is in nanoseconds since 2001, or in seconds in
// rows written before macOS 10.13; seconds are recognizable because they are much smaller numbers.
func parseDate(v int64) time.Time {
	if v < 1e12 && v > -1e12 {
		return time.Unix(epoch+v, 0).UTC()
	}
	return time.Unix(epoch+v/1e9, v%1e9).UTC()
}

// The types of associated messages (imessage-exporter, docs/tables/messages.md).
const (
	sticker      = 1000
	tapbackFirst = 2000
	takenFirst   = 3000
	takenLast    = 3999
)

var reactions = []string{"love", "like", "dislike", "laugh", "emphasis", "question", "", "sticker"}

// reactionName returns the name of a reaction. ok reports whether the row is a reaction. Unknown
// types count as reactions, because otherwise their text would be read as a message.
func reactionName(kind int64, emoji string) (name string, removed, ok bool) {
	if kind == sticker {
		return "sticker", false, true
	}
	if kind < tapbackFirst || kind > takenLast {
		return "", false, false
	}
	removed = kind >= takenFirst
	if i := (kind - tapbackFirst) % (takenFirst - tapbackFirst); i < int64(len(reactions)) {
		name = reactions[i]
	}
	return cmp.Or(name, emoji, "reaction"), removed, true
}

// parseTarget returns the guid in "p:0/GUID" or "bp:GUID".
func parseTarget(s string) string {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[i+1:]
	}
	return strings.TrimPrefix(s, "bp:")
}

// summary contains the edits in message_summary_info (imessage-exporter, message_types/edited.rs):
// the parts, which of them were retracted, and the versions of edited parts.
type summary struct {
	parts, retracted int
	edited           bool
	last             string // the newest text of the edited parts
}

func parseSummary(b []byte) summary {
	var s summary
	v, err := bplist.Parse(b)
	top, ok := v.(map[string]any)
	if err != nil || !ok {
		return s
	}
	if parts, ok := top["otr"].(map[string]any); ok {
		s.parts = len(parts)
	}
	if gone, ok := top["rp"].([]any); ok {
		s.retracted = len(gone)
	}
	versions, _ := top["ec"].(map[string]any)
	var texts []string
	for _, key := range sortedKeys(versions) {
		list, ok := versions[key].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		s.edited = true
		newest, _ := list[len(list)-1].(map[string]any)
		blob, _ := newest["t"].([]byte)
		if t, err := typedstream.Decode(blob); err == nil {
			texts = append(texts, t.Text)
		}
	}
	s.last = strings.Join(texts, "")
	return s
}

// isRetracted reports whether all parts of a message were retracted.
func (s summary) isRetracted(text string) bool {
	return s.retracted > 0 && text == "" && s.retracted >= s.parts
}

// place marks the position of a file in a text.
const place = "\ufffc"

// stripPlaceholders removes the placeholders of attachments and app balloons from a text.
func stripPlaceholders(s string) string { return placeless.Replace(strings.ToValidUTF8(s, "")) }

var placeless = strings.NewReplacer(place, "", "\ufffd", "", "\x00", "")

// urlBalloon marks the preview of a link, which is stored as a separate message.
const urlBalloon = "com.apple.messages.URLBalloonProvider"
