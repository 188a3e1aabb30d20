package app

import (
	"context"
	"time"

	channel "hob/channels/desktop"
	"hob/platform/host/desktop"
)

// lookWait bounds the question to the system.
const lookWait = time.Second

// presence detects where the user is, from messages and local input.
type presence struct{ d *App }

// At returns the channel that reaches the user, and the idle time. known is false if the
// presence is unknown. The channel is "" if the user is away from this machine and no other
// channel is known.
func (p presence) At(ctx context.Context) (at string, idle time.Duration, known bool) {
	last, wrote, err := p.d.bus.Owner.LastChannel(ctx)
	if err != nil {
		p.d.opt.Log.Warn("cannot read the time of the last message of the user", "err", err)
		last = ""
	}
	since := max(0, time.Since(wrote))
	if last != "" && since <= p.d.opt.Config.Notify.Talking.Duration {
		return last, since, true
	}
	if p.d.opt.Play != nil { // real presence does not apply to a simulation
		return last, since, last != ""
	}
	seen, err := desktop.DetectPresence(ctx, desktop.Options{Wait: lookWait})
	here := err == nil && seen.IdleKnown && !(seen.LockKnown && seen.Locked)
	switch {
	case here && (last == "" || seen.Idle < since):
		return channel.Name, seen.Idle, true
	case last != "":
		return last, since, true
	case err == nil: // locked
		return "", seen.Idle, true
	}
	return "", 0, false
}

// presenceChannel is the channel for notices that are to reach the owner where he is: the
// desktop while he is at this machine, "" for the conversation they come from.
func (d *App) presenceChannel(ctx context.Context) string {
	if !d.channels.Has(channel.Name) {
		return ""
	}
	if at, idle, known := (presence{d}).At(ctx); known && at == channel.Name && idle <= d.opt.Config.Notify.AtMachine.Duration {
		return channel.Name
	}
	return ""
}
