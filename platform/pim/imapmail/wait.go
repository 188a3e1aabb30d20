package imapmail

import (
	"context"
	"errors"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
)

// Intervals and limits of waiting.
const (
	// idleFor limits one IDLE. Some servers and routers stop sending updates
	// without notice (RFC 2177 says 29 minutes at most).
	idleFor = 9 * time.Minute
	// tickEach is the interval of the check for a system suspend.
	tickEach = 20 * time.Second
	// pollEach is the poll interval for servers without IDLE.
	pollEach = time.Minute
	// leaveWait limits the end of an IDLE after the wait was canceled.
	leaveWait = 3 * time.Second
)

// onMailboxUpdate handles mailbox updates on the connection's reader goroutine.
func (m *Conn) onMailboxUpdate(d *imapclient.UnilateralDataMailbox) {
	if d.NumMessages == nil {
		return
	}
	m.mu.Lock()
	more := *d.NumMessages != m.exists
	m.exists = *d.NumMessages
	m.mu.Unlock()
	if more { // some servers repeat an unchanged number
		m.signalChange()
	}
}

// onExpunge handles a removed message on the reader goroutine. It decrements the count, so that the
// next new message is recognized as a change.
func (m *Conn) onExpunge(uint32) {
	m.mu.Lock()
	m.exists -= min(m.exists, 1)
	m.mu.Unlock()
	m.signalChange()
}

func (m *Conn) signalChange() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// Wait returns when the folder has changed, the maximum IDLE time has elapsed, this machine has been
// suspended, or a value arrives on wake. It returns no error if ctx ends. It polls servers
// without IDLE.
func (m *Conn) Wait(ctx context.Context, wake <-chan struct{}) error {
	if !m.idle {
		return m.pollMailbox(ctx, wake)
	}
	m.bound.Allow(askBytes)
	var cmd *imapclient.IdleCommand
	err := m.runBounded(ctx, askBytes, "wait for mail", func() (err error) {
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
			before, waits = now, !hasSlept(before, now)
		}
	}
	end := context.WithoutCancel(ctx)
	if ctx.Err() != nil { // after a cancel, do not wait long for a server that may be unreachable
		var cancel context.CancelFunc
		end, cancel = context.WithTimeout(end, leaveWait)
		defer cancel()
	}
	return m.runBounded(end, askBytes, "wait for mail", func() error {
		return errors.Join(cmd.Close(), cmd.Wait())
	})
}

// hasSlept reports whether this machine was suspended between two ticks: the wall clock advanced
// while timers did not. The server has then dropped the connection.
func hasSlept(before, now time.Time) bool {
	return now.Round(0).Sub(before.Round(0)) > 3*tickEach
}

func (m *Conn) pollMailbox(ctx context.Context, wake <-chan struct{}) error {
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
	return m.runBounded(ctx, askBytes, "check for mail", func() error { return m.c.Noop().Wait() })
}
