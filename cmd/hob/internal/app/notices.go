package app

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/platform/host/system"
	"hob/platform/store"
)

// openNotices creates the notifier, which decides when notices reach the owner.
func (d *App) openNotices(context.Context) error {
	o, err := noticeOptions(d.opt.Config.Notify)
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

// noticeOptions converts [notify] to the notifier's options. All values were checked when the file
// was read.
func noticeOptions(c config.Notify) (o notify.Options, err error) {
	for _, q := range c.Quiet {
		if q.Start == "" && q.End == "" {
			continue
		}
		var out notify.QuietWindow
		if out.Start, err = notify.ParseClock(q.Start); err != nil {
			return o, err
		}
		if out.End, err = notify.ParseClock(q.End); err != nil {
			return o, err
		}
		for day := time.Sunday; day <= time.Saturday; day++ {
			for _, name := range q.Days {
				if strings.HasPrefix(strings.ToLower(day.String()), name) {
					out.Days = append(out.Days, day)
				}
			}
		}
		if q.Zone != "" {
			if out.Zone, err = system.Zone(q.Zone); err != nil {
				return o, err
			}
		}
		o.Quiet = append(o.Quiet, out)
	}
	o.Channel, o.Fallback, o.Unreachable, o.Recent = c.Channel, c.Fallback, c.Unreachable.Duration, c.Presence.Duration
	o.SameWithin, o.PerHour = c.SameWithin.Duration, c.PerHour
	for _, at := range []string{c.Morning, c.Evening} {
		if at == "" {
			continue
		}
		clock, err := notify.ParseClock(at)
		if err != nil {
			return o, err
		}
		o.Digests = append(o.Digests, clock)
	}
	for _, r := range c.Rules {
		u, err := notify.ParseUrgency(r.Urgency)
		if err != nil {
			return o, err
		}
		o.Rules = append(o.Rules, notify.Rule{
			Causes: r.Causes, People: r.People, Words: r.Words, Channels: r.Channels, Watchers: r.Watchers, Within: r.Within.Duration, Urgency: u,
		})
	}
	return o, nil
}
