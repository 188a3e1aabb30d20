package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/platform/host/system"
	"hob/platform/store"
)

// openNotices makes what decides when notices reach the owner.
func (d *Daemon) openNotices(context.Context) error {
	o, err := noticeOptions(d.opt.Config.Notify)
	if err != nil {
		return err
	}
	o.Store, o.Bus, o.Zone, o.Log = d.store, d.bus, d.zone, d.opt.Log
	o.Waiting = d.guard.OpenIn
	o.Usable = func(name string) bool { return name == "web" || d.channels.Has(name) }
	o.Pushes = func(name string) bool { return d.channels.Has(name) && !d.channels.Pull(name) }
	if d.opt.Config.Notify.Urgency == "model" && d.isLongRunning() {
		o.Model, o.Wait, o.Room, o.Redact = d.extractionModel, d.opt.Config.Notify.UrgencyWait.Duration, d.hasBudget, d.redact.Text
	}
	d.notices, err = notify.New(o)
	return err
}

// handleLost forwards likewise.
func (d *Daemon) handleLost(tx *store.Tx, out bus.Delivery) (bool, error) {
	return d.notices.Undelivered(tx, out)
}

// filterNotice forwards to the notifier, which is created after the bus.
func (d *Daemon) filterNotice(tx *store.Tx, event string, o bus.OutboxItem) (bus.OutboxItem, bool, error) {
	return d.notices.FilterNotice(tx, event, o)
}

// Notices implements api.Notices.
func (b *backend) Notices(ctx context.Context, q api.Query) ([]api.Notice, error) {
	list, err := b.d.notices.Why(ctx, q.Of)
	if q.Of == "" {
		list, err = b.d.notices.List(ctx, q.State, q.Before, q.Limit)
	}
	for i, n := range list {
		if err != nil {
			break
		}
		list[i].Text, err = b.d.notices.NoticeText(ctx, n)
	}
	return mapEach(list, apiNotice), classifyError(err)
}

// ReleaseNotices implements api.Notices.
func (b *backend) ReleaseNotices(ctx context.Context, id string) (api.Released, error) {
	n, err := b.d.notices.Release(ctx, id)
	return api.Released{Released: n}, noticeError(err)
}

// SnoozeNotice implements api.Notices.
func (b *backend) SnoozeNotice(ctx context.Context, id, until string) (api.Notice, error) {
	at, err := notify.ParseUntil(until, time.Now().In(b.d.zone()))
	if err != nil {
		return api.Notice{}, noticeError(err)
	}
	n, err := b.d.notices.Snooze(ctx, id, "", at)
	return apiNotice(n), noticeError(err)
}

// SetQuiet implements api.Notices.
func (b *backend) SetQuiet(ctx context.Context, until string) (api.Quiet, error) {
	n := b.d.notices
	out := api.Quiet{}
	var err error
	switch until {
	case "":
	case "off":
		_, err = n.Unmute(ctx)
	default:
		var at time.Time
		if at, err = notify.ParseUntil(until, time.Now().In(b.d.zone())); err == nil {
			_, err = n.Mute(ctx, at)
		}
	}
	if err != nil {
		return out, noticeError(err)
	}
	out.Until, out.Why, out.Quiet, err = n.Quiet(ctx)
	if !out.Quiet {
		out.Until, out.Why = time.Time{}, ""
	}
	return out, err
}

func noticeError(err error) error {
	switch {
	case errors.Is(err, notify.ErrNotFound):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, notify.ErrTime):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return classifyError(err)
}

// noticeOptions turns [notify] into what the notifier takes. Everything was
// checked when the file was read.
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
