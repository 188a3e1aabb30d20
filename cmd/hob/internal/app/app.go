// Package app is the composition root: it opens the store, creates and configures every
// part, connects them in order, runs them and closes them in reverse. The commands (with or
// without a listening server) and the end-to-end tests use it. It contains no logic.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/config"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/guard/rules"
	"hob/autonomy/intake"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/notify"
	"hob/autonomy/replay"
	"hob/autonomy/service"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/autonomy/turn/results"
	"hob/autonomy/undo"
	"hob/autonomy/usage"
	"hob/channels"
	"hob/channels/web"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/graph"
	"hob/knowledge/index"
	"hob/knowledge/ingest"
	"hob/platform/host/browser"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/host/tray"
	"hob/platform/net/hooksig"
	"hob/platform/net/release"
	"hob/platform/net/safehttp"
	"hob/platform/pim/sources"
	"hob/platform/store"
	"hob/platform/text/holidays"
	"hob/platform/text/redact"
	"hob/tools"
	toolsall "hob/tools/all"
	"hob/tools/files"
	"hob/tools/files/containertool"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// Options of Open.
type Options struct {
	Paths   system.Paths
	Config  *config.Config
	Log     *slog.Logger
	Version string
	// InProcess: a command uses the engine without a daemon. Nothing listens, no watcher or
	// schedule runs, and nothing is sent unprompted.
	InProcess bool
	// Helper starts this program as the helper of commands (command.Serve); nil:
	// no command runs.
	Helper []string
	// Reader starts this program as the reader of documents (document.Serve);
	// nil: no PDF is read.
	Reader []string
	// HTTP is the client for model providers; nil means the default client.
	HTTP *http.Client
	// Network controls access to untrusted addresses; the configuration completes it. Tests set
	// their own resolver and connections.
	Network safehttp.Options
	// Tools are added to those of tools/all.
	Tools []tools.Tool
	// Peer identifies the process behind a connection to the API; nil: as described in
	// docs/approvals.md. Tests whose browser is a child process set it.
	Peer func(client, server string, thorough bool) web.Peer
	// Desktop: the desktop channel is on without a section. The caller must know whether there
	// is a desktop.
	Desktop bool
	// Tray shows an icon with a menu if the desktop supports it, unless the configuration or
	// InProcess disables it.
	Tray bool
	// Screen: the desktop tools use the real desktop. Otherwise they report that there is none;
	// tests must not type into the developer's windows.
	Screen bool
	// Session is the environment for finding the desktop, players, sound, battery and so on; nil
	// means the environment of this process, if Screen is set.
	Session func(string) string
	// Started reports whether a program started by Hob is running; nil looks it up. Tests whose
	// desktop is a child process set it.
	Started func() (bool, error)
	// Quick is how long an approval request must be visible before a click approves it (default
	// 1.5 s).
	Quick time.Duration
	// Scripts runs scripts of the apps of this machine; nil means osascript or PowerShell.
	// Tests set a fake Mac.
	Scripts osrun.Runner
	// Release is the built-in address of releases and their public key. ReleaseDelay is the time
	// from the start to the first update check; 0 means the default.
	Release      release.Source
	ReleaseDelay time.Duration
	// Drivers replace those of the same names in channels/all, for fake platforms in tests.
	Drivers []channels.Driver
	// Channels are added to those of the configuration.
	Channels map[string]channels.Channel
	// UserHome is the meaning of "~" for tools; "" means the user's home folder.
	UserHome string
	// Play replaces the ends where time is played; nil: they are the real ones.
	Play *Simulation
}

// App is all of Hob in one process. Call Open, then Run, then Close.
type App struct {
	opt       Options
	started   time.Time
	zone      func() *time.Location
	secrets   *system.Secrets
	redact    *redact.Set
	store     *store.Store
	bus       *bus.Bus
	guard     *guard.Guard
	sessions  *session.Sessions
	library   *session.MessageIndex
	watchers  *watchers.Manager
	channels  *channels.Manager
	hooks     map[string]channels.WebhookReceiver
	pairings  *pairing.Pairings
	browser   *browser.Browser // nil: off
	network   *safehttp.Client
	results   *results.Store
	tools     []tools.Tool // all tools, including those unavailable here
	catalogue *tools.Catalogue
	crew      *agents.Registry
	goals     *goals.Goals
	plan      *goals.Plan
	notices   *notify.Notifier
	facts     goals.Sources
	boxes     *containertool.Boxes
	files     *files.Files
	base      *knowledge.Base
	vectors   *embed.Vectors // nil: off
	index     *index.Index
	erasing   *knowledge.ErasureService
	scripts   osrun.Runner // nil: no app scripts
	documents *ingest.Library
	folders   *ingest.Sync
	usage     *usage.Tracker
	prices    *usage.PriceBook
	providers llmall.AutoOptions
	models    *modelrouter.Models
	learner   *learn.Learner
	graph     *graph.Graph
	extractor *extract.Extractor
	agents    *llmall.Agents
	loop      *autonomy.Loop
	intake    *intake.Intake
	approvals *approvals.Decider
	undo      *undo.Reverter
	explainer *explain.Explainer
	replayer  *replay.Replayer
	service   *service.Service
	web       *web.Server
	tray      *tray.Menu // nil: none
	buttons   *service.Buttons
	pin       string // see Pin
	spool     *channels.Spool
	triggers  map[string]intake.Trigger
	ready     chan struct{}
	isReady   atomic.Bool
	shutdown  chan struct{}
	downOnce  sync.Once

	pim          *sources.Sources
	closeDesktop func()
}

// Open makes every part. On an error everything already open is closed.
func Open(ctx context.Context, opt Options) (_ *App, err error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	known := redact.New(redact.Options{})
	opt.Log = slog.New(known.Handler(opt.Log.Handler()))
	d := &App{opt: opt, redact: known, started: time.Now(), ready: make(chan struct{}), shutdown: make(chan struct{})}
	d.scripts = appScripts(opt)
	d.openPim()
	d.buttons = d.newButtons()
	d.spool = channels.NewSpool(channels.SpoolOptions{
		Dir: filepath.Join(opt.Paths.Data, "outgoing"), Started: d.started, Log: opt.Log,
		Waiting: func(ctx context.Context) ([]string, error) { return d.bus.Outbox.AttachedPaths(ctx) },
	})
	if err := opt.Paths.Ensure(); err != nil {
		return nil, err
	}
	if d.zone, err = system.FollowZone(opt.Config.Agent.Timezone); err != nil {
		return nil, err
	}
	if opt.Config.Agent.Timezone == "Local" {
		if _, err := system.LocalZone(); err != nil {
			opt.Log.Warn("unknown name of the local time zone; times may be wrong", "err", err)
		}
	}
	d.store, err = store.Open(ctx, opt.Paths.Database(), Migrations(), store.Options{BackupDir: opt.Paths.Backups(), Volatile: opt.Play != nil})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.store.Close())
		}
	}()
	for _, step := range []func(context.Context) error{
		d.openNetwork, d.openUsage, d.openModels, d.openChannels, d.openNotices, d.openGuard, d.openWatchers, d.openGoals, d.openCrew,
		d.openKnowledge, d.openBrowser, d.openTools, d.openLearning, d.openLoop, d.openService, d.openWeb, d.openTray,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return d, d.reportStartup(ctx)
}

// Migrations lists the tables of every package that owns some.
func Migrations() []store.MigrationSet {
	sets := []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), prompt.Migrations(), learn.Migrations(), extract.Migrations(), agents.Migrations(), goals.Migrations(), notify.Migrations(), trace.Migrations(), usage.Migrations()}
	sets = append(sets, modelrouter.Migrations(), pairing.Migrations())
	sets = append(sets, ingest.Migrations()...)
	sets = append(sets, watchers.AllMigrations(watchersall.Drivers())...)
	return append(append(sets, toolsall.Migrations()...), graph.Migrations())
}

// resolveSecret resolves a reference within a deadline.
func (d *App) resolveSecret(ref string) (string, error) {
	return d.resolveSecretContext(context.Background(), ref)
}

func (d *App) resolveSecretContext(ctx context.Context, ref string) (string, error) {
	if d.opt.Play != nil {
		return d.opt.Play.Secret(ctx, ref)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := d.secrets.Resolve(ctx, ref)
	return s.Reveal(), err
}

func (d *App) openGuard(ctx context.Context) error {
	d.sessions = session.New(d.store)
	c := d.opt.Config
	key, err := guard.OpenAuditKey(d.opt.Paths, d.store.QuarantinedPath() != "")
	if err != nil {
		return err
	}
	own := rules.New(d.opt.Paths.PolicyDir(), rules.Options{})
	if err := own.Readable(); err != nil { // without them more would be allowed than the owner wrote
		return fmt.Errorf("load policy rules: %w", err)
	}
	if d.guard, err = guard.New(d.store, guard.Options{
		Level: guard.Level(c.Autonomy.Level), Hosts: c.Network.AllowHosts, Research: c.Network.Research, Recipients: c.Autonomy.Recipients, Secrets: d.redact,
		Rules: own, Zone: d.zone,
		AuditKey: key, Anchor: d.opt.Paths.AuditAnchorFile(),
	}); err != nil {
		return err
	}
	d.openPairings()
	return d.guard.InitKeys(ctx)
}

func (d *App) openWatchers(context.Context) (err error) {
	d.watchers, err = watchers.New(watchers.Options{
		Store: d.store, Drivers: d.watcherDrivers(), Sink: lateSink{d}, Log: d.opt.Log, Zone: d.zone,
		AllowedRead: func(path string) error { return d.files.Watchable(path) }, Network: d.network, Secret: d.resolveSecret, Account: d.findAccount,
		Workers: d.opt.Config.Watchers.Workers, MinEvery: d.opt.Config.Watchers.MinEvery.Duration, PerDay: d.opt.Config.Watchers.PerDay,
		DayOff: holidays.Reporter(d.opt.Config.Autonomy.DaysOff, d.opt.Log), Called: d.contactAliases, Messages: func(ctx context.Context, since time.Time, each func(watchers.Message) error) error {
			return d.intake.ReplayMessages(ctx, since, each)
		},
	})
	return err
}

// lateSink forwards to the intake, which is created later.
type lateSink struct{ d *App }

func (s lateSink) Fire(ctx context.Context, id string, sig []watchers.Signal, save func(*store.Tx) error) error {
	return s.d.intake.Fire(ctx, id, sig, save)
}

func (s lateSink) Moved(ctx context.Context, move watchers.ZoneChange, save func(*store.Tx) error) error {
	return s.d.intake.Moved(ctx, move, save)
}

func (s lateSink) ReportError(ctx context.Context, id string, err error) {
	s.d.intake.ReportError(ctx, id, err)
}

func (d *App) openLoop(ctx context.Context) error {
	c := d.opt.Config
	p, err := d.openPrompt(ctx)
	if err != nil {
		return err
	}
	compactor, err := session.NewCompactor(d.sessions, session.CompactorOptions{
		Model: d.crew.SummaryModel, Chars: c.Knowledge.SummaryChars, Keep: c.Knowledge.SummaryKeep, Hurried: !d.isLongRunning(),
		Record: autonomy.RecordCompaction(d.guard), Log: d.opt.Log,
	})
	if err != nil {
		return err
	}
	base := turn.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Compactor: compactor, Catalogue: d.catalogue, Prompt: p, Models: d.models, Usage: d.usage, Zone: d.zone,
		Limits: turn.Limits{Rounds: c.Agent.MaxRounds, Failures: c.Agent.MaxToolFailures, Tokens: c.Agent.MaxTokensPerTurn}, Results: d.results, Pictures: turn.PictureFolder(d.opt.Paths.Pictures()), Redact: d.redact, Block: c.Guard.Block, Guardian: d.guardianCheck(), Log: d.opt.Log,
	}
	if err := d.crew.OpenMembers(agents.MemberOptions{
		Config: c, Paths: d.opt.Paths, Turn: base, Prompt: d.promptOptions(), Tools: d.tools, Models: d.models, Contain: d.boxes.Contain, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	if d.triggers, err = d.openTriggers(ctx); err != nil {
		return err
	}
	if d.undo, err = undo.New(undo.Options{Store: d.store, Bus: d.bus, Guard: d.guard, Catalogue: d.catalogue, Acts: d.commandTools(), Log: d.opt.Log}); err != nil {
		return err
	}
	if d.explainer, err = explain.New(explain.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Goals: d.goals, Notices: d.notices, Watchers: d.watchers, Models: d.models, Costs: d.usage, Zone: d.zone, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	if d.replayer, err = replay.New(replay.Options{Store: d.store, Bus: d.bus, Sessions: d.sessions, Runner: d.crew.Main(), Agents: d.crew}); err != nil {
		return err
	}
	if d.approvals, err = approvals.New(approvals.Options{Store: d.store, Bus: d.bus, Guard: d.guard, Channels: d.channels}); err != nil {
		return err
	}
	if d.intake, err = intake.New(intake.Options{
		Store: d.store, Bus: d.bus, Sessions: d.sessions, Channels: d.channels, Watchers: d.watchers, Agents: d.crew, Answers: d.approvals, Triggers: d.triggers,
		QueueNotices: c.Notify.QueueNotices, SharedGroups: c.Autonomy.Groups == config.PerChat, GuestMessages: c.Autonomy.GuestMessages, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	d.loop, err = autonomy.New(autonomy.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Compactor: compactor, Runner: d.crew.Main(), Agents: d.crew,
		Explain: d.explainer, Undo: d.undo, Intake: d.intake, Approvals: d.approvals, Goals: d.goals, Facts: d.facts, Plan: d.plan, Notices: d.notices,
		Due: d.dueSources(), Models: d.models, Budget: d.usage, Learners: []commit.Learner{d.learner, d.extractor}, Messages: d.library,
		Chats: d.channels, Wakes: d.channels, Levels: c, Zone: d.zone, Status: d.statusText, Pair: d.pairingText,
		Notify: c.Notify.Channel, Where: d.presence().Channel, KeepTraces: c.Autonomy.KeepTraces.Duration,
		Tick: c.Autonomy.Tick.Duration, Slots: c.Autonomy.Sessions, Log: d.opt.Log,
	})
	return err
}

func (d *App) openTriggers(ctx context.Context) (map[string]intake.Trigger, error) {
	out := map[string]intake.Trigger{}
	for _, t := range d.opt.Config.Triggers {
		secret, err := d.resolveSecretContext(ctx, t.Secret)
		if err != nil {
			return nil, fmt.Errorf("[triggers.%s] secret: %w", t.Name, err)
		}
		out[t.Name] = intake.Trigger{Action: t.Action, Session: t.Session, Secret: hooksig.Secret{Value: []byte(secret), Scheme: hooksig.Scheme(t.Signature)}}
	}
	return out, nil
}

// reportStartup notifies the user of problems found while opening.
func (d *App) reportStartup(ctx context.Context) error {
	if err := d.guard.CheckStart(ctx, d.opt.Paths.AuditKeyFile()); err != nil {
		d.opt.Log.Error("audit log check failed", "err", err)
		err = d.intake.NotifyCritical(ctx, "audit:"+err.Error(), fmt.Sprintf("Audit log check failed: %v. The database was modified or restored from a backup. See `hob audit verify`.", err))
		if err != nil {
			return err
		}
	}
	aside := d.store.QuarantinedPath()
	if aside == "" {
		return nil
	}
	d.opt.Log.Error("damaged database moved away", "file", aside)
	return d.intake.NotifyCritical(ctx, "set-aside:"+aside, fmt.Sprintf("My database was damaged. I moved it to %s and restored the newest good backup, or started with an empty database if there was none. I did not overwrite the old file.", aside))
}

// Run works until ctx ends or Shutdown is called. It returns after everything
// it started has ended.
func (d *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-d.shutdown:
			cancel()
		case <-ctx.Done():
		}
	}()
	parts := []func(context.Context) error{d.loop.Run, d.usage.Run, func(ctx context.Context) error { return d.guard.RunAnchor(ctx, d.opt.Log) }}
	parts = append(parts, d.knowledgeJobs()...)
	if d.browser != nil {
		parts = append(parts, d.browser.Run)
	}
	if !d.opt.InProcess {
		if err := d.web.Listen(ctx); err != nil {
			return err
		}
		parts = append(parts, func(ctx context.Context) error { return d.web.Run(ctx, d.service) }, d.channels.Run)
		if d.vectors != nil {
			parts = append(parts, d.vectors.Run)
		}
		parts = append(parts, d.folders.Run, d.followWakes, d.spool.Run)
		if err := channels.RemovePartialFiles(d.receivedFilesDir(), channels.ReceivedFolder, d.started); err != nil {
			d.opt.Log.Warn("cannot remove partial file copies", "err", err)
		}
		if d.tray != nil {
			parts = append(parts, d.tray.Run)
		}
		parts = append(parts, d.boxes.Run)
		if d.opt.Config.Update.Check && d.opt.Play == nil {
			parts = append(parts, d.releaseFollower().Run)
		}
		if d.opt.Config.Autonomy.Enabled {
			parts = append(parts, d.watchers.Run)
		}
	}
	parts = append(parts, d.simulatedJobs()...)
	d.isReady.Store(true)
	close(d.ready)
	defer d.isReady.Store(false)
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for i, run := range parts {
		wg.Go(func() {
			defer cancel() // when one part fails, stop the others in order
			err := run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil // stopped while it was still starting
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := d.erasing.FinishAll(context.WithoutCancel(ctx)); err != nil { // no turn runs now
		d.opt.Log.Error("deletion not complete; continues at the next start", "err", err)
	}
	if err := d.usage.Flush(context.WithoutCancel(ctx)); err != nil { // of turns that were cut off last
		d.opt.Log.Error("model calls not stored", "err", err)
	}
	return errors.Join(errs...)
}

// Ready is closed once Run takes messages.
func (d *App) Ready() <-chan struct{} { return d.ready }

// Handler is the HTTP API without a listener.
func (d *App) Handler() http.Handler { return d.web.Handler() }

// Addr is the host:port the API is bound to.
func (d *App) Addr() string { return d.web.Addr() }

// SetAside is the path to which Open moved a damaged database, "" if the database was intact.
func (d *App) SetAside() string { return d.store.QuarantinedPath() }

// Shutdown makes Run return.
func (d *App) Shutdown() { d.downOnce.Do(func() { close(d.shutdown) }) }

// Close closes the store. Run must have returned.
func (d *App) Close() error {
	d.guard.LogAnchor(context.Background(), d.opt.Log)
	d.closeDesktop()
	return errors.Join(d.agents.Close(), d.vectors.Close(), d.index.Close(), d.store.Close())
}

// CheckReady implements service.Process.
func (d *App) CheckReady() error {
	if !d.isReady.Load() {
		return errors.New("starting or stopping")
	}
	return nil
}
