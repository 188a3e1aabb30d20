package mailbox

import (
	"context"
	"errors"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
)

// The pace of waiting.
const (
	// idleFor is how long a server is trusted to speak up by itself. Some forget,
	// and so do routers on the way (RFC 2177 says 29 minutes at most).
	idleFor = 9 * time.Minute
	// tickEach is how often to look whether this machine was asleep.
	tickEach = 20 * time.Second
	// pollEach is how often a server is asked that cannot speak up.
	pollEach = time.Minute
	// leaveWait is how long the end of waiting may take when nobody waits any more.
	leaveWait = 3 * time.Second
)

// heard is called by the connection's reader.
func (m *Conn) heard(d *imapclient.UnilateralDataMailbox) {
	if d.NumMessages == nil {
		return
	}
	m.mu.Lock()
	more := *d.NumMessages != m.exists
	m.exists = *d.NumMessages
	m.mu.Unlock()
	if more { // some say it each time
		m.changed()
	}
}

// expunged is likewise called: there is one mail less, so that the number that the
// next one makes is news.
func (m *Conn) expunged(uint32) {
	m.mu.Lock()
	m.exists -= min(m.exists, 1)
	m.mu.Unlock()
	m.changed()
}

func (m *Conn) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// Wait returns when the folder has changed, when the server has been trusted
// long enough, or when wake says so. It does not return an error for the end of
// ctx. A server without IDLE is asked now and then.
func (m *Conn) Wait(ctx context.Context, wake <-chan struct{}) error {
	if !m.idle {
		return m.poll(ctx, wake)
	}
	m.bound.Allow(askBytes)
	var cmd *imapclient.IdleCommand
	err := m.ask(ctx, askBytes, "wait for mail", func() (err error) {
		cmd, err = m.c.Idle()
		return err
	})
	if err != nil {
		return err
	}
	rest := time.NewTimer(idleFor)
	defer rest.Stop()
	tick := time.NewTicker(tickEach)
	defer tick.Stop()
	for before, waits := time.Now(), true; waits; {
		waits = false
		select {
		case <-ctx.Done():
		case <-wake:
		case <-m.news:
		case <-rest.C:
		case <-m.c.Closed():
		case <-tick.C:
			now := time.Now()
			before, waits = now, !slept(before, now)
		}
	}
	end := context.WithoutCancel(ctx)
	if ctx.Err() != nil { // whoever leaves does not wait long for a server that may be gone
		var cancel context.CancelFunc
		end, cancel = context.WithTimeout(end, leaveWait)
		defer cancel()
	}
	return m.ask(end, askBytes, "wait for mail", func() error {
		return errors.Join(cmd.Close(), cmd.Wait())
	})
}

// slept reports whether this machine was suspended between two ticks: its clock
// went on, while its timers stood still. A server has forgotten us by then.
func slept(before, now time.Time) bool {
	return now.Round(0).Sub(before.Round(0)) > 3*tickEach
}

func (m *Conn) poll(ctx context.Context, wake <-chan struct{}) error {
	rest := time.NewTimer(pollEach)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-wake:
	case <-m.news:
	case <-rest.C:
	case <-m.c.Closed():
	}
	return m.ask(ctx, askBytes, "check for mail", func() error { return m.c.Noop().Wait() })
}
