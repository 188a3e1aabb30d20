// Package app is the composition root. It opens the store, creates every part with its
// configuration and connects the parts in order. It then runs them and closes them in reverse
// order. The commands (with or without a listening server) and the end-to-end tests use it. The
// package adds no behavior: it only lists the parts and which other parts each one receives.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
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
	"hob/autonomy/guard/clients"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/guard/rules"
	"hob/autonomy/hooks"
	"hob/autonomy/intake"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/mind/consolidate"
	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/mind/memorysync"
	"hob/autonomy/notify"
	"hob/autonomy/recovery"
	"hob/autonomy/replay"
	"hob/autonomy/service"
	"hob/autonomy/session"
	"hob/autonomy/skills"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/turn/guardian"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/autonomy/turn/results"
	"hob/autonomy/undo"
	"hob/autonomy/usage"
	"hob/channels"
	"hob/channels/web"
	"hob/channels/web/a2aserver"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/graph"
	"hob/knowledge/index"
	"hob/knowledge/ingest"
	"hob/platform/host/browser"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/host/tray"
	"hob/platform/host/vault"
	"hob/platform/net/safehttp"
	"hob/platform/pim/sources"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/lease"
	"hob/platform/text/holidays"
	"hob/platform/text/redact"
	"hob/tools"
	"hob/tools/a2a"
	toolsall "hob/tools/all"
	"hob/tools/files"
	"hob/tools/files/containertool"
	"hob/tools/mcp"
	"hob/tools/social"
	toolsweb "hob/tools/web"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// App is a complete Hob in one process. Call Open, then Run, then Close.
type App struct {
	opt          Options
	started      time.Time
	zone         func() *time.Location
	secrets      *vault.SecretResolver
	redact       *redact.Set
	store        *store.Store
	lease        *lease.Member
	bus          *bus.Bus
	guard        *guard.Guard
	clients      *clients.Store
	sessions     *session.Sessions
	compactor    *session.Compactor
	library      *session.MessageIndex
	watchers     *watchers.Manager
	channels     *channels.Manager
	hooks        map[string]channels.WebhookReceiver
	programs     *hooks.Hooks // nil if there are none
	pairings     *pairing.Pairings
	browser      *browser.Browser // nil if it is disabled
	network      *safehttp.Client
	results      *results.Store
	skills       *skills.Library
	tools        []tools.Tool // all tools, including those unavailable here
	catalog      *tools.Catalog
	crew         *agents.Registry
	replies      *social.Replier
	mcp          *mcp.Manager
	goals        *goals.Goals
	plan         *goals.Plan
	notices      *notify.Notifier
	boxes        *containertool.Boxes
	files        *files.Files
	base         *knowledge.Base
	vectors      *embed.Vectors // nil if they are disabled
	index        *index.Index
	erasing      *knowledge.ErasureService
	scripts      osrun.Runner // nil if app scripts are disabled
	documents    *ingest.Library
	folders      *ingest.Sync
	usage        *usage.Tracker
	prices       *usage.PriceBook
	providers    llmall.AutoOptions
	models       *modelrouter.Models
	learner      *learn.Learner
	graph        *graph.Graph
	extractor    *extract.Extractor
	consolidator *consolidate.Consolidator
	memoryFiles  *memorysync.Syncer
	agents       *llmall.Agents
	loop         *autonomy.Loop
	intake       *intake.Intake
	approvals    *approvals.Decider
	undo         *undo.Reverter
	explainer    *explain.Explainer
	replayer     *replay.Replayer
	service      *service.Service
	web          *web.Server
	tray         *tray.Menu // nil if there is no tray menu
	buttons      *service.Buttons
	spool        *channels.Spool
	peers        *a2a.Client       // tasks of Hob for other agents
	a2a          *a2aserver.Server // tasks of other agents for Hob
	triggers     map[string]intake.Trigger
	ready        chan struct{}
	isReady      atomic.Bool
	down         context.Context // ends when Shutdown is called
	shutdown     func()
	toolJobs     []func(context.Context) error // background work of tools
	pim          *sources.Sources
	closeDesktop func()
}

// Open creates every part. If it fails, it closes all parts that are already open.
func Open(ctx context.Context, opt Options) (_ *App, err error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	known := redact.New(redact.Options{})
	opt.Log = slog.New(known.Handler(opt.Log.Handler()))
	d := &App{opt: opt, redact: known, started: time.Now(), ready: make(chan struct{})}
	d.down, d.shutdown = context.WithCancel(context.WithoutCancel(ctx))
	d.secrets = vault.NewSecretResolver(opt.Paths, known, d.playedSecret())
	d.scripts = appScripts(opt)
	d.openPim()
	d.buttons = d.newButtons()
	d.spool = channels.NewSpool(channels.SpoolOptions{
		Dir: filepath.Join(opt.Paths.Data, "outgoing"), Received: d.receivedFilesDir(), Started: d.started, Log: opt.Log,
		Waiting: func(ctx context.Context) ([]string, error) { return d.bus.Outbox.AttachedPaths(ctx) },
	})
	if err := opt.Paths.Ensure(); err != nil {
		return nil, err
	}
	if d.zone, err = system.FollowZone(opt.Config.Agent.Timezone); err != nil {
		return nil, err
	}
	if _, err := system.LocalZone(); err != nil && opt.Config.Agent.Timezone == "Local" {
		opt.Log.Warn("name of the local time zone is unknown; times may be wrong", "err", err)
	}
	if d.store, d.lease, err = recovery.OpenStore(ctx, recovery.StoreOptions{
		Paths: opt.Paths, Config: opt.Config.Store, Tables: Migrations(), BeforeMigration: opt.BeforeMigration, Volatile: opt.Play != nil, InProcess: opt.InProcess,
		Version: opt.Version, Resolve: d.secrets.ResolveContext, Redact: known.Add, Log: opt.Log,
	}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.store.Close())
		}
	}()
	for _, step := range []func(context.Context) error{
		d.openNetwork, d.openUsage, d.openModels, d.openGuard, d.openChannels, d.openNotices, d.openWatchers, d.openGoals, d.openCrew,
		d.openKnowledge, d.openBrowser, d.openTools, d.openLearning, d.openLoop, d.openService, d.openWeb, d.openTray,
		func(ctx context.Context) error { return d.erasing.FinishRestored(ctx) },
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return d, d.intake.ReportStart(ctx, d.guard.CheckStart(ctx, opt.Paths.AuditKeyFile()), d.store)
}

// Migrations returns the migrations of all packages that own tables.
func Migrations() []store.MigrationSet {
	sets := []store.MigrationSet{lease.Migrations(), bus.Migrations(), guard.Migrations(), session.Migrations(), prompt.Migrations(), learn.Migrations(), extract.Migrations(), consolidate.Migrations(), memorysync.Migrations(), agents.Migrations(), goals.Migrations(), notify.Migrations(), trace.Migrations(), usage.Migrations(), modelrouter.Migrations(), pairing.Migrations(), clients.Migrations(), a2aserver.Migrations()}
	sets = append(sets, ingest.Migrations()...)
	sets = append(sets, watchers.AllMigrations(watchersall.Drivers())...)
	return append(append(sets, toolsall.Migrations()...), graph.Migrations())
}

func (d *App) openGuard(ctx context.Context) error {
	c := d.opt.Config
	key, err := guard.OpenAuditKey(ctx, d.opt.Paths, d.store)
	if err != nil {
		return err
	}
	own := rules.New(d.opt.Paths.PolicyDir(), rules.Options{Roles: c})
	if err := own.Readable(); err != nil { // without the rules, more would be allowed than the owner wants
		return fmt.Errorf("load policy rules: %w", err)
	}
	if d.guard, err = guard.New(d.store, guard.Options{
		Level: guard.Level(c.Autonomy.Level), Hosts: c.Network.AllowHosts, Research: c.Network.Research, Recipients: c.Autonomy.Recipients, Secrets: d.redact,
		Rules: own, Zone: d.zone,
		AuditKey: key, Anchor: d.opt.Paths.AuditAnchorFile(), Tombstones: d.opt.Paths.TombstoneFile(), Lease: d.lease, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	d.clients = clients.New(d.store, d.guard)
	d.programs = hooks.Open(hooks.Options{Hooks: c.Hooks, Off: d.opt.Play != nil, Files: c.Files, Pins: d.opt.Paths.HookPins(), Store: d.store, Guard: d.guard, Log: d.opt.Log})
	d.sessions = session.Open(d.store, session.Options{Ending: d.programs.EndSession})
	d.openPairings() //nolint:contextcheck // the notice belongs to a transaction, which has no context
	return recovery.Open(ctx, recovery.SyncOptions{Store: d.store, Guard: d.guard, Carry: files.CarryMarks(d.opt.UserHome, c.Files.Trusted), Log: d.opt.Log})
}

func (d *App) openWatchers(context.Context) (err error) {
	d.watchers, err = watchers.New(watchers.Options{
		Store: d.store, Lease: d.lease, Drivers: d.watcherDrivers(), Sink: intake.NewWatcherSink(func() *intake.Intake { return d.intake }), Log: d.opt.Log, Zone: d.zone,
		AllowedRead: func(path string) error { return d.files.Watchable(path) }, Network: d.network, Resources: func() watchers.Resources { return d.mcp }, Search: toolsweb.Open(d.network, d.opt.Config.Search, d.secrets.ResolveContext, nil).WatchTopic, Secret: d.secrets.Resolve, Account: d.accountsOf(d.opt.Config).Find, Feeds: d.pim.Feeds,
		Workers: d.opt.Config.Watchers.Workers, MinEvery: d.opt.Config.Watchers.MinEvery.Duration, PerDay: d.opt.Config.Watchers.PerDay,
		DayOff: holidays.Reporter(d.opt.Config.Autonomy.DaysOff, d.opt.Log), Called: func(q store.Querier, name string) []string { return d.graph.ContactAliases(q, name) }, Messages: func(ctx context.Context, since time.Time, each func(watchers.Message) error) error {
			return d.intake.ReplayMessages(ctx, since, each)
		},
	})
	return err
}

func (d *App) openLoop(ctx context.Context) error {
	c := d.opt.Config
	p, err := d.openPrompt(ctx)
	if err != nil {
		return err
	}
	if d.compactor, err = session.NewCompactor(d.sessions, session.CompactorOptions{
		Model: d.crew.SummaryModel, Chars: c.Knowledge.SummaryChars, Keep: c.Knowledge.SummaryKeep, Hurried: !d.isLongRunning(),
		Record: autonomy.RecordCompaction(d.guard), Log: d.opt.Log,
	}); err != nil {
		return err
	}
	base := turn.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Compactor: d.compactor, Catalog: d.catalog, Prompt: p, Models: d.models, Usage: d.usage, Zone: d.zone,
		Limits: turn.Limits{Rounds: c.Agent.MaxRounds, Failures: c.Agent.MaxToolFailures, Tokens: c.Agent.MaxTokensPerTurn}, Results: d.results, Skills: d.skills, Programs: d.programs, Pictures: turn.PictureFolder(d.opt.Paths.Pictures()), Redact: d.redact, Block: c.Guard.Block, Guardian: guardian.Open(c.Guard.Guardian, d.models.Lazy), SendDelay: c.Autonomy.SendDelay.Duration, Sends: d.isLongRunning(), Clients: d.clients, ClientURL: func() string { return d.web.ProgramURL() }, Log: d.opt.Log,
	}
	if err := d.crew.OpenMembers(agents.MemberOptions{
		Config: c, Paths: d.opt.Paths, Turn: base, Prompt: d.promptOptions(), Tools: d.tools, Models: d.models, Contain: d.boxes.Contain, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	d.triggers = intake.OpenTriggers(ctx, c.Triggers, d.secrets.ResolveContext, d.opt.Log)
	if d.undo, err = undo.New(undo.Options{Store: d.store, Bus: d.bus, Guard: d.guard, Catalog: d.catalog, Acts: d.commandTools(), Zone: d.zone, Log: d.opt.Log}); err != nil {
		return err
	}
	if d.consolidator, err = consolidate.New(consolidate.Options{Store: d.store, Base: d.base, Ledger: d.bus.Ledger, Journal: d.undo.JournalTx, At: c.Knowledge.ConsolidateAt, Zone: d.zone, Model: d.models.Cheapest, Log: d.opt.Log}); err != nil {
		return err
	}
	if d.memoryFiles, err = memorysync.New(memorysync.Options{Store: d.store, Base: d.base, Learner: d.learner, Targets: memorysync.AgentTargets(c, d.opt.Paths), Journal: d.undo.JournalTx, Hold: d.bus.Hold, Notify: func(ctx context.Context, key, text string) error { return d.intake.Notify(ctx, key, text) }, Zone: d.zone, Off: !c.Knowledge.MemoryFiles || d.opt.Play != nil, Log: d.opt.Log}); err != nil {
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
		QueueNotices: c.Notify.QueueNotices, SharedGroups: c.Autonomy.Groups == config.PerChat, GuestMessages: c.Autonomy.GuestMessages, Programs: d.programs, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	d.loop, err = autonomy.New(autonomy.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Compactor: d.compactor, Runner: d.crew.Main(), Agents: d.crew, Remote: d.peers,
		Explain: d.explainer, Undo: d.undo, Intake: d.intake, Approvals: d.approvals, Goals: d.goals, Facts: d.goalFacts(), Plan: d.plan, Notices: d.notices,
		Due: d.dueSources(), Models: d.models, Budget: d.usage, Tool: d.catalog.Get, Sends: d.isLongRunning(), Programs: d.programs, Learners: []commit.Learner{d.learner, d.extractor}, Messages: d.library, Memory: d.consolidator, Nightly: d.isLongRunning(),
		Chats: d.channels, Wakes: d.channels, Levels: c, Zone: d.zone, Status: d, Pairing: service.NewReceiver(d.lateService),
		Notify: c.Notify.Channel, Presence: d.presence(), KeepTraces: c.Autonomy.KeepTraces.Duration,
		Tick: c.Autonomy.Tick.Duration, Slots: c.Autonomy.Sessions, Log: d.opt.Log,
	})
	return err
}

// Run runs all parts until ctx ends or Shutdown is called. It returns after all started goroutines
// have ended.
func (d *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.down, cancel)() //nolint:contextcheck // cancel ends the context of Run
	parts := append(append(d.lease.Parts(d.loop.Run), d.lease.While("agents", d.peers.Run), d.usage.Run, func(ctx context.Context) error { return d.guard.RunAnchor(ctx, d.opt.Log) }), d.knowledgeJobs()...)
	if d.browser != nil {
		parts = append(parts, d.browser.Run)
	}
	if !d.opt.InProcess {
		if err := d.web.Listen(ctx); err != nil {
			return err
		}
		parts = append(parts, func(ctx context.Context) error { return d.web.Run(ctx, d.service) })
		if d.vectors != nil {
			parts = append(parts, d.vectors.Run)
		}
		parts = append(append(parts, d.mcp.Run, d.folders.Run, d.lease.While("notices", d.notices.Run), d.followWakes, d.spool.Run, d.service.FollowConfig, d.a2a.Run), d.toolJobs...)
		if d.tray != nil {
			parts = append(parts, d.tray.Run)
		}
		parts = append(parts, d.boxes.Run, d.memoryFiles.Run)
		if d.opt.Config.Update.Check && d.opt.Play == nil {
			parts = append(parts, d.releaseFollower().Run)
		}
	}
	if d.opt.Play != nil || !d.opt.InProcess {
		parts = append(parts, d.channels.Run)
		if d.opt.Config.Autonomy.Enabled {
			parts = append(parts, d.lease.While("watchers", d.watchers.Run))
		}
	}
	if d.opt.Play == nil && !d.opt.InProcess {
		parts = append(parts, d.lease.While("automatic replies", d.replies.Run))
	}
	d.isReady.Store(true)
	close(d.ready)
	defer d.isReady.Store(false)
	ended := retry.RunTogether(ctx, cancel, d.lease.Outlast(parts))
	if err := d.erasing.FinishAll(context.WithoutCancel(ctx)); err != nil { // no turn is running now
		d.opt.Log.Error("deletion not complete; continues at the next start", "err", err)
	}
	if err := d.usage.Flush(context.WithoutCancel(ctx)); err != nil { // store the model calls of the turns that were interrupted last
		d.opt.Log.Error("model calls not stored", "err", err)
	}
	return ended
}

// Ready returns a channel that is closed when Run accepts messages.
func (d *App) Ready() <-chan struct{} { return d.ready }

// SetAside describes how Open replaced a damaged or missing database, or returns "" if it was intact.
func (d *App) SetAside() string { return d.store.Replacement().String() }

// Shutdown makes Run return.
func (d *App) Shutdown() { d.shutdown() }

// Close closes the store. Call it after Run has returned.
func (d *App) Close() error {
	d.guard.LogAnchor(context.Background(), d.opt.Log)
	d.closeDesktop()
	d.lease.Leave()
	return errors.Join(d.mcp.Close(), d.agents.Close(), d.vectors.Close(), d.index.Close(), d.store.Close())
}

// CheckReady implements service.Process.
func (d *App) CheckReady() error {
	if !d.isReady.Load() {
		return errors.New("starting or stopping")
	}
	return d.lease.Outage()
}
