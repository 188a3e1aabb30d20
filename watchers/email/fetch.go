package email

import (
	"context"
	"slices"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/mailbox"
)

// page gives the heads of mails from a UID on, and the UID up to which these are
// all.
func (b *box) page(ctx context.Context, n news, from uint32) (mails []pim.Message, upTo uint32, err error) {
	if from >= n.from && n.from != 0 {
		for _, m := range n.recent {
			if m.UID >= from {
				mails = append(mails, m)
			}
		}
		return mails, n.next, nil
	}
	err = b.do(ctx, func(ctx context.Context, c *mailbox.Conn) error {
		uids, err := c.After(ctx, from)
		if err != nil {
			return err
		}
		uids = slices.DeleteFunc(uids, func(u uint32) bool { return u >= n.next })
		upTo = n.next
		if len(uids) > mailbox.Page {
			upTo = uids[mailbox.Page]
			uids = uids[:mailbox.Page]
		}
		if len(uids) > 0 {
			mails, err = c.Headers(ctx, uids)
		}
		return err
	})
	return mails, upTo, err
}

// since lists the mails below the UID before that came at t or later, or hardly
// earlier.
func (b *box) since(ctx context.Context, t time.Time, before uint32) (uids []uint32, err error) {
	err = b.do(ctx, func(ctx context.Context, c *mailbox.Conn) (err error) {
		uids, err = c.Since(ctx, t)
		return err
	})
	return slices.DeleteFunc(uids, func(u uint32) bool { return u >= before }), err
}

func (b *box) headers(ctx context.Context, uids []uint32) (mails []pim.Message, err error) {
	err = b.do(ctx, func(ctx context.Context, c *mailbox.Conn) (err error) {
		mails, err = c.Headers(ctx, uids)
		return err
	})
	return mails, err
}

// text reads a mail's text, once for all watchers.
func (b *box) text(ctx context.Context, m *pim.Message) error {
	if m.Text != "" || b.remembered(m) {
		return nil
	}
	err := b.do(ctx, func(ctx context.Context, c *mailbox.Conn) error { return c.Text(ctx, m) })
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.recent(m.UID); i >= 0 && len(m.Text) <= maxKept {
		b.news.recent = slices.Clone(b.news.recent) // who holds the old list goes on reading it
		b.news.recent[i].Text, b.news.recent[i].Cut, b.news.recent[i].Files = m.Text, m.Cut, m.Files
	}
	return nil
}

// maxKept is the longest text that is kept for other watchers, in bytes.
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

// recent finds a mail among the newest. The caller holds b.mu.
func (b *box) recent(uid uint32) int {
	return slices.IndexFunc(b.news.recent, func(m pim.Message) bool { return m.UID == uid })
}
