package email

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
)

// idle is how long a connection stays open after its last use.
const idle = 10 * time.Second

// smtpPool holds the connections for sending. While the channel runs, they stay open for 10 s after
// their last use, so that consecutive messages are sent quickly.
type smtpPool struct {
	mu          sync.Mutex // held while a connection is in use
	keep        atomic.Bool
	used        time.Time
	out         *smtpmail.Session
	box         *imapmail.Conn
	use, folder string // the use for which box was opened, such as "sent", and the name of the folder
	timer       *time.Timer
}

// keepOpen keeps connections open until release.
func (l *smtpPool) keepOpen() { l.keep.Store(true) }

// releaseAll closes idle connections. Busy ones are closed after use.
func (l *smtpPool) releaseAll() {
	l.keep.Store(false)
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		l.closeOpen()
	}
}

// closeExpired closes connections that were idle for too long, for example during sleep. The caller
// holds l.mu.
func (l *smtpPool) closeExpired() {
	if time.Now().Round(0).Sub(l.used) > idle {
		l.closeOpen()
	}
}

// scheduleClose schedules the closing of connections; it runs after each use. The caller holds
// l.mu.
func (l *smtpPool) scheduleClose() {
	if !l.keep.Load() {
		l.closeOpen()
		return
	}
	l.used = time.Now().Round(0) // wall clock, which continues during sleep
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(idle, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closeOpen()
	})
}

// closeOpen closes open connections. The caller holds l.mu.
func (l *smtpPool) closeOpen() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.closeOut()
	l.closeBox()
}

func (l *smtpPool) closeOut() {
	if l.out != nil {
		l.out.Close()
		l.out = nil
	}
}

func (l *smtpPool) closeBox() {
	if l.box != nil {
		_ = l.box.Close()
		l.box = nil
	}
}

// submitMail submits an email to the SMTP server.
func (c *Channel) submitMail(ctx context.Context, to string, mail []byte) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.scheduleClose() //nolint:contextcheck // signing out has a separate time limit
	l.closeExpired()        //nolint:contextcheck // signing out has a separate time limit
	if l.out != nil {
		err := l.out.Send(ctx, c.address, []string{to}, mail)
		if err == nil {
			return nil
		}
		l.closeOut()
		if errors.Is(err, smtpmail.ErrUnsure) || errors.Is(err, pim.ErrRefused) || ctx.Err() != nil {
			return err
		}
		// The connection had ended, so no server has the email.
	}
	s, err := smtpmail.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.out = s
	if err = s.Send(ctx, c.address, []string{to}, mail); err != nil {
		l.closeOut()
	}
	return err
}

// withFolder runs do with the folder selected. It may run do twice if the connection breaks.
func (c *Channel) withFolder(ctx context.Context, use string, do func(m *imapmail.Conn, folder string) error) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.scheduleClose() //nolint:contextcheck // signing out has a separate time limit
	l.closeExpired()        //nolint:contextcheck // signing out has a separate time limit
	if l.box != nil && l.use == use {
		if err := do(l.box, l.folder); err == nil {
			return nil
		}
	}
	l.closeBox() //nolint:contextcheck // signing out has a separate time limit
	m, err := imapmail.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.box, l.use = m, use
	if l.folder, err = m.For(ctx, use); err == nil {
		err = do(m, l.folder)
	}
	if err != nil {
		l.closeBox() //nolint:contextcheck // signing out has a separate time limit
	}
	return err
}

// mailExists reports whether a folder contains an email with this Message-ID.
func mailExists(ctx context.Context, m *imapmail.Conn, folder, id string) (bool, error) {
	if _, err := m.Select(ctx, folder); err != nil {
		return false, err
	}
	list, err := m.Named(ctx, id)
	return len(list) > 0, err
}
