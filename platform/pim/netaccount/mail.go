// Package netaccount implements platform/pim for a provider account: email over IMAP and SMTP,
// calendars and tasks over CalDAV, contacts over CardDAV.
//
// Each call opens its own connection, because tools are called rarely. Tools use the drivers
// through the interfaces of pim.
package netaccount

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/compose"
	"hob/platform/pim/ics"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
)

// Mail is the mailbox of an account.
type Mail struct{ account pim.Account }

// NewMail returns the mail of an account with IMAP, SMTP or both.
func NewMail(a pim.Account) *Mail { return &Mail{a} }

// Name implements pim.Driver.
func (m *Mail) Name() string { return m.account.Name }

// From implements pim.Mailer.
func (m *Mail) From() pim.Person { return pim.Person{Address: strings.ToLower(m.account.Address)} }

func (m *Mail) refOf(p imapmail.Place) string { return p.Ref(m.account.Name) }

func (m *Mail) parseRef(ref string) (imapmail.Place, error) {
	parts := strings.SplitN(ref, "/", 4)
	if len(parts) == 4 && parts[0] == m.account.Name {
		validity, err := strconv.ParseUint(parts[1], 10, 32)
		uid, uerr := strconv.ParseUint(parts[2], 10, 32)
		if err == nil && uerr == nil && uid > 0 {
			return imapmail.Place{Folder: parts[3], Validity: uint32(validity), UID: uint32(uid)}, nil
		}
	}
	return imapmail.Place{}, m.account.Errorf("%w: no message %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
}

// withConn opens a connection, signs in and calls do.
func (m *Mail) withConn(ctx context.Context, do func(*imapmail.Conn) error) error {
	c, err := imapmail.Open(ctx, m.account)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() //nolint:contextcheck // signing out has a separate time limit
	return do(c)
}

// FindMail implements pim.Mailer.
func (m *Mail) FindMail(ctx context.Context, q pim.MailQuery) (out []pim.Message, err error) {
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		s, err := c.Select(ctx, cmp.Or(strings.TrimSpace(q.Folder), "INBOX"))
		if err != nil {
			return err
		}
		folder := c.Folder()
		uids, err := c.Find(ctx, imapmail.Query{Unseen: q.Unseen, Flagged: q.Flagged, Since: q.Since, Before: q.Before, From: q.From, Subject: q.Subject, Text: q.Text})
		if err != nil || len(uids) == 0 {
			return err
		}
		uids = uids[max(0, len(uids)-min(cmp.Or(max(q.Limit, 0), 10), imapmail.Page)):]
		out, err = c.Headers(ctx, uids)
		slices.Reverse(out)
		for i := range out {
			out[i].Ref = m.refOf(imapmail.Place{Folder: folder, Validity: s.Validity, UID: out[i].UID})
		}
		return err
	})
	return out, err
}

// openMailAt opens the folder of a message and reads its headers.
func (m *Mail) openMailAt(ctx context.Context, c *imapmail.Conn, p imapmail.Place, change bool) (pim.Message, error) {
	open := c.Select
	if change {
		open = c.Enter
	}
	s, err := open(ctx, p.Folder)
	if err != nil {
		return pim.Message{}, err
	}
	gone := m.account.Errorf("%w: the message was moved or removed in the meantime", pim.ErrNotFound)
	if s.Validity != p.Validity {
		return pim.Message{}, gone
	}
	list, err := c.Headers(ctx, []uint32{p.UID})
	if err != nil {
		return pim.Message{}, err
	}
	if len(list) != 1 {
		return pim.Message{}, gone
	}
	list[0].Ref = m.refOf(p)
	return list[0], nil
}

// ReadMail implements pim.Mailer.
func (m *Mail) ReadMail(ctx context.Context, ref string) (out pim.Message, err error) {
	p, err := m.parseRef(ref)
	if err != nil {
		return out, err
	}
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		if out, err = m.openMailAt(ctx, c, p, false); err != nil {
			return err
		}
		return c.Whole(ctx, &out)
	})
	return out, err
}

// SendMail implements pim.Mailer. It stores a copy in the folder for sent messages, unless the
// provider does this itself.
func (m *Mail) SendMail(ctx context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	l.ID = cmp.Or(l.ID, compose.NewID(m.account.Address))
	var to []string
	for _, p := range l.Recipients() {
		if !slices.Contains(to, p.Address) {
			to = append(to, p.Address)
		}
	}
	if len(to) == 0 {
		return pim.Receipt{}, fmt.Errorf("%w: no recipients", pim.ErrInvalid)
	}
	mail, err := compose.Letter(l, m.From(), false)
	if err != nil {
		return pim.Receipt{}, err
	}
	err = smtpmail.Send(ctx, m.account, m.From().Address, to, mail, l.SendHooks)
	if err != nil && !errors.Is(err, smtpmail.ErrUnsure) {
		return pim.Receipt{}, err
	}
	out := pim.Receipt{Outcome: pim.Sent, ID: l.ID}
	if err != nil {
		out.Outcome, out.Why = pim.Uncertain, err.Error()
		return out, nil
	}
	if m.account.Server(pim.IMAP) != "" {
		if err := m.saveToSent(ctx, l); err != nil {
			out.Why = "the message was sent, but no copy was saved in the sent folder: " + err.Error()
		}
	}
	return out, nil
}

// MarksAuto implements pim.AutoMarker.
func (m *Mail) MarksAuto() {}

// WasSent implements pim.LateCommitter.
func (m *Mail) WasSent(ctx context.Context, id string) (sent bool, err error) {
	if m.account.Server(pim.IMAP) == "" {
		return false, nil
	}
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		folder, err := c.For(ctx, "sent")
		if err != nil {
			return err
		}
		if _, err := c.Select(ctx, folder); err != nil {
			return err
		}
		there, err := c.Named(ctx, id)
		sent = len(there) > 0
		return err
	})
	return sent, err
}

// keepsItself reports whether the provider itself stores sent messages.
func keepsItself(server string) bool {
	s, err := pim.ParseServer(pim.SMTP, server)
	host := strings.ToLower(s.Host)
	return err == nil && slices.ContainsFunc([]string{"gmail.com", "googlemail.com", "google.com", "office365.com", "outlook.com"}, func(d string) bool {
		return host == d || strings.HasSuffix(host, "."+d)
	})
}

// saveToSent stores a copy in the folder for sent messages if there is none.
func (m *Mail) saveToSent(ctx context.Context, l pim.OutgoingMail) error {
	if keepsItself(m.account.Server(pim.SMTP)) {
		return nil
	}
	mail, err := compose.Letter(l, m.From(), true)
	if err != nil {
		return err
	}
	return m.withConn(ctx, func(c *imapmail.Conn) error {
		folder, err := c.For(ctx, "sent")
		if err != nil {
			return err
		}
		if _, err := c.Select(ctx, folder); err != nil {
			return err
		}
		if there, err := c.Named(ctx, l.ID); err != nil || len(there) > 0 {
			return err
		}
		_, err = c.Put(ctx, folder, mail, false)
		return err
	})
}

// moveUndo is the undo data of a move or a new message. The message with this Message-ID is now at
// Place. It was in the folder From before ("" if it is new).
type moveUndo struct {
	imapmail.Place
	ID   string
	From string
}

func marshalMoveUndo(u moveUndo) []byte {
	b, err := json.Marshal(u)
	if err != nil { // a programming error: plain data always encodes
		panic(err)
	}
	return b
}

// DraftMail implements pim.Mailer.
func (m *Mail) DraftMail(ctx context.Context, l pim.OutgoingMail) (out pim.Receipt, err error) {
	l.ID = cmp.Or(l.ID, compose.NewID(m.account.Address))
	mail, err := compose.Letter(l, m.From(), true)
	if err != nil {
		return out, err
	}
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		folder, err := c.For(ctx, "drafts")
		if err != nil {
			return err
		}
		s, err := c.Enter(ctx, folder)
		if err != nil {
			return err
		}
		there, err := c.Named(ctx, l.ID) // an earlier attempt stored the message but got no confirmation
		if err != nil {
			return err
		}
		p := imapmail.Place{Folder: folder, Validity: s.Validity}
		if len(there) > 0 {
			p.UID = there[len(there)-1]
		} else if p, err = c.Put(ctx, folder, mail, true); err != nil {
			return err
		}
		out = pim.Receipt{Outcome: pim.Sent, ID: m.refOf(p), Undo: marshalMoveUndo(moveUndo{p, l.ID, ""})}
		return nil
	})
	if errors.Is(err, imapmail.ErrUnsure) {
		return pim.Receipt{Outcome: pim.Uncertain, Why: err.Error()}, nil
	}
	return out, err
}

// MoveMail implements pim.Mailer.
func (m *Mail) MoveMail(ctx context.Context, ref, folder string) (out pim.Receipt, err error) {
	p, err := m.parseRef(ref)
	if err != nil {
		return out, err
	}
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		to, err := c.For(ctx, folder)
		if err != nil {
			return err
		}
		if to == p.Folder {
			return fmt.Errorf("%w: the message is already in %s", pim.ErrInvalid, to)
		}
		x, err := m.openMailAt(ctx, c, p, true)
		if err != nil {
			return err
		}
		now, err := c.Move(ctx, p.UID, to)
		if err != nil {
			return err
		}
		out = pim.Receipt{Outcome: pim.Sent, ID: m.refOf(now), Why: "moved to " + to, Undo: marshalMoveUndo(moveUndo{now, x.ID, p.Folder})}
		return nil
	})
	if errors.Is(err, imapmail.ErrUnsure) {
		return pim.Receipt{Outcome: pim.Uncertain, Why: err.Error()}, nil
	}
	return out, err
}

// TakeBack implements pim.Undoer.
func (m *Mail) TakeBack(ctx context.Context, data []byte) error {
	var u moveUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return fmt.Errorf("invalid undo record: %w", err)
	}
	return m.withConn(ctx, func(c *imapmail.Conn) error {
		s, err := c.Enter(ctx, u.Folder)
		if err != nil {
			return err
		}
		changed := fmt.Errorf("%w: the message is no longer in %s", pim.ErrChanged, u.Folder)
		there := false
		if u.UID != 0 && s.Validity == u.Validity {
			list, err := c.Headers(ctx, []uint32{u.UID})
			if err != nil || len(list) == 1 && list[0].ID != u.ID {
				return errors.Join(err, changed)
			}
			there = len(list) == 1
		}
		if !there { // the server renumbered the folder, or the message was moved away and back
			list, err := c.Named(ctx, u.ID)
			if err != nil {
				return err
			}
			if len(list) != 1 {
				return changed
			}
			u.UID = list[0]
		}
		if u.From == "" {
			return c.Remove(ctx, u.UID)
		}
		_, err = c.Move(ctx, u.UID, u.From)
		return err
	})
}

// Message implements pim.Scheduling.
func (c *Calendars) Message(ctx context.Context, method string, e pim.Event, whole bool) (text string, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		data, _, err := d.Read(ctx, e.Ref)
		if err != nil {
			return err
		}
		text, err = ics.Message(method, data, e, whole, e.Start.Location(), time.Now())
		return err
	})
	return text, err
}

// AnswerEvent implements pim.Scheduling.
func (c *Calendars) AnswerEvent(ctx context.Context, e pim.Event, a pim.Answer, comment string, whole bool) (r pim.Receipt, message string, err error) {
	me := pim.Person{Address: strings.ToLower(c.account.Address)}
	if me.Address == "" {
		return r, "", c.account.Errorf("%w: the account has no address, so your entry in the guest list is unknown; set its address", pim.ErrInvalid)
	}
	r, err = c.rewriteObject(ctx, e.Ref, func(b []byte) (after []byte, err error) {
		after, message, err = ics.Answered(b, e, me, a, comment, whole, e.Start.Location(), time.Now())
		return after, err
	})
	return r, message, err
}

// Contacts are the address books of an account.
type Contacts struct{ account pim.Account }

// NewContacts returns the contacts of an account with CardDAV.
func NewContacts(a pim.Account) *Contacts { return &Contacts{a} }

// Name implements pim.Driver.
func (c *Contacts) Name() string { return c.account.Name }

// FindContacts implements pim.Contacts.
func (c *Contacts) FindContacts(ctx context.Context, words string, limit int) ([]pim.Contact, error) {
	d, err := caldav.OpenCards(ctx, c.account)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Cards(ctx, words, limit)
}
