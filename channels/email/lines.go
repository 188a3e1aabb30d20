package email

import (
	"context"
	"sync"
	"time"

	"hob/platform/pim/mailbox"
	"hob/platform/pim/outgoing"
)

// idle is how long a connection is kept for the next text.
const idle = 10 * time.Second

// lines are the connections for what goes out. While the channel runs they are kept for
// a moment, so that many texts in a row are quick.
type lines struct {
	mu    sync.Mutex // held while one is used
	keep  bool
	out   *outgoing.Session
	box   *mailbox.Conn
	use   string // what the open folder of box is for
	timer *time.Timer
}

// hold keeps connections from now on, until release.
func (l *lines) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = true
}

func (l *lines) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = false
	l.close()
}

// rest is called when a connection is not used any more; l.mu is held.
func (l *lines) rest() {
	if !l.keep {
		l.close()
		return
	}
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
func (c *Channel) post(ctx context.Context, to string, mail []byte) (err error) {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest()
	if l.out != nil && !l.out.Alive(ctx) {
		l.closeOut()
	}
	if l.out == nil {
		if l.out, err = outgoing.Open(ctx, c.account); err != nil {
			l.out = nil
			return err
		}
	}
	if err = l.out.Send(ctx, c.address, []string{to}, mail); err != nil {
		l.closeOut()
	}
	return err
}

// in does something in the folder for a use. What is done may be done twice, when the
// connection has ended meanwhile.
func (c *Channel) in(ctx context.Context, use string, do func(*mailbox.Conn) error) error {
	l := &c.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rest()
	if l.box != nil && l.use == use {
		if err := do(l.box); err == nil {
			return nil
		}
	}
	l.closeBox()
	m, err := mailbox.Open(ctx, c.account)
	if err != nil {
		return err
	}
	l.box, l.use = m, use
	err = enter(ctx, m, use)
	if err == nil {
		err = do(m)
	}
	if err != nil {
		l.closeBox()
	}
	return err
}

func enter(ctx context.Context, m *mailbox.Conn, use string) error {
	folder, err := m.For(ctx, use)
	if err == nil {
		_, err = m.Select(ctx, folder)
	}
	return err
}
