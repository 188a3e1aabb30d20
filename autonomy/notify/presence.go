package notify

import (
	"context"
	"log/slog"
	"time"

	"hob/platform/host/desktop"
)

// presenceTimeout limits the time that the system has to answer a query.
const presenceTimeout = time.Second

// Presence detects where the user is, based on messages and local input.
type Presence struct {
	// LastMessage returns the channel and the time of the user's last message. It returns "" if
	// there is none.
	LastMessage func(ctx context.Context) (channel string, at time.Time, err error)
	// Machine is the name of the channel for this machine's desktop.
	Machine string
	// Has reports whether a channel is running.
	Has func(channel string) bool
	// Talking is how long after a message the user is still reachable on its channel.
	Talking time.Duration
	// AtMachine is the maximum idle time at which a user counts as being at this machine.
	AtMachine time.Duration
	// Simulated reports whether presence at this machine is ignored.
	Simulated bool
	Log       *slog.Logger
}

// Channel returns the channel for notifications that should reach the user at their current
// location. It returns the channel of this machine while the user is at this machine, and "" if the
// notification should go to the conversation that it comes from.
func (p Presence) Channel(ctx context.Context) string {
	if !p.Has(p.Machine) {
		return ""
	}
	if at, idle, known := p.locateUser(ctx); known && at == p.Machine && idle <= p.AtMachine {
		return p.Machine
	}
	return ""
}

// locateUser returns the channel that reaches the user, and the idle time. known is false if it is
// unknown where the user is. The channel is "" if the user is away from this machine and no other
// channel is known.
func (p Presence) locateUser(ctx context.Context) (at string, idle time.Duration, known bool) {
	last, wrote, err := p.LastMessage(ctx)
	if err != nil {
		p.Log.Warn("cannot read the time of the user's last message", "err", err)
		last = ""
	}
	since := max(0, time.Since(wrote))
	if last != "" && since <= p.Talking {
		return last, since, true
	}
	if p.Simulated {
		return last, since, last != ""
	}
	seen, err := desktop.DetectPresence(ctx, desktop.Options{Wait: presenceTimeout})
	here := err == nil && seen.IdleKnown && !(seen.LockKnown && seen.Locked)
	switch {
	case here && (last == "" || seen.Idle < since):
		return p.Machine, seen.Idle, true
	case last != "":
		return last, since, true
	case err == nil: // the screen is locked, or the idle time is unknown
		return "", seen.Idle, true
	}
	return "", 0, false
}
