// Package channels is the contract between Hob and the places where its owner
// talks with it (Channel, Driver, Inbound, Delivery) and the Manager that runs
// them: supervision, allow-lists, splitting, rate limits and durable delivery
// with retries are the same for every channel and live here, not in drivers.
package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hob/platform/osrun"
	"hob/platform/pim"
	"hob/platform/safehttp"
)

// Inbound is one message as a channel heard it.
type Inbound struct {
	Channel string // the driver's name
	Chat    string // where an answer goes: a chat id, an address
	// Group: several people write and read in this chat. Sender is then required.
	Group bool
	// ChatName is what the chat is called there, and Server the id of the server
	// or workspace it belongs to; "" where the platform has none.
	ChatName, Server string
	// Session is the conversation; empty means "channel:chat", and in a group
	// "channel:chat:sender", so that no member reads what another told Hob.
	Session    string
	Sender     string // stable id of the person at the platform
	SenderName string
	// FromOwner: the channel has proof (a token, a paired account) that the
	// owner wrote Text. Text of anybody else is outside text.
	FromOwner bool
	// Forwarded: the sender passed Text on, and somebody else wrote it.
	Forwarded bool
	// Mentioned: what was said in a group was said to Hob. It names Hob, answers one
	// of its messages, or is a command to it.
	Mentioned bool
	// Unknown: which program handed the message in could not be found out. It is
	// heard, and decides nothing: no question is answered by it.
	Unknown bool
	// Client names the program that sent the message over the API, by an id of its own
	// choice: a page, a terminal. "" on every other channel. A bare yes answers only what
	// this client has shown.
	Client string
	// ReplyTo are the platform's ids of the message that this one replies to, as in
	// Receipt, or "delivery:" and the id of the delivery. Threaded: it is the first message
	// of a thread, in which others may have come since.
	ReplyTo  []string
	Threaded bool
	// OnlyReplies: on this channel an approval has to reply to its question.
	OnlyReplies bool
	Text        string
	// Outside is further text that came along and is not the owner's, such as
	// quoted mail or the history a client sent.
	Outside []string
	// OutsideFrom[i] says where Outside[i] came from, as far as a client said so. It
	// may be shorter than Outside: append to Outside only, never insert.
	OutsideFrom []TextSource
	// Images that came along, for the model to see. A driver puts pictures into
	// Files like everything else; those that a model can see become Images.
	Images []Image
	// Files that came along. They are fetched before the message is taken, as far as
	// the Manager's limits allow.
	Files []File
	// Via names the entry point for the audit log when it is not the channel
	// itself: "openai" for the OpenAI-compatible endpoint.
	Via string
	// Key is the platform's own id of the message; the same key is taken once.
	Key string
	// Payload is kept with the event for the channel's own use.
	Payload json.RawMessage
	At      time.Time
	// Settle is how long the message waits for the next one of the same person, so
	// that both are answered together. The Manager sets it.
	Settle time.Duration
}

// Conversation is the session to which a message belongs that names none.
// shared: the members of a group share one.
func (in Inbound) Conversation(shared bool) string {
	id := in.Channel + ":" + in.Chat
	if in.Group && !shared {
		id += ":" + in.Sender
	}
	return id
}

// File is something that came with a message and is still at the platform.
type File struct {
	Name string // as its sender called it; it is not trusted
	MIME string // as the platform says; "" when it does not
	Size int64  // in bytes, as the platform says; 0 when it does not
	// Open fetches it. What it returns is read up to the Manager's limit and closed.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Image is a picture that came with a message.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Accepted tells a channel that a message is durable.
type Accepted struct {
	Event string // id of the inbox event; for a repeated Key the first one's
	// Repeated: this Key had been taken before.
	Repeated bool
	// Position counts what the session has to finish first; 0 means at once.
	Position int
}

// Receiver takes messages. When Receive returns nil the message is durable and
// may be acknowledged to the platform; on an error it was not taken. After
// ErrStranger it never will be: acknowledge it and forget it.
type Receiver interface {
	Receive(ctx context.Context, in Inbound) (Accepted, error)
}

// Knower is a Receiver that is asked about a message before the files that came with it
// are fetched. Known reports whether it was taken before, and answers ErrStranger when
// it would not be taken.
type Knower interface {
	Known(ctx context.Context, in Inbound) (Accepted, bool, error)
}

// Doorkeeper is a Receiver that is asked whether it matters who wrote a message, before a
// channel goes to lengths to find out: Admits reports whether it would be taken if Sender
// were proved. That is so for the owner, for who is let in, and while the owner may be
// pairing.
type Doorkeeper interface {
	Admits(ctx context.Context, in Inbound) (bool, error)
}

// Overhearer is a Receiver that is also shown what is not taken because of who
// wrote it: nothing is answered, but the owner may have asked to hear of it.
type Overhearer interface {
	Overhear(ctx context.Context, in Inbound) error
}

// DeliveryKind says what an outbound text is.
type DeliveryKind string

// The kinds of deliveries. Each message gets exactly one Reply.
const (
	Reply    DeliveryKind = "reply"
	Notice   DeliveryKind = "notice"
	Question DeliveryKind = "question"
	Status   DeliveryKind = "status"
	// Send is a text to somebody who is not the owner, in his name. Until its time
	// has come it can be called back.
	Send DeliveryKind = "send"
)

// State is where a delivery stands.
type State string

// The states of a delivery.
const (
	Queued  State = "queued"
	Sending State = "sending"
	Sent    State = "sent"
	Failed  State = "failed" // will be tried again
	Dead    State = "dead"   // given up; the owner was told
	// Cancelled: called back before it went out.
	Cancelled State = "cancelled"
)

// Delivery is one outbound text.
type Delivery struct {
	ID        string // also the idempotency key for platforms that take one
	Event     string
	Kind      DeliveryKind
	Session   string
	Channel   string
	Chat      string
	Text      string
	Attempts  int
	CreatedAt time.Time
	// Cause is the Payload of the message that this text belongs to; nil when it
	// belongs to none.
	Cause json.RawMessage
	// Draft is the platform's id of the message in which this answer has been seen
	// growing (Drafter): Send puts the whole answer in its place. "": there is none.
	Draft string
	// Files go along, on a channel that takes them (Attacher).
	Files []Attachment
	// Guest: it goes to somebody who is not the owner, because of what that person wrote.
	// The owner's texts go first.
	Guest bool
	// MaybeRepeated: an earlier attempt was cut off by a crash, and nobody
	// knows whether it arrived.
	MaybeRepeated bool
	// Previews allows the platform to fetch the links in Text so as to show what
	// is behind them. Hob never sets it: the fetching alone would tell whoever a
	// link names what a hostile text has written into it. A driver whose platform
	// does so by itself asks it not to with each text (channelstest.Previewer).
	Previews bool
}

// Attachment is a file that goes along with a text. It is a copy of Hob's own: what
// becomes of the original meanwhile changes nothing.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Path string `json:"path"` // where the copy is
}

// DeliveryRef is how Inbound.ReplyTo names a delivery by its own id, on a channel that
// knows which of its messages came of which delivery.
func DeliveryRef(delivery string) string { return "delivery:" + delivery }

// Receipt is the platform's word that a delivery arrived.
type Receipt struct {
	ID string `json:"id,omitempty"` // the platform's id of the message
	// Parts are the ids of all messages of a text that was split, the first one included.
	// The Manager sets it.
	Parts []string `json:"parts,omitempty"`
}

// Channel is one place to talk. Run hears until ctx ends, handing each message
// to r; it returns nil only after ctx ended. Send says one text; it may be
// called concurrently with Run but not with itself. Its errors are *Error when
// the manager should act on them; others count as temporary.
type Channel interface {
	Run(ctx context.Context, r Receiver) error
	Send(ctx context.Context, d Delivery) (Receipt, error)
}

// Puller marks a channel whose clients fetch what is said to them: a delivery
// is done once its row can be read, and Send is never called.
type Puller interface{ Pull() }

// Deduper marks a channel whose platform drops a second delivery with the same
// ID: after a crash it can be sent again without harm.
type Deduper interface{ Dedupes() }

// Finder looks a delivery up at the platform, after a crash in mid-send.
type Finder interface {
	Find(ctx context.Context, d Delivery) (Receipt, bool, error)
}

// Allower is a channel whose owner lets other people write to Hob. Allow
// returns the sender ids of its configuration, as they are known at the time, and
// is asked with each message; nobody else is heard. A channel without it, or with an
// empty list, hears its owner only. What these people write stays outside text, in a
// conversation of their own.
type Allower interface{ Allow() []string }

// Limits of a platform; the zero value means none.
type Limits struct {
	// MaxText is the longest text in characters; longer ones are split.
	MaxText int
	// UTF16: the platform counts UTF-16 code units, of which an emoji has two.
	UTF16 bool
	// PerMinute bounds how many texts may be sent in a minute.
	PerMinute int
	// MaxFile is the largest file that may go along, in bytes; 0: none may. See
	// Attacher.
	MaxFile int64
	// Settle is how long a message waits for the next one of the same person, so that
	// several short ones are answered together; the owner can set another time.
	Settle time.Duration
}

// Limiter is a channel with limits.
type Limiter interface{ Limits() Limits }

// limits are those of a channel.
func limits(ch Channel) Limits {
	if l, ok := ch.(Limiter); ok {
		return l.Limits()
	}
	return Limits{}
}

// Attacher marks a channel whose Send takes Delivery.Files, up to Limits.MaxFile
// each. On any other channel the text says where the files lie.
type Attacher interface{ Attaches() }

// Drafter is a channel on which an answer can be seen while it is being written.
// Draft shows the answer as far as it is known: it posts d.Text in d.Chat, silently
// where the platform can, when d.Draft is "", and else puts it in the place of that
// message. It returns the message's id, is called concurrently with Send and Run, not
// more often than every 1.5 s, and its errors are only logged. The text is cut so that
// it fits into one message.
//
// A new message goes out with d.ID where the platform keeps an id of ours with it: after
// a crash, or an answer that never came, a Finder is asked for the message by that ID,
// and a platform that drops second copies gets the same ID again. On any other platform
// such a message stays as it is.
type Drafter interface {
	Draft(ctx context.Context, d Delivery) (string, error)
}

// Connected marks a channel that holds a connection: Run is begun anew as soon as the
// machine has woken from sleep, since nobody tells a connection that it is dead.
type Connected interface{ Connected() }

// Linked is a channel that connects again by itself while it runs: Link is nil while it is
// connected, or has not tried yet, and otherwise why it is not. It returns at once.
type Linked interface{ Link() error }

// Tester is a channel that can be tried: Test signs in and out, sends nothing, and
// returns in a sentence what it found, such as "signed in as @hob on example".
type Tester interface {
	Test(ctx context.Context) (string, error)
}

// Describer is a channel that tells how it stands, in a few words for its owner:
// "connected as @hob since 10:31". It is called concurrently with everything.
type Describer interface{ Describe() string }

// Keeper keeps what a driver has to know after a restart, such as where it has read
// to: a few values of at most 64 KiB by short keys. No words of anybody belong there.
// A value is written when Set returns; nil takes it away.
type Keeper interface {
	Get(ctx context.Context, key string) ([]byte, error) // nil: nothing is kept
	Set(ctx context.Context, key string, value []byte) error
}

// Deps is what a driver may use.
type Deps struct {
	Log *slog.Logger
	// Name is what the owner calls Hob; "": Hob.
	Name string
	// Secret resolves a secret reference of the configuration ("env:X",
	// "keychain:x", "file:/x"); plain values come back as they are.
	Secret func(ref string) (string, error)
	// Network is the way to addresses; nil means one that reaches public hosts
	// alone.
	Network *safehttp.Client
	// Keep is the driver's own memory. nil only where channels are made to be looked
	// at, not run.
	Keep Keeper
	// Dir is a folder of the channel's own for files that it needs while it runs; it
	// need not exist yet.
	Dir string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Scripts runs the scripts of macOS and Windows; nil where programs of this machine
	// are left alone.
	Scripts osrun.Runner
	// Account finds what the owner has configured under [accounts.NAME].
	Account func(name string) (pim.Account, error)
	// Lists are the owner's lists of things to do, and Notes his notes, as they are set
	// up at the time; nil where there are none to be had.
	Lists func() []pim.Reminders
	Notes func() []pim.Notes
	// Buttons is there for channels on which texts can be answered with a press;
	// nil: without buttons.
	Buttons Buttons
}

// Reveal resolves a secret of the configuration with Secret. An error names it as what.
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

// Driver makes channels of one kind. Name is its configuration section. New
// gets decode, which fills a struct strictly from that section (unknown keys
// are errors that name the line; fields carry `toml` tags); it does no I/O. It is
// asked only for sections that are switched on.
type Driver interface {
	Name() string
	New(decode func(any) error, deps Deps) (Channel, error)
}

// Make is New of a Driver whose channels are made of their configuration by open, with
// options that are zero outside of tests.
func Make[C, O any, T Channel](decode func(any) error, deps Deps, open func(C, Deps, O) (T, error)) (Channel, error) {
	var c C
	if err := decode(&c); err != nil {
		return nil, err
	}
	var o O
	return open(c, deps, o)
}

// Outbox is the durable queue of what is to be said, as the manager needs it.
type Outbox interface {
	// ClaimDeliveries marks due rows of the channel as sending and returns
	// them, those of guests last, and the oldest first; at most one per chat, so that
	// order is kept.
	ClaimDeliveries(ctx context.Context, channel string, n int) ([]Delivery, error)
	// Unsettled returns rows found in sending at start: a crash cut them off.
	Unsettled(ctx context.Context, channel string) ([]Delivery, error)
	Delivered(ctx context.Context, id string, r Receipt) error
	// Retry puts the row back to be tried at the given time.
	Retry(ctx context.Context, id string, at time.Time, why string, maybeRepeated bool) error
	// GiveUp marks the row dead.
	GiveUp(ctx context.Context, id string, why string) error
	// Wake is signalled when rows may have become due.
	Wake(channel string) <-chan struct{}
	// NextDelivery is when the next waiting row of the channel is due.
	NextDelivery(ctx context.Context, channel string) (time.Time, bool, error)
}

// ErrUnfit means that a message can never be taken, whoever wrote it: it has no words,
// say. A Receiver that stands behind the Manager may answer it; a channel never sees
// it without ErrStranger.
var ErrUnfit = errors.New("the message has no content that can be accepted")

// ErrStranger means that the message came from somebody the owner does not let in.
var ErrStranger = errors.New("the sender is neither the owner nor on the channel's allow list")

// Class tells the manager what to do about a failed Send.
type Class uint8

// The classes of errors.
const (
	Temporary    Class = iota // try again with growing waits
	Later                     // try again at RetryAt
	Permanent                 // never works: give this text up
	Unauthorised              // the channel needs its owner: stop until restart
	Unsupported               // this channel cannot do that
)

// Error is a failed Send with its class.
type Error struct {
	Class   Class
	RetryAt time.Time // for Later; zero lets the manager choose
	// MaybeSent: the platform may have taken the text all the same, such as
	// after a connection that broke before the answer came.
	MaybeSent bool
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of the given class.
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
