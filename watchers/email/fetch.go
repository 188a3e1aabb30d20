package email

import (
	"context"
	"errors"
	"slices"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
)

// pageHeaders returns the headers of the messages starting at UID from, and the UID up to which the
// result is complete.
func (b *box) pageHeaders(ctx context.Context, n boxState, from uint32) (mails []pim.Message, upTo uint32, err error) {
	if from >= n.from && n.from != 0 {
		for _, m := range n.recent {
			if m.UID >= from {
				mails = append(mails, m)
			}
		}
		return mails, n.next, nil
	}
	type page struct {
		mails []pim.Message
		upTo  uint32
	}
	got, err := fetchOnConn(ctx, b, func(ctx context.Context, c *imapmail.Conn) (p page, err error) {
		uids, err := c.After(ctx, from)
		if err != nil {
			return p, err
		}
		uids = slices.DeleteFunc(uids, func(u uint32) bool { return u >= n.next })
		p.upTo = n.next
		if len(uids) > imapmail.Page {
			p.upTo = uids[imapmail.Page]
			uids = uids[:imapmail.Page]
		}
		if len(uids) > 0 {
			p.mails, err = b.readHeaders(ctx, c, uids)
		}
		return p, err
	})
	return got.mails, got.upTo, err
}

// uidsSince lists the UIDs below before of messages that arrived at t or later. It may include
// messages that arrived slightly earlier.
func (b *box) uidsSince(ctx context.Context, t time.Time, before uint32) ([]uint32, error) {
	uids, err := fetchOnConn(ctx, b, func(ctx context.Context, c *imapmail.Conn) ([]uint32, error) { return c.Since(ctx, t) })
	return slices.DeleteFunc(uids, func(u uint32) bool { return u >= before }), err
}

func (b *box) fetchHeaders(ctx context.Context, uids []uint32) ([]pim.Message, error) {
	return fetchOnConn(ctx, b, func(ctx context.Context, c *imapmail.Conn) ([]pim.Message, error) { return b.readHeaders(ctx, c, uids) })
}

// maxTries is the number of attempts to read a message, each on a new connection. After that the
// message is skipped.
const maxTries = 3

// readHeaders reads the headers of messages. An unreadable message does not prevent reading other
// messages; it is returned as refused.
func (b *box) readHeaders(ctx context.Context, c *imapmail.Conn, uids []uint32) ([]pim.Message, error) {
	mails, err := c.Headers(ctx, uids)
	if !errors.Is(err, pim.ErrRefused) {
		return mails, err
	}
	mails = nil
	var again error
	for _, u := range uids {
		one, err := c.Headers(ctx, []uint32{u})
		switch {
		case errors.Is(err, pim.ErrRefused) && b.countUnreadable(u, err):
			one = []pim.Message{{UID: u, Refused: err.Error()}}
		case errors.Is(err, pim.ErrRefused):
			again = err
		case err != nil:
			return nil, err
		}
		mails = append(mails, one...)
	}
	return mails, again
}

// countUnreadable counts a failed attempt to read a message. It reports whether the message must be
// skipped from now on.
func (b *box) countUnreadable(uid uint32, err error) bool {
	if len(b.refusals) > 10*maxRecent {
		clear(b.refusals)
	}
	if b.refusals[uid]++; b.refusals[uid] < maxTries {
		return false
	}
	b.log.Warn("mail could not be read", "account", b.at.account, "folder", b.at.folder, "uid", uid, "err", err)
	return true
}

// loadText loads the text of a message, but only once for all watchers.
func (b *box) loadText(ctx context.Context, m *pim.Message) error {
	if m.Text != "" || b.fillFromRecent(m) {
		return nil
	}
	whole, err := fetchOnConn(ctx, b, func(ctx context.Context, c *imapmail.Conn) (pim.Message, error) {
		m := *m
		err := c.Text(ctx, &m)
		if errors.Is(err, pim.ErrRefused) && b.countUnreadable(m.UID, err) {
			m.Refused, err = err.Error(), nil
		}
		return m, err
	})
	if err != nil {
		return err
	}
	*m = whole
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.recentIndex(m.UID); i >= 0 && len(m.Text) <= maxKept {
		b.news.recent = slices.Clone(b.news.recent) // other goroutines may still read the old list
		b.news.recent[i].Text, b.news.recent[i].Cut, b.news.recent[i].Files = m.Text, m.Cut, m.Files
	}
	return nil
}

// maxKept is the maximum length in bytes of a text that is kept in memory for other watchers.
const maxKept = 16 << 10

func (b *box) fillFromRecent(m *pim.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.recentIndex(m.UID)
	if i < 0 || b.news.recent[i].Text == "" {
		return false
	}
	m.Text, m.Cut, m.Files = b.news.recent[i].Text, b.news.recent[i].Cut, b.news.recent[i].Files
	return true
}

// recentIndex returns the index of a message among the newest messages, or -1. The caller holds
// b.mu.
func (b *box) recentIndex(uid uint32) int {
	return slices.IndexFunc(b.news.recent, func(m pim.Message) bool { return m.UID == uid })
}
