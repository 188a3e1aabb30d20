package daemon

import (
	"context"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/knowledge/store"
	"hob/platform/system"
)

// openNotices makes what decides when notices reach the owner.
func (d *Daemon) openNotices(context.Context) error {
	o, err := noticeOptions(d.opt.Config.Notify)
	if err != nil {
		return err
	}
	o.Store, o.Bus, o.Zone, o.Log = d.store, d.bus, d.zone, d.opt.Log
	o.Waiting = func(q store.Querier, event string) (bool, error) { return d.guard.Waits(q, event) }
	d.notices, err = notify.New(o)
	return err
}

// gate hands on to the notifier, which is made after the bus.
func (d *Daemon) gate(tx *store.Tx, event string, o bus.Out) (bus.Out, bool, error) {
	return d.notices.Gate(tx, event, o)
}

// noticeOptions turns [notify] into what the notifier takes. Everything was
// checked when the file was read.
func noticeOptions(c config.Notify) (o notify.Options, err error) {
	for _, q := range c.Quiet {
		if q.Start == "" && q.End == "" {
			continue
		}
		var out notify.Quiet
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
