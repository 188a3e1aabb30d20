// Package service implements the use cases of autonomy/api with the engine. It converts the
// engine's types to the API's types and classifies the engine's errors. It does not depend on HTTP
// or the drivers. For what it needs from a driver, it defines small interfaces, which the driver
// implements.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/intake"
	"hob/autonomy/mind/consolidate"
	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/notify"
	"hob/autonomy/replay"
	"hob/autonomy/session"
	"hob/autonomy/undo"
	"hob/autonomy/usage"
	"hob/channels"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/text/redact"
	"hob/tools"
	"hob/watchers"
)

// Options holds the parts of the engine that the service uses. All are required unless their comment says otherwise.
type Options struct {
	Loop      *autonomy.Loop
	Replayer  *replay.Replayer
	Explain   *explain.Explainer
	Intake    *intake.Intake
	Approvals *approvals.Decider
	Bus       *bus.Bus
	Guard     *guard.Guard
	Clients   *clients.Store
	// Skills provides the skills for external programs. Nil means that there are none.
	Skills   SkillPrompts
	Store    *store.Store
	Sessions *session.Sessions
	// Compactor shortens conversations, and Extractor finds facts in them.
	Compactor *session.Compactor
	Extractor *extract.Extractor
	Messages  *session.MessageIndex
	Learner   *learn.Learner
	Notices   *notify.Notifier
	Agents    *agents.Registry
	Goals     *goals.Goals
	Watchers  *watchers.Manager
	Usage     *usage.Tracker
	Catalog   *tools.Catalog
	Channels  *channels.Manager
	// ChannelSetup shows and tests the configured channels.
	ChannelSetup ChannelSetup
	Pairings     *pairing.Pairings
	Memory       *knowledge.Base
	Consolidator *consolidate.Consolidator
	Erasing      *knowledge.ErasureService
	Graph        Graph
	Index        Index
	Vectors      Vectors
	Transfer     Transfer
	Documents    DocumentLister
	Files        Files
	MCP          api.MCP
	Tasks        api.Tasks
	Notes        api.Notes
	Spending     api.Spending
	Canvas       api.Canvas
	Process      Process
	Examiner     Examiner
	Redact       *redact.Set // removes secrets from what channels report
	Config       *config.Config
	Revisions    config.Revisions // revisions of the configuration
	// Restart initiates a restart of the process with the configuration in the file, without waiting
	// for it. Nil means that the process cannot restart itself.
	Restart func()
	// Problems lists the faults that other parts of the process work around.
	Problems func(ctx context.Context) []api.Problem
	// Accounts signs in to new mail accounts.
	Accounts AccountAdder
	// CheckConfig finds the mistakes in a configuration that only the drivers can detect.
	CheckConfig func(ctx context.Context, c *config.Config) error
	// SettingChecks are the checks of hob config set that only the drivers know.
	SettingChecks []func(*config.Config) error
	Undo          *undo.Reverter
	Triggers      map[string]intake.Trigger
	Paths         system.Paths
	Version       string
	Log           *slog.Logger
	Started       time.Time
	// Daemon reports whether a daemon runs the engine. It is false for a command that runs the
	// engine itself.
	Daemon bool
	// Model returns the name of the model and the reason why it was chosen.
	Model func() (name, reason string)
	// Zone returns the user's time zone.
	Zone func() *time.Location
	// Plan returns the sources of the daily plan.
	Plan func() []tools.BriefSource
	// PricesAsOf returns the date of the model prices.
	PricesAsOf func() string
}

// Service implements the interfaces of package api.
type Service struct {
	api.MCP

	o      Options
	day    cachedPlan
	conf   configState
	saving sync.Mutex // held while the configuration is changed
}

// New returns a service that uses the given parts of the engine.
func New(o Options) *Service {
	return &Service{MCP: o.MCP, o: o, conf: configState{wake: make(chan struct{}, 1)}}
}

// Classify converts the engine's errors to the error classes of the API.
func Classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("%w: %w", api.ErrFull, err)
	case errors.Is(err, store.ErrAway):
		return fmt.Errorf("%w: %w", api.ErrAway, err)
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Errorf("%w: %w; GET /api/v1/inbox lists the ids of events, and /api/v1/deliveries those of messages", api.ErrNotFound, err)
	case errors.Is(err, session.ErrNoSession):
		return fmt.Errorf("%w: %w; see: hob session list", api.ErrNotFound, err)
	case errors.Is(err, session.ErrNoTurn):
		return fmt.Errorf("%w: %w; list the messages and turns with: hob session show SESSION --json", api.ErrNotFound, err)
	case errors.Is(err, replay.ErrNotReplayed):
		return fmt.Errorf("%w: %w; see: hob why", api.ErrInvalid, err)
	case errors.Is(err, session.ErrExists):
		return fmt.Errorf("%w: %w; choose another name", api.ErrConflict, err)
	case errors.Is(err, session.ErrNoWords):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, pairing.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob channel list", api.ErrNotFound, err)
	case errors.Is(err, clients.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob mcp token --list, and: hob a2a token --list", api.ErrNotFound, err)
	case errors.Is(err, clients.ErrExists):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, clients.ErrInvalid), errors.Is(err, clients.ErrTooManyCalls):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, clients.ErrUnknownToken):
		return fmt.Errorf("%w: %w; create a token with: hob mcp token NAME", api.ErrDenied, err)
	case errors.Is(err, guard.ErrNoGrant):
		return fmt.Errorf("%w: %w; see: hob grant list", api.ErrNotFound, err)
	case errors.Is(err, guard.ErrGrant), errors.Is(err, guard.ErrScope):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	case errors.Is(err, guard.ErrNoApproval):
		return fmt.Errorf("%w: %w; see: hob approvals list --all", api.ErrNotFound, err)
	case errors.Is(err, watchers.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob watch list", api.ErrNotFound, err)
	case errors.Is(err, learn.ErrNotFound):
		return fmt.Errorf("%w: %w; see: hob memory lessons list --all, and: hob memory user list", api.ErrNotFound, err)
	case tools.CodeOf(err) == tools.Conflict:
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, guard.ErrBeforehand):
		return fmt.Errorf("%w: %w; answer the original request", api.ErrDenied, err)
	case errors.Is(err, guard.ErrDecided), errors.Is(err, intake.ErrKeyReused):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, intake.ErrTooLong), errors.Is(err, intake.ErrNotText), errors.Is(err, intake.ErrEmpty), errors.Is(err, intake.ErrMixed):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return err
}
