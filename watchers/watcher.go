// Package watchers is the contract of everything that notices things by itself
// (Watcher, Driver, Signal) and the Manager that runs them: the table of
// watchers and schedules, their durable cursors, limits, supervision and the
// clock for those that fire at a time.
//
// A watcher has a kind with its own configuration, an action in plain words and
// a session to report to. A reminder is a oneshot or cron watcher whose action
// is Remind. What fires goes through a Sink, in one transaction with the
// watcher's cursor, so that nothing is lost or told twice over a crash.
package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hob/knowledge/store"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/safehttp"
)

// Mode says what happens when a watcher fires.
type Mode string

// The modes.
const (
	Notify Mode = "notify" // tell the owner, without any model call
	Remind Mode = "remind" // tell the owner the text they asked for
	Do     Mode = "do"     // run Action as a turn in a session of its own
)

// State of a watcher.
type State string

// The states.
const (
	Active State = "active"
	Paused State = "paused"
	Done   State = "done"   // a oneshot that fired, or a spent schedule
	Broken State = "broken" // stopped with LastError; the owner was told
)

// Missed says what happens to occurrences that passed while Hob was not there.
type Missed string

// The policies for missed occurrences.
const (
	RunOnce Missed = "run_once" // one late run for all of them (default)
	Skip    Missed = "skip"     // none, and the owner is told
	RunAll  Missed = "run_all"  // each, oldest first
)

// Spec is a stored watcher.
type Spec struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"` // file, cron, oneshot, ...
	Title  string          `json:"title"`
	Config json.RawMessage `json:"config"` // the kind's own, see its package
	Mode   Mode            `json:"mode"`
	// Action is what to do (Do) or say (Remind), in the owner's plain words.
	Action string `json:"action,omitempty"`
	// Report is the session in which the owner is told.
	Report string `json:"report"`
	// Agent is who set it up and runs it, "" for the default one.
	Agent string `json:"agent,omitempty"`
	// Source says what set it up when nobody asked for it by itself, such as
	// "template:housekeeper".
	Source string `json:"source,omitempty"`
	Missed Missed `json:"missed,omitempty"`
	// Provenance is Outside when outside text had a part in its making.
	Provenance provenance.Source `json:"provenance"`
	State      State             `json:"state"`
	Pace
	CreatedAt time.Time `json:"created_at"`
	FiredAt   time.Time `json:"fired_at,omitzero"` // last time
	Fired     int       `json:"fired"`
	NextAt    time.Time `json:"next_at,omitzero"` // for those that fire at a time
	// Zone is the owner's zone in which NextAt was computed; "" is the one of now.
	Zone      string `json:"zone,omitempty"`
	LastError string `json:"last_error,omitempty"`
}

// Signal is one thing a watcher noticed.
type Signal struct {
	// Key identifies the occurrence for ever: the same key fires once.
	Key string
	// Text says what happened in one line for the owner.
	Text string
	// Payload is the same for programs.
	Payload json.RawMessage
	// Source is Outside when Text or Payload hold text that Hob did not write,
	// such as a file's name or a mail's subject.
	Source provenance.Source
	// At is when it happened or was due. A Polled leaves it zero when its source
	// does not say.
	At time.Time
	// Late is how long after its time it fires; 0 when on time.
	Late time.Duration
	// Note says in words how it is not on time, such as "ran late, was due at
	// 08:00"; Text holds it too.
	Note string
	// Skipped is how many occurrences the policy Skip (or the bound of RunAll)
	// dropped. When it is not 0 the action must not run: the owner is only
	// told Text.
	Skipped int
	// Notice says that this is about the watcher itself, such as a source that
	// does not answer: the action must not run, the owner is only told Text.
	Notice bool
}

// Sink takes signals. With each batch the watcher's own progress is committed:
// save runs in the same transaction, and the call returns when both are
// durable. On an error neither is: an error of save must come back wrapped. A
// signal whose key is already known is dropped, and save still runs. There is
// at least one signal in a batch.
type Sink interface {
	Fire(ctx context.Context, watcher string, signals []Signal, save func(*store.Tx) error) error
	// Trouble tells that a watcher stopped working (once per kind of error).
	Trouble(ctx context.Context, watcher string, err error)
}

// ErrPermanent is wrapped by an error of Watcher.Run or Driver.New that only
// the owner can mend: the watcher becomes Broken and is not tried again until
// it is resumed.
var ErrPermanent = errors.New("this watcher cannot work as it is set up")

// Watcher is one running watcher of an event-driven kind. Run starts from its
// stored progress (nothing stored: takes a baseline, fires nothing), watches
// until ctx ends, and returns nil then; another error means it cannot go on
// now, and the manager tries again later (see ErrPermanent). fire may be called
// without signals to commit progress alone. After an error of fire Run returns
// it; what was not committed is found again by the next Run.
type Watcher interface {
	Run(ctx context.Context, fire func(ctx context.Context, s []Signal, save func(*store.Tx) error) error) error
}

// Timed is a watcher that fires at computed times; the manager keeps the clock.
type Timed interface {
	// Next returns the first nominal occurrence after t, in the owner's zone,
	// and false when there is none.
	Next(t time.Time) (time.Time, bool)
}

// Sparing is a Timed that may leave out a time which it gave before: what it leaves
// out can change meanwhile.
type Sparing interface {
	Timed
	Spares(at time.Time) bool
}

// Deps is what a driver may use.
type Deps struct {
	Store *store.Store
	Log   *slog.Logger
	// Zone returns the owner's current zone; it may change while running.
	Zone func() *time.Location
	// AllowedRead reports whether the owner let Hob look at this folder, by
	// configuration or by naming it; the error says how to allow it.
	AllowedRead func(path string) error
	// Account finds one of the owner's accounts that has a server ("imap",
	// "caldav"); the name "" is the only one that has. The error says which
	// there are, or how to add one.
	Account func(name, server string) (pim.Account, error)
	// Trouble tells that the watcher goes on, but not with everything ("cannot
	// look into ~/x: permission denied"). Told once per kind of error, which
	// stays the watcher's error until nil says that everything works again.
	Trouble func(ctx context.Context, watcher string, err error)
	// DayOff reports whether the owner has a day off; nil when that is not known.
	DayOff func(day time.Time) bool
	// Messages and Called are those of Options.
	Messages func(ctx context.Context, since time.Time, each func(Message) error) error
	Called   func(q store.Querier, name string) []string
	// Network is the way out to what a watcher asks; nil when there is none.
	Network *safehttp.Client
	// Secret resolves a reference to a secret, such as "keychain:github".
	Secret func(ref string) (string, error)

	passed func(Passed) // see Pass
}

// Driver makes watchers of one kind. New checks the configuration strictly
// (unknown keys are errors) and returns a Watcher, a Timed, a Polled or a Hearer; it does
// no I/O beyond looking whether what it should watch exists.
type Driver interface {
	Kind() string
	// Describe says in plain words what a configuration watches: "new PDF
	// files in ~/Downloads", "every weekday at 08:00".
	Describe(config json.RawMessage) string
	New(spec Spec, deps Deps) (any, error)
	// Migrations are the driver's own tables, nil when it has none.
	Migrations() []store.Set
}

// Keeper is a Driver with progress of its own in the database.
type Keeper interface {
	// Begin runs in the transaction that creates, restores or resumes the
	// watcher: from this instant on things count as new. What was stored for
	// the watcher before is replaced.
	Begin(tx *store.Tx, spec Spec) error
	// Forget removes what is stored for the watcher.
	Forget(tx *store.Tx, watcher string) error
}

// Placer is a Driver whose descriptions contain times: DescribeIn gives them in
// the zone loc.
type Placer interface {
	DescribeIn(config json.RawMessage, loc *time.Location) string
}
