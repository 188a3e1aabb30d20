package email

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/mailbox"
	"hob/platform/pim/outgoing"
)

// idle is how long a connection stays open for the next text.
const idle = 10 * time.Second

// lines holds the connections for sending. While the channel runs they stay open for a moment,
// so that consecutive texts are fast.
type lines struct {
	mu          sync.Mutex // held while one is used
	keep        atomic.Bool
	used        time.Time
	out         *outgoing.Session
	box         *mailbox.Conn
	use, folder string // the use of box, and
	timer       *time.Timer
}

// hold keeps connections open until release.
func (l *lines) hold() { l.keep.Store(true) }

// release closes idle connections; busy ones are closed after use.
func (l *lines) release() {
	l.keep.Store(false)
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		l.close()
	}
}

// begin closes connections that were idle too long, for example during sleep; l.mu is held.
func (l *lines) begin() {
	if time.Now().Round(0).Sub(l.used) > idle {
		l.close()
	}
}

// rest is called after each use of a connection; l.mu is held.
func (l *lines) rest() {
	if !l.keep.Load() {
		l.close()
		return
	}
	l.used = time.Now().Round(0) // wall clock, which continues
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(idle, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.close()
	})
}

// close closes open connections; l.mu is held.
func (l *lines) close() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.closeOut()
	l.closeBox()
}

func (l *lines) closeOut() {
	if l.out != nil {
		l.out.Close()
		l.out = nil
	}
}

func (l *lines) closeBox() {
	if l.box != nil {
		_ = l.box.Close()
		l.box = nil
	}
}

// post submits a mail to the SMTP server.
func (c *Channel) post(ctx context.Context, to string, mail []byte) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest() //nolint:contextcheck // signing out has a time of its own
	l.begin()      //nolint:contextcheck // signing out has a time of its own
	if l.out != nil {
		err := l.out.Send(ctx, c.address, []string{to}, mail)
		if err == nil {
			return nil
		}
		l.closeOut()
		if errors.Is(err, outgoing.ErrUnsure) || errors.Is(err, pim.ErrRefused) || ctx.Err() != nil {
			return err
		}
		// It had ended meanwhile, and nobody has the mail.
	}
	s, err := outgoing.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.out = s
	if err = s.Send(ctx, c.address, []string{to}, mail); err != nil {
		l.closeOut()
	}
	return err
}

// in runs do in the folder for a use. do may run twice, if the connection ended meanwhile.
func (c *Channel) in(ctx context.Context, use string, do func(m *mailbox.Conn, folder string) error) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest() //nolint:contextcheck // signing out has a time of its own
	l.begin()      //nolint:contextcheck // signing out has a time of its own
	if l.box != nil && l.use == use {
		if err := do(l.box, l.folder); err == nil {
			return nil
		}
	}
	l.closeBox() //nolint:contextcheck // signing out has a time of its own
	m, err := mailbox.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.box, l.use = m, use
	if l.folder, err = m.For(ctx, use); err == nil {
		err = do(m, l.folder)
	}
	if err != nil {
		l.closeBox() //nolint:contextcheck // signing out has a time of its own
	}
	return err
}

// there reports whether a folder contains a mail with this Message-ID.
func there(ctx context.Context, m *mailbox.Conn, folder, id string) (bool, error) {
	if _, err := m.Select(ctx, folder); err != nil {
		return false, err
	}
	list, err := m.Named(ctx, id)
	return len(list) > 0, err
}
