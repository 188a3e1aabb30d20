package email

import (
	"context"
	"errors"
	"slices"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/mailbox"
)

// page returns mail headers from a UID on, and the UID up to which they are complete.
func (b *box) page(ctx context.Context, n news, from uint32) (mails []pim.Message, upTo uint32, err error) {
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
	got, err := get(ctx, b, func(ctx context.Context, c *mailbox.Conn) (p page, err error) {
		uids, err := c.After(ctx, from)
		if err != nil {
			return p, err
		}
		uids = slices.DeleteFunc(uids, func(u uint32) bool { return u >= n.next })
		p.upTo = n.next
		if len(uids) > mailbox.Page {
			p.upTo = uids[mailbox.Page]
			uids = uids[:mailbox.Page]
		}
		if len(uids) > 0 {
			p.mails, err = b.heads(ctx, c, uids)
		}
		return p, err
	})
	return got.mails, got.upTo, err
}

// since lists the mails below UID before that arrived at t or later, or slightly earlier.
func (b *box) since(ctx context.Context, t time.Time, before uint32) ([]uint32, error) {
	uids, err := get(ctx, b, func(ctx context.Context, c *mailbox.Conn) ([]uint32, error) { return c.Since(ctx, t) })
	return slices.DeleteFunc(uids, func(u uint32) bool { return u >= before }), err
}

func (b *box) headers(ctx context.Context, uids []uint32) ([]pim.Message, error) {
	return get(ctx, b, func(ctx context.Context, c *mailbox.Conn) ([]pim.Message, error) { return b.heads(ctx, c, uids) })
}

// maxTries is how often an unreadable mail is requested, each time on a new connection, before it
// is skipped.
const maxTries = 3

// heads reads the headers of mails. An unreadable mail does not block the others: it is returned as
// refused.
func (b *box) heads(ctx context.Context, c *mailbox.Conn, uids []uint32) ([]pim.Message, error) {
	mails, err := c.Headers(ctx, uids)
	if !errors.Is(err, pim.ErrRefused) {
		return mails, err
	}
	mails = nil
	var again error
	for _, u := range uids {
		one, err := c.Headers(ctx, []uint32{u})
		switch {
		case errors.Is(err, pim.ErrRefused) && b.unreadable(u, err):
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

// unreadable counts a failed read and reports whether the mail is skipped from now on.
func (b *box) unreadable(uid uint32, err error) bool {
	if len(b.refusals) > 10*maxRecent {
		clear(b.refusals)
	}
	if b.refusals[uid]++; b.refusals[uid] < maxTries {
		return false
	}
	b.log.Warn("mail could not be read", "account", b.at.account, "folder", b.at.folder, "uid", uid, "err", err)
	return true
}

// text loads the text of a mail, once for all watchers.
func (b *box) text(ctx context.Context, m *pim.Message) error {
	if m.Text != "" || b.remembered(m) {
		return nil
	}
	whole, err := get(ctx, b, func(ctx context.Context, c *mailbox.Conn) (pim.Message, error) {
		m := *m
		err := c.Text(ctx, &m)
		if errors.Is(err, pim.ErrRefused) && b.unreadable(m.UID, err) {
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
	if i := b.recent(m.UID); i >= 0 && len(m.Text) <= maxKept {
		b.news.recent = slices.Clone(b.news.recent) // readers of the old list keep using it
		b.news.recent[i].Text, b.news.recent[i].Cut, b.news.recent[i].Files = m.Text, m.Cut, m.Files
	}
	return nil
}

// maxKept is the maximum length in bytes of a text to keep for other watchers.
const maxKept = 16 << 10

func (b *box) remembered(m *pim.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.recent(m.UID)
	if i < 0 || b.news.recent[i].Text == "" {
		return false
	}
	m.Text, m.Cut, m.Files = b.news.recent[i].Text, b.news.recent[i].Cut, b.news.recent[i].Files
	return true
}

// recent returns the index of a mail among the newest, or -1. The caller holds b.mu.
func (b *box) recent(uid uint32) int {
	return slices.IndexFunc(b.news.recent, func(m pim.Message) bool { return m.UID == uid })
}
