package app

import (
	"context"
	"fmt"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/service"
	"hob/channels"
	"hob/platform/net/hooksig"
)

// inboundReceiver gives the messages of the channels to the engine.
type inboundReceiver struct{ d *App }

// backend gives the engine to the HTTP API: the service, and the topics that need drivers or the
// process.
type backend struct {
	inboundReceiver
	*service.Service
}

func (d *App) newBackend() *backend {
	return &backend{inboundReceiver{d}, service.New(service.Options{
		Loop: d.loop, Intake: d.intake, Approvals: d.approvals, Explain: d.explainer, Replayer: d.replayer, Bus: d.bus, Guard: d.guard, Store: d.store, Sessions: d.sessions, Messages: d.library, Learner: d.learner,
		Notices: d.notices, Agents: d.crew, Goals: d.goals, Watchers: d.watchers, Usage: d.usage, Catalogue: d.catalogue,
		Config: d.opt.Config, Zone: d.zone, Plan: d.planSections,
		PricesAsOf: func() string { return d.prices.Prices().AsOf() },
		AgentFolder: func(name string) string {
			if name == agents.Default {
				return d.opt.Paths.Home
			}
			return d.opt.Paths.AgentDir(name)
		},
	})}
}

// Receive implements channels.Receiver.
func (b inboundReceiver) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	acc, err := b.d.intake.Receive(ctx, in)
	return acc, service.Classify(err)
}

// Known implements channels.DuplicateChecker.
func (b inboundReceiver) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return b.d.intake.Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (b inboundReceiver) Overhear(ctx context.Context, in channels.Inbound) error {
	return b.d.intake.Overhear(ctx, in)
}

// Fire implements api.Triggers.
func (b *backend) Fire(ctx context.Context, trigger, key string, payload []byte) (api.Fired, error) {
	if _, err := b.TriggerSecret(trigger); err != nil {
		return api.Fired{}, err
	}
	acc, err := b.d.intake.Trigger(ctx, trigger, key, payload)
	return api.Fired{Event: acc.Event, Repeated: acc.Repeated}, service.Classify(err)
}

// Triggers implements api.Triggers.
func (b *backend) Triggers(context.Context) ([]api.Trigger, error) {
	out := []api.Trigger{}
	for _, t := range b.d.opt.Config.Triggers {
		out = append(out, api.Trigger{ID: t.Name, Action: t.Action, Session: t.Session, Signed: t.Secret != ""})
	}
	return out, nil
}

// TriggerSecret implements api.Triggers.
func (b *backend) TriggerSecret(trigger string) (hooksig.Secret, error) {
	t, ok := b.d.triggers[trigger]
	if !ok {
		return hooksig.Secret{}, fmt.Errorf("trigger %q: %w; add [triggers.%s] to the configuration", trigger, api.ErrNotFound, trigger)
	}
	return t.Secret, nil
}

// Backup implements api.Management.
func (b *backend) Backup(ctx context.Context) (api.Backup, error) {
	path, err := b.d.store.BackupNow(ctx)
	return api.Backup{Path: path}, service.Classify(err)
}

// RotateToken implements api.Management.
func (b *backend) RotateToken(ctx context.Context) (api.RotatedToken, error) {
	return api.RotatedToken{Replaced: true}, service.Classify(b.d.rotateToken(ctx))
}

// Shutdown implements api.Management.
func (b *backend) Shutdown() api.Shutdown {
	b.d.Shutdown()
	return api.Shutdown{Stopping: true}
}

// Ready implements api.Management.
func (b *backend) Ready() error { return b.d.notReadyError() }

// Version implements api.Management.
func (b *backend) Version() string { return b.d.opt.Version }
