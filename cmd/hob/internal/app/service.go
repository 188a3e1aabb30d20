package app

import (
	"context"
	"net"
	"net/http"
	"time"

	mailaccount "hob/autonomy/account"
	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/mind/learn"
	"hob/autonomy/service"
	"hob/channels/web"
	"hob/channels/web/a2aserver"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/knowledge/ingest"
	"hob/knowledge/transfer"
	"hob/platform/host/system"
	"hob/tools"
	"hob/tools/canvas"
	"hob/tools/memory"
	"hob/tools/money"
	toolsystem "hob/tools/system"
	"hob/tools/tasks"
)

// openService creates the service that implements the API.
func (d *App) openService(context.Context) error {
	d.service = service.New(service.Options{
		Loop: d.loop, Intake: d.intake, Approvals: d.approvals, Explain: d.explainer, Replayer: d.replayer, Bus: d.bus, Guard: d.guard, Clients: d.clients, Store: d.store, Sessions: d.sessions, Compactor: d.compactor, Extractor: d.extractor, Messages: d.library, Learner: d.learner,
		Notices: d.notices, Agents: d.crew, Goals: d.goals, Watchers: d.watchers, Usage: d.usage, Catalog: d.catalog, Skills: d.skills,
		Channels: d.channels, Memory: d.base, Consolidator: d.consolidator, Erasing: d.erasing, Graph: d.graph, Index: d.index, Vectors: d.vectors, Transfer: d.openTransfer(),
		Documents: d.documents, Files: d.files, MCP: d.mcp, Tasks: tasks.API{Store: d.store}, Notes: memory.API{Store: d.store, Memory: d.base}, Spending: money.API{Store: d.store, Zone: d.zone}, Canvas: canvas.API{Store: d.store}, Process: d, Examiner: doctor.NewExaminer(d.examine, d.redact.Text),
		Pairings: d.pairings, Redact: d.redact, ChannelSetup: channel.Setup{Drivers: d.channelDrivers(), Config: d.latestConfig, Deps: d.trialDeps},
		Config: d.opt.Config, Revisions: d.configCopies(), CheckConfig: doctor.ConfigChecker(d.secrets.Secrets()), SettingChecks: doctor.SettingChecks(), Accounts: mailaccount.Adder{Paths: d.opt.Paths, Secrets: d.secrets.Secrets(), DNS: net.DefaultResolver}, Restart: d.opt.Restart, Problems: func(ctx context.Context) []api.Problem { return append(d.models.Problems(ctx), d.web.Problems()...) }, Triggers: d.triggers, Undo: d.undo, Paths: d.opt.Paths, Version: d.opt.Version, Log: d.opt.Log,
		Started: d.started, Daemon: !d.opt.InProcess, Model: d.models.Describe, Zone: d.zone, Plan: d.planSections, PricesAsOf: func() string { return d.prices.Prices().AsOf() },
	})
	return nil
}

// openTransfer creates the memory's export and import.
func (d *App) openTransfer() *transfer.Transfer {
	return transfer.New(transfer.Options{
		Store: d.store, Memory: d.base, Graph: d.graph, Notes: memory.API{Store: d.store, Memory: d.base}, Learned: d.learner, Documents: d.documents,
		Conversations: d.sessions, Unfit: []error{learn.ErrNotLearned, ingest.ErrTaken, ingest.ErrNotFound},
		Key: func() ([]byte, error) { return system.EnsureKey(d.opt.Paths.AuditKeyFile()) }, Zone: d.zone, Log: d.opt.Log,
	})
}

// Status returns the status of the service.
func (d *App) Status(ctx context.Context) (api.Status, error) { return d.service.Status(ctx) }

// commandTools returns the tools that the owner's commands use.
func (d *App) commandTools() []tools.Tool {
	return append(append(memory.EditTools(d.base, d.learner), service.JournaledTools(d.lateService)...), toolsystem.ChangeConfig(d.configCopies(), func() bool { return d.service.ApplyConfig() }), memory.ConsolidateMemory(d.base))
}

func (d *App) configCopies() config.Revisions {
	return config.Revisions{Path: d.opt.Paths.ConfigFile(), Dir: d.opt.Paths.ConfigUndoDir()}
}

// StatusText implements commands.Status.
func (d *App) StatusText(ctx context.Context) (string, error) {
	r, err := d.Status(ctx)
	r.Running = max(0, r.Running-1) // do not count the turn that requests the status
	return toolsystem.FormatStatus(r, time.Now().In(d.zone())), err
}

// examine returns the environment for the doctor's checks.
func (d *App) examine() (doctor.Env, error) {
	return doctor.DaemonEnv(doctor.DaemonOptions{
		Paths: d.opt.Paths, Version: d.opt.Version, Tables: Migrations(), Config: d.opt.Config, Secrets: d.secrets.Secrets(), HTTP: d.opt.HTTP,
		Scripts: d.scripts, Release: d.opt.Release, Screen: d.opt.Screen, InProcess: d.opt.InProcess, Tray: d.tray != nil,
		Browses: func() bool { return d.browser != nil && d.browser.Running() }, Engine: d.service, Documents: d.documents, Erasing: d.erasing, Channels: d.channels, Drivers: d.channelDrivers(), TrialDeps: d.trialDeps,
	})
}

// openWeb creates the API server.
func (d *App) openWeb(ctx context.Context) (err error) {
	o := web.Options{Backend: d.service, Peer: d.opt.Peer, Decides: chattext.MayDecide, Hooks: d.hooks, Outage: d.lease.Outage, Log: d.opt.Log, Version: d.opt.Version, Zone: d.zone}
	if o.Peer == nil {
		o.Peer = web.PeerFinder(d.agents.Pids, d.opt.Log)
	}
	if d.a2a, err = a2aserver.New(a2aserver.Options{Store: d.store, Engine: d.service, Network: d.network, Name: d.opt.Config.Agent.Name, Version: d.opt.Version, TLS: d.opt.Config.Web.TLSCert != "", Log: d.opt.Log}); err != nil {
		return err
	}
	o.Protocols = d.a2a.Protocols()
	d.web, err = web.Open(ctx, web.OpenOptions{
		Options: o, Config: d.opt.Config.Web, TokenFile: d.opt.Paths.TokenFile(), InProcess: d.opt.InProcess, Secret: d.secrets.ResolveContext, Redact: d.redact.Add,
	})
	return err
}

// Handler returns the HTTP API handler without a listener.
func (d *App) Handler() http.Handler { return d.web.Handler() }

// Client returns an HTTP client for the API of this process that uses no socket. Its requests need
// the token like all others.
func (d *App) Client() *http.Client { return d.web.Client() }

// Addr returns the host:port that the API is bound to.
func (d *App) Addr() string { return d.web.Addr() }

// Pin returns the hexadecimal SHA-256 of the API's certificate, or "" without TLS.
func (d *App) Pin() string { return d.web.Pin() }

// RotateToken implements service.Process.
func (d *App) RotateToken(context.Context) error { return d.web.ReplaceToken() }
