// Package watchers defines the contract of all event detectors (Watcher, Driver, Signal) and the
// Manager that runs them. The Manager owns the table of watchers and schedules, their durable
// cursors, limits, supervision, and the clock of the timed kinds.
//
// A watcher has a kind with its own configuration, an action in plain words, and a session that
// receives its reports. A reminder is a oneshot or cron watcher with the mode Remind. Signals are
// sent to a Sink, in one transaction with the watcher's cursor, so that a crash neither loses nor
// repeats a signal.
package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Mode selects what happens when a watcher fires.
type Mode string

// Values of Mode.
const (
	Notify Mode = "notify" // notify the user, without a model call
	Remind Mode = "remind" // send the user the requested text
	Do     Mode = "do"     // run Action as a turn in a separate session
	Show   Mode = "show"   // send the user the text of an intent
	Tell   Mode = "tell"   // send the text of an intent to the person whose message made it fire
)

// State is the state of a watcher.
type State string

// Values of State.
const (
	Active State = "active"
	Paused State = "paused"
	Done   State = "done"   // a oneshot that fired, or a schedule without further times
	Broken State = "broken" // stopped because of LastError; the user was notified
)

// MisfirePolicy selects how to handle occurrences that passed while Hob was not running.
type MisfirePolicy string

// Values of MisfirePolicy.
const (
	RunOnce MisfirePolicy = "run_once" // one late run for all missed occurrences (default)
	Skip    MisfirePolicy = "skip"     // no run; the user is notified
	RunAll  MisfirePolicy = "run_all"  // one run for each missed occurrence, oldest first
)

// Spec is a stored watcher.
type Spec struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // file, cron, oneshot, ...
	// Timed is true if the kind fires at set times instead of on events. The manager sets it.
	Timed  bool            `json:"-"`
	Title  string          `json:"title"`
	Config json.RawMessage `json:"config"` // defined by the kind; see its package
	Mode   Mode            `json:"mode"`
	// Action is the task (Do) or the text (Remind) in the user's words.
	Action string `json:"action,omitempty"`
	// Report is the session that receives the notices.
	Report string `json:"report"`
	// Agent is the agent that created the watcher and runs its action, "" for the default one.
	Agent string `json:"agent,omitempty"`
	// Source is the origin of a watcher that the user did not directly request, such as
	// "template:housekeeper".
	Source string        `json:"source,omitempty"`
	Missed MisfirePolicy `json:"missed,omitempty"`
	// Priority of a reminder: "low", "medium", "high", "critical", or "" for the default.
	Priority string `json:"priority,omitempty"`
	// Provenance is Outside if untrusted text influenced the creation of the watcher.
	Provenance provenance.Source `json:"provenance"`
	State      State             `json:"state"`
	PollPolicy
	CreatedAt time.Time `json:"created_at"`
	FiredAt   time.Time `json:"fired_at,omitzero"` // time of the last firing
	Fired     int       `json:"fired"`
	NextAt    time.Time `json:"next_at,omitzero"` // time of the next occurrence; only for timed kinds
	// Zone is the user's zone in which NextAt was computed; "" means the current zone.
	Zone      string `json:"zone,omitempty"`
	LastError string `json:"last_error,omitempty"`
}

// Signal is one event that a watcher detected.
type Signal struct {
	// Key identifies the occurrence permanently. Each key fires only once.
	Key string
	// Text describes the event in one line for the user.
	Text string
	// Payload is the event as JSON, for programs.
	Payload json.RawMessage
	// Source is Outside if Text or Payload contains text that Hob did not write, such as the name
	// of a file or the subject of an email.
	Source provenance.Source
	// At is the time at which the event happened or was due. A Polled leaves it zero if its source
	// has no time.
	At time.Time
	// Late is the delay after the nominal time; 0 if on time.
	Late time.Duration
	// Note describes the delay in words, such as "ran late, was due at 08:00". Text includes this
	// note.
	Note string
	// Skipped is the number of occurrences dropped by the policy Skip or by the limit of RunAll. If
	// it is not 0, the action must not run; the user only gets Text.
	Skipped int
	// Last marks the only signal of an intent that fires once. The watcher is finished with it.
	Last bool
	// Notice marks a signal about the watcher itself, for example if the source does not answer.
	// The action must not run; the user only gets Text.
	Notice bool
}

// Sink receives signals. Each batch is committed together with the watcher's progress: save runs in
// the same transaction, and the call returns when the signals and the progress are durable. After
// an error, none of them is stored. Fire must wrap an error of save. A signal with a known key is
// dropped, but save still runs. A batch contains at least one signal.
type Sink interface {
	Fire(ctx context.Context, watcher string, signals []Signal, save func(*store.Tx) error) error
	// ReportError reports that a watcher stopped working (once per kind of error).
	ReportError(ctx context.Context, watcher string, err error)
}

// ErrPermanent is wrapped by errors of Watcher.Run or Driver.New that only the user can fix. The
// watcher becomes Broken and is not retried until the user resumes it.
var ErrPermanent = errors.New("this watcher cannot work with its configuration")

// Watcher is a running watcher of an event-driven kind. Run continues from its stored progress.
// Without stored progress it takes a baseline and fires nothing. It watches until ctx ends and then
// returns nil. After any other error the manager retries later (see ErrPermanent). Run may call
// fire without signals to commit only progress. If fire returns an error, Run returns the error,
// and the next Run finds the uncommitted signals again.
type Watcher interface {
	Run(ctx context.Context, fire func(ctx context.Context, s []Signal, save func(*store.Tx) error) error) error
}

// Timed is a watcher that fires at computed times. The manager provides the clock.
type Timed interface {
	// Next returns the first nominal occurrence after t, in the user's zone, or false if there is
	// none.
	Next(t time.Time) (time.Time, bool)
}

// ExceptionFilter is a Timed that may exclude a time that it returned earlier, because its
// exceptions can change.
type ExceptionFilter interface {
	Timed
	Spares(at time.Time) bool
}

// Deps contains the dependencies of a driver.
type Deps struct {
	Store *store.Store
	Log   *slog.Logger
	// Zone returns the user's current zone. The zone may change while the watcher runs.
	Zone func() *time.Location
	// AllowedRead returns an error unless the user allowed Hob to read this folder, by
	// configuration or by naming it. The error explains how to allow it.
	AllowedRead func(path string) error
	// Account finds one of the user's accounts with a server ("imap", "caldav"). If name is "", it
	// selects the only such account. The error lists the accounts or explains how to add one.
	Account func(name, server string) (pim.Account, error)
	// Feeds returns the calendar subscriptions. It may be nil.
	Feeds func() []pim.EventReader
	// Trouble reports that the watcher continues but that only a part of it works ("cannot look
	// into ~/x: permission denied"). The user is notified once per kind of error. The error is the
	// watcher's LastError until Trouble is called with nil.
	Trouble func(ctx context.Context, watcher string, err error)
	// DayOff reports whether the user has a day off. It is nil if the days off are unknown.
	DayOff func(day time.Time) bool
	// Messages and Called are described in Options.
	Messages func(ctx context.Context, since time.Time, each func(Message) error) error
	Called   func(q store.Querier, name string) []string
	// Network is the HTTP client for sources. It is nil if network access is not configured.
	Network *safehttp.Client
	// Resources reads the resources of MCP servers. It is nil if there are none.
	Resources Resources
	// Search searches the web. It is nil if no search service is configured.
	Search SearchFunc
	// Secret resolves a reference to a secret, such as "keychain:github".
	Secret func(ref string) (string, error)

	passed func(SuppressedSignal) // see Pass
}

// SearchFunc searches the web with the configured service and returns at most limit results, best
// first. It may be called concurrently.
type SearchFunc func(ctx context.Context, query string, limit int) ([]SearchResult, error)

// SearchResult is a result of a web search. Its texts are untrusted.
type SearchResult struct{ Title, URL, Snippet string }

// Driver creates watchers of one kind. New checks the configuration strictly (unknown keys are
// errors) and returns a Watcher, a Timed, a Polled or a MessageWatcher. Its only I/O is to check
// that the watched item exists.
type Driver interface {
	// Describe does not depend on a configuration and does no I/O.
	Describe() Description
	// DescribeConfig describes a configuration in plain words: "new PDF files in ~/Downloads",
	// "every weekday at 08:00".
	DescribeConfig(config json.RawMessage) string
	New(spec Spec, deps Deps) (any, error)
	// Migrations returns the driver's own tables, or nil if it has none.
	Migrations() []store.MigrationSet
}

// StatefulDriver is a Driver that stores progress in its own tables.
type StatefulDriver interface {
	// Begin runs in the transaction that creates, restores or resumes the watcher. Events after
	// this moment are new. Begin replaces the stored progress of the watcher.
	Begin(tx *store.Tx, spec Spec) error
	// Forget removes the stored progress of the watcher.
	Forget(tx *store.Tx, watcher string) error
}

// NotifiedDriver is a Driver whose watchers receive changes of paths from the system.
type NotifiedDriver interface {
	// WithoutSystem returns a driver for simulations: its watchers receive notifications only from
	// notify, not from the system, and mapPath replaces each configured path.
	WithoutSystem(mapPath func(path string) string) (d Driver, notify func(path string))
}

// ZoneDescriber is a Driver whose descriptions contain times. DescribeConfigIn formats them in the zone loc.
type ZoneDescriber interface {
	DescribeConfigIn(config json.RawMessage, loc *time.Location) string
}
