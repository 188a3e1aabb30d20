package intake

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
)

// ErrTooMany means that a guest has reached the hourly message limit. It wraps
// channels.ErrStranger, so the message is dropped.
var ErrTooMany = fmt.Errorf("too many messages in an hour: %w", channels.ErrStranger)

// guestWindow is the period in which a guest's messages are counted.
const guestWindow = time.Hour

// guestLimiter counts the messages from people other than the owner, because each message starts an
// agent's turn at the owner's expense.
type guestLimiter struct {
	perHour int // 0 means no limit

	mu   sync.Mutex
	seen map[string]*guestUsage // keyed by channel and sender
}

// guestUsage holds the recent messages of one sender.
type guestUsage struct {
	at   []time.Time // times of the messages accepted within the window
	told time.Time   // when the sender was notified of the limit
}

// countMessage counts a message. over reports that the sender has exceeded the limit. tell reports
// that this message should be accepted in order to notify the sender, which happens once per
// window.
func (g *guestLimiter) countMessage(ev bus.Event, now time.Time) (over, tell bool, until time.Time) {
	if g.perHour <= 0 || ev.Provenance == provenance.Owner || ev.Kind != bus.Message {
		return false, false, time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	from := now.Add(-guestWindow)
	if g.seen == nil {
		g.seen = map[string]*guestUsage{}
	}
	for who, v := range g.seen { // remove senders without recent messages
		v.at = slices.DeleteFunc(v.at, func(t time.Time) bool { return !t.After(from) })
		if len(v.at) == 0 && !v.told.After(from) {
			delete(g.seen, who)
		}
	}
	key := ev.Channel + "\x1f" + ev.Sender
	v := g.seen[key]
	if v == nil {
		v = &guestUsage{}
		g.seen[key] = v
	}
	if len(v.at) < g.perHour {
		v.at = append(v.at, now)
		return false, false, time.Time{}
	}
	until = v.at[0].Add(guestWindow)
	if v.told.After(from) {
		return true, false, until
	}
	v.told = now
	return true, true, until
}

// isOverLimit reports whether further messages from a sender are currently ignored.
func (g *guestLimiter) isOverLimit(channel, sender string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.seen[channel+"\x1f"+sender]
	if v == nil || g.perHour <= 0 {
		return false
	}
	from := now.Add(-guestWindow)
	recent := slices.DeleteFunc(slices.Clone(v.at), func(t time.Time) bool { return !t.After(from) })
	return len(recent) >= g.perHour && v.told.After(from)
}

// giveBack reverts the count of a message that was a duplicate or was not accepted.
func (g *guestLimiter) giveBack(ev bus.Event, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.seen[ev.Channel+"\x1f"+ev.Sender]; v != nil {
		if i := slices.Index(v.at, at); i >= 0 {
			v.at = slices.Delete(v.at, i, i+1)
		}
		if v.told.Equal(at) {
			v.told = time.Time{}
		}
	}
}

// GuestLimit returns how many messages per hour are read from a guest; 0 means no limit.
func (k *Intake) GuestLimit() int { return k.guests.perHour }
