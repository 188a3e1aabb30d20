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

// idle is how long a connection is kept for the next text.
const idle = 10 * time.Second

// lines are the connections for what goes out. While the channel runs they are kept for
// a moment, so that many texts in a row are quick.
type lines struct {
	mu          sync.Mutex // held while one is used
	keep        atomic.Bool
	used        time.Time
	out         *outgoing.Session
	box         *mailbox.Conn
	use, folder string // what box is for, and where
	timer       *time.Timer
}

// hold keeps connections from now on, until release.
func (l *lines) hold() { l.keep.Store(true) }

// release closes what is not in use; what is in use is closed when it is done.
func (l *lines) release() {
	l.keep.Store(false)
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		l.close()
	}
}

// begin closes what has lain too long, such as while the machine slept; l.mu is held.
func (l *lines) begin() {
	if time.Now().Round(0).Sub(l.used) > idle {
		l.close()
	}
}

// rest is called when a connection is not used any more; l.mu is held.
func (l *lines) rest() {
	if !l.keep.Load() {
		l.close()
		return
	}
	l.used = time.Now().Round(0) // by the clock, which goes on while the machine sleeps
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(idle, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.close()
	})
}

// close closes what is open; l.mu is held.
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

// post hands a mail to the server for outgoing mail.
func (c *Channel) post(ctx context.Context, to string, mail []byte) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest()
	l.begin()
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

// in does something in the folder for a use, whose name it is given. What is done may
// be done twice, when the connection has ended meanwhile.
func (c *Channel) in(ctx context.Context, use string, do func(m *mailbox.Conn, folder string) error) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest()
	l.begin()
	if l.box != nil && l.use == use {
		if err := do(l.box, l.folder); err == nil {
			return nil
		}
	}
	l.closeBox()
	m, err := mailbox.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.box, l.use = m, use
	if l.folder, err = m.For(ctx, use); err == nil {
		err = do(m, l.folder)
	}
	if err != nil {
		l.closeBox()
	}
	return err
}

// there reports whether a mail of this name lies in a folder.
func there(ctx context.Context, m *mailbox.Conn, folder, id string) (bool, error) {
	if _, err := m.Select(ctx, folder); err != nil {
		return false, err
	}
	list, err := m.Named(ctx, id)
	return len(list) > 0, err
}
