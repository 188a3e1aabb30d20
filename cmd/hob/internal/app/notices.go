package app

import (
	"context"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/store"
)

// openNotices creates the notifier, which decides when notices reach the owner.
func (d *App) openNotices(context.Context) error {
	o, err := notify.OptionsOf(d.opt.Config.Notify)
	if err != nil {
		return err
	}
	o.Store, o.Bus, o.Zone, o.Log = d.store, d.bus, d.zone, d.opt.Log
	o.Waiting = d.guard.OpenIn
	o.Usable = func(name string) bool { return name == "web" || d.channels.Has(name) }
	o.Pushes = func(name string) bool { return d.channels.Has(name) && !d.channels.Pull(name) }
	if d.opt.Config.Notify.Urgency == "model" && d.isLongRunning() {
		o.Model, o.Wait, o.Room, o.Redact = d.models.Cheapest, d.opt.Config.Notify.UrgencyWait.Duration, d.hasBudget, d.redact.Text
	}
	d.notices, err = notify.New(o)
	return err
}

// handleLost forwards likewise.
func (d *App) handleLost(tx *store.Tx, out bus.Delivery) (bool, error) {
	return d.notices.Undelivered(tx, out)
}

// filterNotice forwards to the notifier, which is created after the bus.
func (d *App) filterNotice(tx *store.Tx, event string, o bus.OutboxItem) (bus.OutboxItem, bool, error) {
	return d.notices.FilterNotice(tx, event, o)
}

// presence detects where the user is. The channel of this machine is the one that needs no section
// on a machine with a desktop.
func (d *App) presence() notify.Presence {
	c := d.opt.Config.Notify
	p := notify.Presence{LastMessage: d.bus.Owner.LastChannel, Has: d.channels.Has, Talking: c.Talking.Duration, AtMachine: c.AtMachine.Duration, Simulated: d.opt.Play != nil, Log: d.opt.Log}
	for _, name := range d.runningChannels(func(c channels.Description) bool { return c.OnDesktop }) {
		p.Machine = name
	}
	return p
}
