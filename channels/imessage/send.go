package imessage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/markup"
	"hob/platform/messages/chatdb"
	"hob/platform/osrun"
)

// target is where something goes.
type target struct {
	key     string // the person's address, or the group's identifier
	guid    string // of the chat, "" when there is none yet
	service string
	group   bool
}

// resolve finds the chat of a delivery: the one the message that is answered came in,
// else that of this name in which was written last.
func (c *Channel) resolve(ctx context.Context, db *chatdb.DB, d channels.Delivery) (target, error) {
	key := chatdb.Handle(d.Chat, "")
	list, err := db.Find(ctx, key)
	if err == nil && len(list) == 0 && strings.Contains(d.Chat, ";") {
		key = chatdb.Handle(d.Chat[strings.LastIndexByte(d.Chat, ';')+1:], "")
		list, err = db.Find(ctx, key)
	}
	if err != nil {
		return target{}, c.explain(err)
	}
	// A chat of two by a group's name is nobody's, and a group by a person's address is not
	// that person.
	group := !isAddress(key) && slices.ContainsFunc(list, func(one chatdb.Chat) bool { return one.Group })
	list = slices.DeleteFunc(list, func(one chatdb.Chat) bool { return one.Group != group })
	if strings.HasPrefix(d.Chat, bySMS) {
		if sms := slices.DeleteFunc(slices.Clone(list), func(one chatdb.Chat) bool { return vouched(one.Service) }); len(sms) > 0 {
			list = sms
		}
	}
	var from cause
	_ = json.Unmarshal(d.Cause, &from) // none, or of another version
	for _, one := range list {
		if one.GUID == from.Chat {
			list[0] = one
		}
	}
	switch {
	case len(list) > 0:
		return target{key: list[0].Key(), guid: list[0].GUID, service: list[0].Service, group: list[0].Group}, nil
	case strings.Contains(d.Chat, ";+;") || !isAddress(key):
		return target{}, channels.Errorf(channels.Permanent, "Messages has no chat %q; use an e-mail address or a number with its country code, such as +15550100", d.Chat)
	}
	t := target{key: key, service: "iMessage"}
	if strings.HasPrefix(d.Chat, bySMS) {
		t.service = "SMS"
	}
	return t, nil
}

// isAddress: Messages can write there without a chat that is there already.
func isAddress(key string) bool { return strings.HasPrefix(key, "+") || strings.Contains(key, "@") }

// item is one thing that is sent: a text or a file.
type item struct {
	key, text string
	file      channels.Attachment
}

func fileText(name string) string { return "file:" + name }

// items are the parts of a delivery. Messages takes one at a time.
func items(d channels.Delivery) []item {
	var out []item
	if text := markup.Plain(d.Markdown()); strings.TrimSpace(text) != "" {
		out = append(out, item{key: d.ID, text: text})
	}
	for i, f := range d.Files {
		out = append(out, item{key: fmt.Sprintf("%s/%d", d.ID, i+1), text: fileText(fileName(f.Name)), file: f})
	}
	return out
}

// Send implements channels.Channel. What was sent before under the same id, by this
// process or an earlier one, is not sent again.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if c.deps.Scripts == nil {
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "imessage: automation of apps is switched off")
	}
	db, err := c.open(ctx)
	if err != nil {
		return channels.Receipt{}, err
	}
	defer func() { _ = db.Close() }()
	t, err := c.resolve(ctx, db, d)
	if err != nil {
		return channels.Receipt{}, err
	}
	var r channels.Receipt
	for i, it := range items(d) {
		guid, err := c.sendOne(ctx, db, t, it)
		if err != nil {
			return r, err
		}
		if i == 0 {
			r.ID = guid
		}
	}
	return r, nil
}

// sendOne sends one thing, and looks in the database for what became of it.
func (c *Channel) sendOne(ctx context.Context, db *chatdb.DB, t target, it item) (string, error) {
	e, known, err := c.ledger.get(ctx, it.key)
	switch {
	case err != nil:
		return "", err
	case known && (e.State == done || e.State == pending):
		return e.GUID, nil
	}
	last, _, err := db.Last(ctx)
	if err != nil {
		return "", c.explain(err)
	}
	in := request{Body: it.text}
	if it.file.Path != "" {
		in.Body = ""
		if in.File, err = c.stage(it.file); err != nil {
			return "", err
		}
		c.tidy()
	}
	e = entry{Key: it.key, Chat: hash(t.key), Text: hash(same(it.text)), Long: isLong(it.text), Before: last.RowID, At: c.opt.Now().UTC(), State: begun}
	if err := c.ledger.put(ctx, e); err != nil { // before the echo can come
		return "", err
	}
	if err := c.handOver(ctx, t, in); err != nil {
		return c.unsure(ctx, db, t, it, e, err)
	}
	e.State = pending // whatever comes now, it is not sent again
	if err := c.ledger.put(context.WithoutCancel(ctx), e); err != nil {
		return "", &channels.Error{MaybeSent: true, Err: err}
	}
	return c.verify(ctx, db, t, it, e)
}

// unsure deals with a script that failed: it may have sent all the same.
func (c *Channel) unsure(ctx context.Context, db *chatdb.DB, t target, it item, e entry, failed error) (string, error) {
	if !osrun.Uncertain(failed) {
		if err := c.ledger.forget(context.WithoutCancel(ctx), e); err != nil {
			return "", err
		}
		return "", c.classify(t, failed)
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if found, err := c.search(look, db, t, it, e); err == nil && found.row.GUID != "" && found.row.Error == 0 {
		e.State, e.GUID = done, found.row.GUID
		return e.GUID, c.ledger.put(look, e)
	}
	e.State = uncertain
	err := c.classify(t, failed)
	if x, ok := errors.AsType[*channels.Error](err); ok {
		x.MaybeSent = true
	}
	return "", errors.Join(err, c.ledger.put(look, e))
}

// The pace at which the database is looked at for what was sent, and how long a row
// may stay without a word on whether it went out.
const (
	verifyEach = 200 * time.Millisecond
	rowWait    = 3 * time.Second
)

// verify waits for the row of what was sent. When there is none in time, that is no
// failure: Messages took it, and sending it again would say it twice.
func (c *Channel) verify(ctx context.Context, db *chatdb.DB, t target, it item, e entry) (string, error) {
	deadline := time.Now().Add(c.opt.Verify)
	var firstSeen time.Time
	for {
		found, err := c.search(ctx, db, t, it, e)
		row, over := found.row, time.Now().After(deadline)
		if row.GUID != "" && firstSeen.IsZero() {
			firstSeen = time.Now()
		}
		// An error can pass, when Messages sends by SMS what did not go by iMessage.
		settled := row.GUID != "" && (over || time.Since(firstSeen) > min(rowWait, c.opt.Verify))
		switch {
		case err != nil && ctx.Err() != nil:
			return "", &channels.Error{MaybeSent: true, Err: err}
		case err != nil:
			c.deps.Log.WarnContext(ctx, "finding a sent message failed", "channel", Name, "error", err)
		case found.astray:
			return "", c.failed(ctx, e, "Messages put it into a chat other than the group; send a message to the group once in Messages, then try again")
		case row.Error != 0 && settled:
			return "", c.failed(ctx, e, fmt.Sprintf("Messages could not deliver it (error %d); check whether %s can be reached by %s", row.Error, t.key, row.Service))
		case row.Error == 0 && (settled || row.GUID != "" && (row.Sent || row.Delivered)):
			e.State, e.GUID = done, row.GUID
			c.note(func() { c.pending = 0 })
			return e.GUID, c.ledger.put(ctx, e)
		}
		if over {
			if found.ghost {
				return "", c.failed(ctx, e, "Messages sent nothing and left an empty row; open Messages and check that it is signed in and that "+t.key+" can receive messages")
			}
			c.note(func() { c.pending++ })
			c.deps.Log.WarnContext(ctx, "text accepted by Messages but not visible yet", "channel", Name)
			return "", nil
		}
		if !channels.Sleep(ctx, min(verifyEach, c.opt.Verify/4)) {
			return "", &channels.Error{MaybeSent: true, Err: ctx.Err()}
		}
	}
}

// failed is a text that certainly did not arrive.
func (c *Channel) failed(ctx context.Context, e entry, why string) error {
	if err := c.ledger.forget(ctx, e); err != nil {
		return err
	}
	return channels.Errorf(channels.Permanent, "imessage: %s", why)
}

// found is what the database tells of something that was sent.
type found struct {
	row    chatdb.Message
	astray bool // it stands in a chat of two with the group's name, which is nobody
	ghost  bool // an empty row that belongs to no chat, to that person
}

// search looks among the rows since a send was begun.
func (c *Channel) search(ctx context.Context, db *chatdb.DB, t target, it item, e entry) (found, error) {
	var out found
	if db.Stale() { // a copy of what was
		fresh, err := c.open(ctx)
		if err != nil {
			return out, err
		}
		defer func() { _ = fresh.Close() }()
		db = fresh
	}
	for after := e.Before; ; {
		list, next, err := db.All(ctx, after, page)
		if err != nil {
			return out, c.explain(err)
		}
		for _, m := range list {
			if !m.FromMe {
				continue
			}
			if m.Chat == nil {
				out.ghost = out.ghost || !t.group && m.Handle == t.key && m.Text == "" && len(m.Files) == 0 && !m.Undecodable
				continue
			}
			if !matches(m, it) || m.Chat.Key() != t.key {
				continue
			}
			said, err := c.ledger.said(ctx, m.GUID)
			switch {
			case err != nil:
				return out, err
			case said: // by another delivery with the same words
			case m.Chat.Group != t.group:
				out.astray = true
			default:
				out.row, out.astray = m, false
				return out, nil
			}
		}
		if next == after {
			return out, nil
		}
		after = next
	}
}

// matches reports whether a row is that text or that file.
func matches(m chatdb.Message, it item) bool {
	if it.file.Path != "" {
		return len(m.Files) > 0 && (m.Text == "" || m.Files[0].Name == fileName(it.file.Name))
	}
	return same(m.Text) == same(it.text)
}

// settleFor is how long an outcome that nobody knows stays open: an Apple event that
// Messages did not answer can still be carried out, such as when the owner answers a
// question of macOS.
const settleFor = 10 * time.Minute

// lookBack is how many rows are looked back over for a delivery that was never noted.
const lookBack = 500

// Find implements channels.Finder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	db, err := c.open(ctx)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	defer func() { _ = db.Close() }()
	t, err := c.resolve(ctx, db, d)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var r channels.Receipt
	list := items(d)
	for i, it := range list {
		guid, there, err := c.find(ctx, db, t, it, d.CreatedAt)
		if err != nil || !there {
			return channels.Receipt{}, false, err
		}
		if i == 0 {
			r.ID = guid
		}
	}
	return r, len(list) > 0, nil
}

// find looks one thing up: in what was kept, then in the database.
func (c *Channel) find(ctx context.Context, db *chatdb.DB, t target, it item, since time.Time) (string, bool, error) {
	e, known, err := c.ledger.get(ctx, it.key)
	if err != nil {
		return "", false, err
	}
	if known && e.State == done {
		return e.GUID, true, nil
	}
	if !known {
		last, _, err := db.Last(ctx)
		if err != nil {
			return "", false, c.explain(err)
		}
		e = entry{Key: it.key, Before: max(0, last.RowID-lookBack)}
	}
	got, err := c.search(ctx, db, t, it, e)
	switch {
	case err != nil:
		return "", false, err
	case got.row.GUID != "" && got.row.Error == 0 && (known || !got.row.At.Before(since.Add(-skew))):
		if known {
			e.State, e.GUID = done, got.row.GUID
			err = c.ledger.put(ctx, e)
		}
		return got.row.GUID, true, err
	case got.row.Error != 0 && known: // it did not arrive
		return "", false, c.ledger.forget(ctx, e)
	case known && e.State == pending:
		return "", true, nil
	}
	if since := c.opt.Now().Sub(e.At).Abs(); known && e.State == begun && since < c.opt.Orphan {
		return "", false, errors.New("imessage: an earlier process may still be sending this text; Hob checks again and resends it after 1 minute")
	}
	if known && e.State == uncertain && c.opt.Now().Sub(e.At).Abs() < settleFor {
		return "", false, errors.New("imessage: Messages did not confirm the text; Hob checks again and resends it after 10 minutes")
	}
	return "", false, nil
}
