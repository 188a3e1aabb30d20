// Package channels defines the contract between Hob and messaging platforms (Channel, Driver,
// Inbound, Delivery) and the Manager that runs them. Supervision, allow lists, text splitting,
// rate limits and durable delivery with retries are implemented here once, not in the drivers.
package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
)

// Inbound is one message received by a channel.
type Inbound struct {
	Channel string // name of the driver
	Chat    string // where to send the answer: a chat id, an address
	// Group reports whether several people write and read in this chat. Sender is then required.
	Group bool
	// ChatName is the chat's name on the platform. Server is the id of the server or workspace that
	// contains the chat. Each is "" if the platform has none.
	ChatName, Server string
	// Session identifies the conversation. Empty means "channel:chat", and in a group
	// "channel:chat:sender", so that group members cannot read each other's messages to Hob.
	Session    string
	Sender     string // stable id of the person on the platform
	SenderName string
	// FromOwner reports whether the channel has proof (a token, a paired account) that the owner
	// wrote Text. Text from any other sender is untrusted.
	FromOwner bool
	// Forwarded reports whether the sender forwarded Text, so that another person wrote it.
	Forwarded bool
	// Mentioned reports whether a group message is addressed to Hob: it names Hob, replies to one
	// of Hob's messages, or is a command for Hob.
	Mentioned bool
	// Unknown reports whether the program that sent the message could not be identified. Hob
	// processes the message, but the message cannot answer an approval request.
	Unknown bool
	// Client identifies the program that sent the message over the API, such as a page or a
	// terminal, by an id that the program chose. It is "" on every other channel. A bare yes
	// answers only questions that this client has displayed.
	Client string
	// ReplyTo lists the ids of the message to which this one replies: the platform's ids as in
	// Receipt, or "delivery:" and the id of the delivery. Threaded reports that ReplyTo is the
	// first message of a thread, which may contain later messages.
	ReplyTo  []string
	Threaded bool
	// OnlyReplies reports whether approvals on this channel must be replies to the question.
	OnlyReplies bool
	Text        string
	// Outside is additional untrusted text in the message, such as quoted email or the history sent
	// by a client.
	Outside []string
	// OutsideFrom[i] is the source of Outside[i], if the client named one. It may be shorter than
	// Outside, so only append to Outside, never insert.
	OutsideFrom []TextSource
	// Images holds the images of the message that the model can see. Drivers add images to Files
	// like other files; the manager moves readable ones to Images.
	Images []Image
	// Files holds the attachments of the message. They are fetched before the message is accepted,
	// within the Manager's limits.
	Files []File
	// Via names the entry point for the audit log if it is not the channel itself, for example
	// "openai" for the OpenAI-compatible endpoint.
	Via string
	// Key is the platform's own id of the message; Hob accepts each key once.
	Key string
	// Payload is stored with the event for the channel's own use.
	Payload json.RawMessage
	At      time.Time
	// Debounce is how long the message waits for the next one from the same person, so that both
	// are answered together. The Manager sets it.
	Debounce time.Duration
}

// Conversation returns the session of a message that does not set one. shared reports whether the
// members of a group share one session.
func (in Inbound) Conversation(shared bool) string {
	id := in.Channel + ":" + in.Chat
	if in.Group && !shared {
		id += ":" + in.Sender
	}
	return id
}

// File is an attachment that is still on the platform.
type File struct {
	Name string // file name from the sender; not trusted
	MIME string // reported by the platform; "" if unknown
	Size int64  // in bytes, reported by the platform; 0 if unknown
	// Open fetches the file. The manager reads the content up to its limit and closes the reader.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Image is a picture in a message.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Accepted reports to a channel that a message is durable.
type Accepted struct {
	Event string // id of the inbox event; for a repeated Key, the id of the first event
	// Repeated reports whether this Key was already accepted.
	Repeated bool
	// Differs reports whether the accepted message of a repeated Key does not contain this text.
	Differs bool
	// Position is the number of messages ahead of this one in the session; 0 means that it is
	// processed immediately.
	Position int
}

// Receiver accepts messages. If Receive returns nil, the message is durable and may be acknowledged
// to the platform. If it returns an error, the message was not accepted. After ErrStranger the
// message will never be accepted: acknowledge and discard it.
type Receiver interface {
	Receive(ctx context.Context, in Inbound) (Accepted, error)
}

// DuplicateChecker is a Receiver that can check a message before its files are fetched. Known
// reports whether the message was already accepted, and returns ErrStranger if it would be
// rejected.
type DuplicateChecker interface {
	Known(ctx context.Context, in Inbound) (Accepted, bool, error)
}

// SenderFilter is a Receiver that tells a channel whether to spend effort on verifying a sender.
// AdmitsSender reports whether the message would be accepted if Sender were proven. This applies to
// the owner and to allowed senders, and to any sender while the owner may be pairing.
type SenderFilter interface {
	AdmitsSender(ctx context.Context, in Inbound) (bool, error)
}

// RejectionObserver is a Receiver that also receives messages rejected because of their sender. The
// senders get no answer, but the owner may have asked to be notified.
type RejectionObserver interface {
	Overhear(ctx context.Context, in Inbound) error
}

// DeliveryKind is the kind of an outbound message.
type DeliveryKind string

// The kinds of deliveries. Each message gets exactly one Reply.
const (
	Reply    DeliveryKind = "reply"
	Notice   DeliveryKind = "notice"
	Question DeliveryKind = "question"
	Status   DeliveryKind = "status"
	// Send is a message to another person on behalf of the owner. It can be canceled before it is
	// sent.
	Send DeliveryKind = "send"
)

// State is the state of a delivery.
type State string

// The states of a delivery.
const (
	Queued  State = "queued"
	Sending State = "sending"
	Sent    State = "sent"
	Failed  State = "failed" // failed, and will be retried
	Dead    State = "dead"   // delivery failed permanently; the owner was notified
	// Cancelled means that the delivery was withdrawn before it was sent.
	Cancelled State = "cancelled"
	// Held means that the delivery was queued when a backup was restored and is waiting for the
	// owner.
	Held State = "held"
)

// Delivery is one outbound message.
type Delivery struct {
	ID        string // also the idempotency key on platforms that support one
	Event     string
	Kind      DeliveryKind
	Session   string
	Channel   string
	Chat      string
	Text      string
	Attempts  int
	CreatedAt time.Time
	// Cause is the Payload of the message that this delivery answers, or nil.
	Cause json.RawMessage
	// Draft is the platform's id of the message that shows this answer while it is written
	// (Drafter), or "". Send replaces the content of that message with the complete answer.
	Draft string
	// Files are sent with the text, on channels that support files (Attacher).
	Files []Attachment
	// Guest reports whether the recipient is a guest, whose message this one answers. Messages to
	// the owner are sent first.
	Guest bool
	// MaybeRepeated reports whether a crash interrupted an earlier attempt, so that the text may
	// have arrived already.
	MaybeRepeated bool
	// Previews allows the platform to fetch the links in Text for a preview. Hob never sets it: the
	// request alone would send data to a server that hostile text chose. A driver whose platform
	// fetches links by default must disable previews in each message (channelstest.Previewer).
	Previews bool
}

// Attachment is a file sent with a message. It is a private copy: later changes to the original
// file do not affect it.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Path string `json:"path"` // path of the copy
}

// DeliveryRef returns the value of Inbound.ReplyTo that identifies a delivery by its id, for
// channels that store which message belongs to which delivery.
func DeliveryRef(delivery string) string { return "delivery:" + delivery }

// Receipt is the platform's confirmation of a delivery.
type Receipt struct {
	ID string `json:"id,omitempty"` // the platform's id of the message
	// Parts lists the ids of all messages of a split delivery, including the first one. The Manager
	// sets it.
	Parts []string `json:"parts,omitempty"`
}

// Channel is one connection to a messaging platform. Run receives messages until ctx ends and
// passes each to r; it returns nil only after ctx has ended. Send sends one delivery. It may be
// called concurrently with Run, but with itself only for different chats and up to Limits.Parallel. An error
// that the manager should act on is an *Error; other errors count as temporary.
type Channel interface {
	Run(ctx context.Context, r Receiver) error
	Send(ctx context.Context, d Delivery) (Receipt, error)
}

// PullChannel marks a channel whose clients fetch their messages. A delivery is complete when its
// row can be read, and Send is never called.
type PullChannel interface{ Pull() }

// Deduper marks a channel whose platform drops a second delivery with the same ID, so a
// delivery can be resent safely after a crash.
type Deduper interface{ Dedupes() }

// DeliveryFinder looks up a delivery on the platform after a crash during Send.
type DeliveryFinder interface {
	Find(ctx context.Context, d Delivery) (Receipt, bool, error)
}

// Allower is a channel on which the owner allows other people to write to Hob. Allow returns the
// allowed sender ids from the configuration and is called for each message; all other senders are
// rejected. A channel without Allow, or with an empty list, accepts only its owner. Text from
// allowed people stays untrusted, in a separate conversation.
type Allower interface{ Allow() []string }

// Limits holds the limits of a platform; the zero value means no limits.
type Limits struct {
	// MaxText is the maximum length of a message in characters. Longer messages are split.
	MaxText int
	// UTF16 reports whether the platform counts UTF-16 code units. Most emoji consist of two.
	UTF16 bool
	// PerMinute is the maximum number of messages per minute.
	PerMinute int
	// Parallel is the number of messages that Send can send at the same time, to different chats; 0 means 1. A
	// channel with PerMinute sends one at a time.
	Parallel int
	// MaxFile is the maximum file size in bytes; 0 means no files. See Attacher.
	MaxFile int64
	// Debounce is how long a message waits for the next one from the same person, so that several
	// short messages are answered together. The owner can configure another value.
	Debounce time.Duration
}

// Limiter is a channel with limits.
type Limiter interface{ Limits() Limits }

// channelLimits returns the limits of a channel.
func channelLimits(ch Channel) Limits {
	if l, ok := ch.(Limiter); ok {
		return l.Limits()
	}
	return Limits{}
}

// Attacher marks a channel whose Send accepts Delivery.Files, up to Limits.MaxFile each. On other
// channels, the text states the location of the files.
type Attacher interface{ Attaches() }

// Drafter is a channel that can show an answer while it is written. Draft shows the answer so far:
// if d.Draft is "", it posts d.Text in d.Chat, silently if possible; otherwise it replaces the text
// of that message. It returns the message's id. Draft may be called concurrently with Send and Run,
// at most every 1.5 s; its errors are only logged. The text is cut to fit in one message.
//
// A new message is sent with d.ID if the platform stores client ids. After a crash, or without a
// response, a DeliveryFinder looks up the message by that ID, and a platform that drops duplicates
// gets the same ID again. On other platforms such a message stays as it is.
type Drafter interface {
	Draft(ctx context.Context, d Delivery) (string, error)
}

// Connected marks channels with a long-lived connection. The manager restarts Run after the
// machine wakes, because a connection that died during sleep reports no error.
type Connected interface{ Connected() }

// ConnectionReporter is a channel that reconnects automatically while it runs. Link returns nil
// while the channel is connected or has not tried to connect, and otherwise the reason for the
// failure. It does not block.
type ConnectionReporter interface{ Link() error }

// Tester is a channel with a self-test. Test signs in and out, sends nothing, and returns a
// sentence with the result, such as "signed in as @hob on example".
type Tester interface {
	Test(ctx context.Context) (string, error)
}

// StatusDescriber is a channel that describes its status in a few words for the owner: "connected
// as @hob since 10:31". DescribeStatus may be called concurrently with all other methods.
type StatusDescriber interface{ DescribeStatus() string }

// StateStore stores the state that a driver needs after a restart, such as its read position. It
// holds a few values of at most 64 KiB each under short keys. Do not store message text. A value is
// durable when Set returns; a nil value deletes the key.
type StateStore interface {
	Get(ctx context.Context, key string) ([]byte, error) // returns nil if there is no value
	Set(ctx context.Context, key string, value []byte) error
}

// Deps holds the dependencies of a driver.
type Deps struct {
	Log *slog.Logger
	// Name is the user's name for Hob; "" means Hob.
	Name string
	// Secret resolves a secret reference in the configuration ("env:X", "keychain:x", "file:/x")
	// and returns plain values unchanged.
	Secret func(ref string) (string, error)
	// Network is the HTTP client; nil means a client that contacts only public hosts.
	Network *safehttp.Client
	// Keep is the driver's own state store. It is nil only for channels that are inspected, not
	// run.
	Keep StateStore
	// Dir is a folder for the channel's own files; it may not exist yet.
	Dir string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Scripts runs scripts on macOS and Windows. It is nil if Hob must not automate apps on this
	// machine.
	Scripts osrun.Runner
	// Account returns the configuration in the section [accounts.NAME].
	Account func(name string) (pim.Account, error)
	// Lists returns the owner's task lists, and Notes the owner's notes, as currently configured.
	// Each is nil if there are none.
	Lists func() []pim.Reminders
	Notes func() []pim.Notes
	// Buttons handles button presses on channels that support buttons. Nil disables buttons.
	Buttons ButtonHandler
}

// Reveal resolves a secret in the configuration with Secret. what names the secret in errors.
func (d Deps) Reveal(what, ref string) (string, error) {
	if ref == "" || d.Secret == nil {
		return ref, nil
	}
	s, err := d.Secret(ref)
	if err != nil {
		return "", fmt.Errorf("the %s: %w", what, err)
	}
	return s, nil
}

// Driver creates channels of one kind. Describe needs no configuration and does no I/O. New is
// called only for enabled sections and does no I/O. Its decode argument fills a struct strictly
// from that section: unknown keys are errors that name the line; fields carry `toml` tags.
type Driver interface {
	Describe() Description
	New(decode func(any) error, deps Deps) (Channel, error)
}

// Make implements New for a Driver. open creates the channel from its decoded configuration and
// from options that are zero outside of tests.
func Make[C, O any, T Channel](decode func(any) error, deps Deps, open func(C, Deps, O) (T, error)) (Channel, error) {
	var c C
	if err := decode(&c); err != nil {
		return nil, err
	}
	var o O
	return open(c, deps, o)
}

// Outbox is the part of the durable delivery queue that the manager uses.
type Outbox interface {
	// ClaimDeliveries marks due rows of the channel as sending and returns them, oldest first, with
	// guests' rows last. It returns at most one row per chat, to keep the order.
	ClaimDeliveries(ctx context.Context, channel string, n int) ([]Delivery, error)
	// InFlight returns the rows that are in state sending at startup, because a crash interrupted
	// them.
	InFlight(ctx context.Context, channel string) ([]Delivery, error)
	Delivered(ctx context.Context, id string, r Receipt) error
	// Retry requeues the row for the given time.
	Retry(ctx context.Context, id string, at time.Time, why string, maybeRepeated bool) error
	// DeadLetter marks the row dead.
	DeadLetter(ctx context.Context, id string, why string) error
	// Wake returns a channel that receives a signal when rows may have become due.
	Wake(channel string) <-chan struct{}
	// NextDelivery returns when the next waiting row of the channel is due.
	NextDelivery(ctx context.Context, channel string) (time.Time, bool, error)
}

// ErrUnfit means that a message cannot be accepted from any sender, for example because it has no
// text. A Receiver behind the Manager may return it; a channel only sees it wrapped with
// ErrStranger.
var ErrUnfit = errors.New("the message has no content that can be accepted")

// ErrStranger means that the sender is not allowed to write to Hob.
var ErrStranger = errors.New("the sender is neither the user nor on the channel's allow list")

// Class tells the manager how to handle a failed Send.
type Class uint8

// The classes of errors.
const (
	Temporary    Class = iota // retry with exponential backoff
	Later                     // retry at RetryAt
	Permanent                 // permanent failure: do not retry this delivery
	Unauthorized              // the owner must act: stop the channel until the next restart
	Unsupported               // the channel does not support this delivery
)

// Error is a Send error with its class.
type Error struct {
	Class   Class
	RetryAt time.Time // when to retry; zero: the manager chooses the time
	// MaybeSent reports whether the platform may have accepted the text, for example because the
	// connection broke before the response.
	MaybeSent bool
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error of the given class.
func Errorf(c Class, format string, args ...any) *Error {
	return &Error{Class: c, Err: fmt.Errorf(format, args...)}
}

// ClassOf returns the class of a Send error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return Unsupported
	}
	return Temporary
}
