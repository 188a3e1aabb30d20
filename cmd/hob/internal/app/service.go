package app

import (
	"context"

	"hob/autonomy/mind/learn"
	"hob/autonomy/service"
	"hob/channels"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/knowledge/ingest"
	"hob/knowledge/transfer"
	"hob/platform/host/system"
	"hob/tools/memory"
	"hob/tools/tasks"
)

// openService creates the service, which implements the API.
func (d *App) openService(context.Context) error {
	d.service = service.New(service.Options{
		Loop: d.loop, Intake: d.intake, Approvals: d.approvals, Explain: d.explainer, Replayer: d.replayer, Bus: d.bus, Guard: d.guard, Store: d.store, Sessions: d.sessions, Messages: d.library, Learner: d.learner,
		Notices: d.notices, Agents: d.crew, Goals: d.goals, Watchers: d.watchers, Usage: d.usage, Catalogue: d.catalogue,
		Channels: d.channels, Memory: d.base, Erasing: d.erasing, Graph: d.graph, Index: d.index, Vectors: d.vectors, Transfer: d.openTransfer(),
		Documents: d.documents, Files: d.files, Tasks: tasks.API{Store: d.store}, Notes: memory.API{Store: d.store, Memory: d.base}, Process: d, Examiner: doctor.NewExaminer(d.doctorEnv, d.redact.Text),
		Pairings: d.pairings, Redact: d.redact, ChannelSetup: channel.Setup{Drivers: d.channelDrivers(), Config: d.latestConfig, Deps: d.trialDeps},
		Config: d.opt.Config, Revisions: d.configCopies(), Triggers: d.triggers, Undo: d.undo, Paths: d.opt.Paths, Version: d.opt.Version, Log: d.opt.Log,
		Started: d.started, Daemon: !d.opt.InProcess, Model: d.models.Describe, Zone: d.zone, Plan: d.planSections,
		PricesAsOf: func() string { return d.prices.Prices().AsOf() },
	})
	return nil
}

// openTransfer creates the export and import of the memory.
func (d *App) openTransfer() *transfer.Transfer {
	return transfer.New(transfer.Options{
		Store: d.store, Memory: d.base, Graph: d.graph, Notes: memory.API{Store: d.store, Memory: d.base}, Learned: d.learner, Documents: d.documents,
		Conversations: d.sessions, Unfit: []error{learn.ErrNotLearned, ingest.ErrTaken, ingest.ErrNotFound},
		Key: func() ([]byte, error) { return system.EnsureKey(d.opt.Paths.AuditKeyFile()) }, Zone: d.zone, Log: d.opt.Log,
	})
}

// lateReceiver forwards to the service, which is created after the channels.
type lateReceiver struct{ d *App }

// Receive implements channels.Receiver.
func (r lateReceiver) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	return r.d.service.Receive(ctx, in)
}

// Known implements channels.DuplicateChecker.
func (r lateReceiver) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return r.d.service.Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (r lateReceiver) Overhear(ctx context.Context, in channels.Inbound) error {
	return r.d.service.Overhear(ctx, in)
}
