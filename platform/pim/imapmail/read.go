package imapmail

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// Limits for reading messages.
const (
	maxHeader = 32 << 10 // bytes of a message's header fields
	maxText   = 64 << 10 // bytes of a message, from its beginning
	// maxBeginning is the number of bytes of each message that Beginnings reads.
	maxBeginning = 32 << 10
	// Page is the maximum number of messages per read.
	Page = 50
)

// headerFields returns the header fields to fetch.
func headerFields() []string {
	return []string{
		"From", "Reply-To", "To", "Cc", "Bcc", "Subject", "Date", "Message-ID", "References", "In-Reply-To",
		"List-Id", "List-Unsubscribe", "List-Unsubscribe-Post", "Precedence", "Auto-Submitted", "Importance", "X-Priority",
	}
}

// After lists the UIDs from uid on, ascending.
func (m *Conn) After(ctx context.Context, uid uint32) ([]uint32, error) {
	found, err := m.searchUIDs(ctx, imap.SearchCriteria{UID: []imap.UIDSet{{imap.UIDRange{Start: imap.UID(max(uid, 1))}}}})
	// "n:*" includes the newest message even if its UID is smaller than n (RFC 3501, 6.4.8)
	return slices.DeleteFunc(found, func(u uint32) bool { return u < uid }), err
}

// Since lists the UIDs of messages that arrived at t or later, in ascending order. It may include
// messages from up to a day before, because servers only search by day.
func (m *Conn) Since(ctx context.Context, t time.Time) ([]uint32, error) {
	return m.searchUIDs(ctx, imap.SearchCriteria{Since: t.UTC().AddDate(0, 0, -1)})
}

// Query selects messages in a folder. The zero value selects all.
type Query struct {
	Unseen        bool
	Flagged       bool
	Since, Before time.Time // whole days, because servers do not compare times
	From, Subject string    // text in these header fields
	Text          string    // text anywhere in the message
}

// Find lists the UIDs of the messages that match, in ascending order.
func (m *Conn) Find(ctx context.Context, q Query) ([]uint32, error) {
	c := imap.SearchCriteria{Since: q.Since, Before: q.Before}
	if q.Unseen {
		c.NotFlag = append(c.NotFlag, imap.FlagSeen)
	}
	if q.Flagged {
		c.Flag = append(c.Flag, imap.FlagFlagged)
	}
	for key, value := range map[string]string{"From": q.From, "Subject": q.Subject} {
		if value = pim.SanitizeLine(value, maxSubject); value != "" {
			c.Header = append(c.Header, imap.SearchCriteriaHeaderField{Key: key, Value: value})
		}
	}
	if text := pim.SanitizeLine(q.Text, maxSubject); text != "" {
		c.Text = []string{text}
	}
	return m.searchUIDs(ctx, c)
}

func (m *Conn) searchUIDs(ctx context.Context, c imap.SearchCriteria) (out []uint32, err error) {
	err = m.runBounded(ctx, 2<<20, "search mails", func() error {
		d, err := m.c.UIDSearch(&c, nil).Wait()
		if err != nil {
			return err
		}
		for _, u := range d.AllUIDs() {
			out = append(out, uint32(u))
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// Headers reads the headers of at most Page messages, in UID order. It skips deleted messages.
// pim.ErrRefused means that one of them cannot be parsed.
func (m *Conn) Headers(ctx context.Context, uids []uint32) ([]pim.Message, error) {
	section := &imap.FetchItemBodySection{
		Specifier: imap.PartSpecifierHeader, HeaderFields: headerFields(), Peek: true, Partial: &imap.SectionPartial{Size: maxHeader},
	}
	var out []pim.Message
	err := m.fetchMails(ctx, uids, maxHeader, section, func(x pim.Message, b []byte) {
		readHeader(b, &x)
		out = append(out, x)
	})
	return out, err
}

// Text reads the beginning of a message's text into x.
func (m *Conn) Text(ctx context.Context, x *pim.Message) error {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: maxText}}
	return m.fetchMails(ctx, []uint32{x.UID}, maxText, section, func(_ pim.Message, b []byte) {
		x.Text, x.Files, x.Cut = readText(b)
		x.Cut = x.Cut || x.Size > int64(len(b))
	})
}

// Related lists the UIDs of the messages in the open folder with a Message-ID, and of those that
// refer to it, in ascending order.
func (m *Conn) Related(ctx context.Context, id string) ([]uint32, error) {
	if !pim.ValidMessageID(id) {
		return nil, nil
	}
	field := func(key string) imap.SearchCriteria {
		return imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: key, Value: "<" + id + ">"}}}
	}
	refers := imap.SearchCriteria{Or: [][2]imap.SearchCriteria{{field("References"), field("In-Reply-To")}}}
	return m.searchUIDs(ctx, imap.SearchCriteria{Or: [][2]imap.SearchCriteria{{field("Message-ID"), refers}}})
}

// Beginnings reads the headers and the beginning of the text of at most Page messages with one
// request, in UID order. pim.ErrRefused means that one of them cannot be parsed.
func (m *Conn) Beginnings(ctx context.Context, uids []uint32) ([]pim.Message, error) {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: maxBeginning}}
	var out []pim.Message
	err := m.fetchMails(ctx, uids, maxBeginning, section, func(x pim.Message, b []byte) {
		readHeader(b, &x)
		x.Text, x.Files, x.Cut = readText(b)
		x.Cut = x.Cut || x.Size > int64(len(b))
		out = append(out, x)
	})
	return out, err
}

// collectMessages replaces FetchCommand.Collect of go-imap. That method continues to read after the
// connection failed within a literal, while the reader goroutine also reads.
func collectMessages(cmd *imapclient.FetchCommand) (out []*imapclient.FetchMessageBuffer, err error) {
	for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
		buf := &imapclient.FetchMessageBuffer{SeqNum: msg.SeqNum}
		for item := msg.Next(); item != nil; item = msg.Next() {
			switch item := item.(type) {
			case imapclient.FetchItemDataUID:
				buf.UID = item.UID
			case imapclient.FetchItemDataFlags:
				buf.Flags = item.Flags
			case imapclient.FetchItemDataInternalDate:
				buf.InternalDate = item.Time
			case imapclient.FetchItemDataRFC822Size:
				buf.RFC822Size = item.Size
			case imapclient.FetchItemDataBodySection:
				var b []byte
				if item.Literal != nil {
					if b, err = io.ReadAll(item.Literal); err != nil {
						return out, err // the connection has ended
					}
				}
				buf.BodySection = append(buf.BodySection, imapclient.FetchBodySectionBuffer{Section: item.Section, Bytes: b})
			}
		}
		out = append(out, buf)
	}
	return out, cmd.Close()
}

func (m *Conn) fetchMails(ctx context.Context, uids []uint32, each int, section *imap.FetchItemBodySection, take func(pim.Message, []byte)) error {
	if len(uids) == 0 || len(uids) > Page {
		return m.account.Errorf("%d messages requested at once; must be 1 to %d", len(uids), Page)
	}
	var set imap.UIDSet
	for _, u := range uids {
		set.AddNum(imap.UID(u))
	}
	type found struct {
		pim.Message
		raw []byte
	}
	var all []found
	err := m.runBounded(ctx, int64(len(uids)*(each+4<<10)+64<<10), "read messages", func() error {
		list, err := collectMessages(m.c.Fetch(set, &imap.FetchOptions{
			UID: true, Flags: true, InternalDate: true, RFC822Size: true, BodySection: []*imap.FetchItemBodySection{section},
		}))
		for _, f := range list {
			if !slices.Contains(uids, uint32(f.UID)) || len(f.BodySection) == 0 {
				continue // unrequested data, such as a flag change
			}
			all = append(all, found{pim.Message{
				UID: uint32(f.UID), Received: f.InternalDate.UTC(), Size: f.RFC822Size, Seen: slices.Contains(f.Flags, imap.FlagSeen),
				Flagged: slices.Contains(f.Flags, imap.FlagFlagged),
			}, f.BodySection[0].Bytes})
		}
		return err
	})
	if err != nil {
		return err
	}
	sorting.StableByFunc(all, func(a, b found) int { return cmp.Compare(a.UID, b.UID) })
	for i, f := range all {
		if i == 0 || all[i-1].UID != f.UID {
			if err := m.recoverPanic(func() { take(f.Message, f.raw) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// recoverPanic runs take, which parses a message, and converts a panic to an error.
func (m *Conn) recoverPanic(take func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = m.account.Errorf("read messages: %w: parser panic: %v", pim.ErrRefused, p)
		}
	}()
	take()
	return nil
}
