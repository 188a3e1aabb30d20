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
	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdb"
	"hob/platform/retry"
	"hob/platform/text/markup"
)

// target is the destination of a message.
type target struct {
	key     string // the person's address, or the group's identifier
	guid    string // GUID of the chat, "" if none exists yet
	service string
	group   bool
}

// resolveTarget returns the chat for a delivery: the chat of the answered message, otherwise the
// most recently used chat with this key.
func (c *Channel) resolveTarget(ctx context.Context, db *chatdb.DB, d channels.Delivery) (target, error) {
	key := chatdb.Handle(d.Chat, "")
	list, err := db.Find(ctx, key)
	if err == nil && len(list) == 0 && strings.Contains(d.Chat, ";") {
		key = chatdb.Handle(d.Chat[strings.LastIndexByte(d.Chat, ';')+1:], "")
		list, err = db.Find(ctx, key)
	}
	if err != nil {
		return target{}, c.explainDBError(err)
	}
	// Ignore a direct chat that has the name of a group. A group that has the address of a person
	// is not a chat with that person.
	group := !isAddress(key) && slices.ContainsFunc(list, func(one chatdb.Chat) bool { return one.Group })
	list = slices.DeleteFunc(list, func(one chatdb.Chat) bool { return one.Group != group })
	if strings.HasPrefix(d.Chat, bySMS) {
		if sms := slices.DeleteFunc(slices.Clone(list), func(one chatdb.Chat) bool { return isVerifiedService(one.Service) }); len(sms) > 0 {
			list = sms
		}
	}
	var from replyContext
	_ = json.Unmarshal(d.Cause, &from) // none, or written by a different version
	for _, one := range list {
		if one.GUID == from.Chat {
			list[0] = one
		}
	}
	switch {
	case len(list) > 0:
		return target{key: list[0].Key(), guid: list[0].GUID, service: list[0].Service, group: list[0].Group}, nil
	case strings.Contains(d.Chat, ";+;") || !isAddress(key):
		return target{}, channels.Errorf(channels.Permanent, "Messages has no chat %q; use an email address or a phone number with its country code, such as +15550100", d.Chat)
	}
	t := target{key: key, service: "iMessage"}
	if strings.HasPrefix(d.Chat, bySMS) {
		t.service = "SMS"
	}
	return t, nil
}

// isAddress reports whether Messages can send to key without an existing chat.
func isAddress(key string) bool { return strings.HasPrefix(key, "+") || strings.Contains(key, "@") }

// item is one text or file to send.
type item struct {
	key, text string
	file      channels.Attachment
}

func fileText(name string) string { return "file:" + name }

// splitItems returns the parts of a delivery. Messages accepts one item at a time.
func splitItems(d channels.Delivery) []item {
	var out []item
	if text := markup.Plain(d.Markdown()); strings.TrimSpace(text) != "" {
		out = append(out, item{key: d.ID, text: text})
	}
	for i, f := range d.Files {
		out = append(out, item{key: fmt.Sprintf("%s/%d", d.ID, i+1), text: fileText(fileName(f.Name)), file: f})
	}
	return out
}

// Send implements channels.Channel. It does not resend parts that were already sent under the same
// id, by this process or an earlier one.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if c.deps.Scripts == nil {
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "imessage: automation of apps is switched off")
	}
	db, err := c.openDatabase(ctx)
	if err != nil {
		return channels.Receipt{}, err
	}
	defer func() { _ = db.Close() }()
	t, err := c.resolveTarget(ctx, db, d)
	if err != nil {
		return channels.Receipt{}, err
	}
	var r channels.Receipt
	for i, it := range splitItems(d) {
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

// sendOne sends one item and checks the result in the database.
func (c *Channel) sendOne(ctx context.Context, db *chatdb.DB, t target, it item) (string, error) {
	e, known, err := c.ledger.lookupEntry(ctx, it.key)
	switch {
	case err != nil:
		return "", err
	case known && (e.State == done || e.State == pending):
		return e.GUID, nil
	}
	last, _, err := db.Last(ctx)
	if err != nil {
		return "", c.explainDBError(err)
	}
	in := request{Body: it.text}
	if it.file.Path != "" {
		in.Body = ""
		if in.File, err = c.stageFile(it.file); err != nil {
			return "", err
		}
		c.removeStaleFiles()
	}
	e = entry{Key: it.key, Chat: hashText(t.key), Text: hashText(comparableText(it.text)), Long: isLong(it.text), Before: last.RowID, At: c.opt.Now().UTC(), State: begun}
	if err := c.ledger.putEntry(ctx, e); err != nil { // store the entry before the echo can arrive
		return "", err
	}
	if err := c.handOver(ctx, t, in); err != nil {
		return c.resolveFailedScript(ctx, db, t, it, e, err)
	}
	e.State = pending // from here on the item is never sent again
	if err := c.ledger.putEntry(context.WithoutCancel(ctx), e); err != nil {
		return "", &channels.Error{MaybeSent: true, Err: err}
	}
	return c.awaitSentRow(ctx, db, t, it, e)
}

// resolveFailedScript handles a script that failed. The script may have sent the item anyway.
func (c *Channel) resolveFailedScript(ctx context.Context, db *chatdb.DB, t target, it item, e entry, failed error) (string, error) {
	if !osrun.IsUncertain(failed) {
		if err := c.ledger.removeEntry(context.WithoutCancel(ctx), e); err != nil {
			return "", err
		}
		return "", c.classifyScriptError(t, failed)
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if found, err := c.searchSent(look, db, t, it, e); err == nil && found.row.GUID != "" && found.row.Error == 0 {
		e.State, e.GUID = done, found.row.GUID
		return e.GUID, c.ledger.putEntry(look, e)
	}
	e.State = uncertain
	err := c.classifyScriptError(t, failed)
	if x, ok := errors.AsType[*channels.Error](err); ok {
		x.MaybeSent = true
	}
	return "", errors.Join(err, c.ledger.putEntry(look, e))
}

// How often the database is checked for a sent item, and how long a row may have no delivery
// status.
const (
	verifyEach = 200 * time.Millisecond
	rowWait    = 3 * time.Second
)

// awaitSentRow waits for the row of a sent item. A missing row is not a failure: Messages accepted
// the item, and a resend would duplicate it.
func (c *Channel) awaitSentRow(ctx context.Context, db *chatdb.DB, t target, it item, e entry) (string, error) {
	deadline := time.Now().Add(c.opt.Verify)
	var firstSeen time.Time
	for {
		found, err := c.searchSent(ctx, db, t, it, e)
		row, over := found.row, time.Now().After(deadline)
		if row.GUID != "" && firstSeen.IsZero() {
			firstSeen = time.Now()
		}
		// An error can be temporary if Messages falls back to SMS.
		settled := row.GUID != "" && (over || time.Since(firstSeen) > min(rowWait, c.opt.Verify))
		switch {
		case err != nil && ctx.Err() != nil:
			return "", &channels.Error{MaybeSent: true, Err: err}
		case err != nil:
			c.deps.Log.WarnContext(ctx, "finding a sent message failed", "channel", Name, "error", err)
		case found.astray:
			return "", c.recordFailure(ctx, e, "Messages sent the message to a chat other than the group; send one message to the group in the Messages app, then try again")
		case row.Error != 0 && settled:
			return "", c.recordFailure(ctx, e, fmt.Sprintf("Messages could not deliver the message (error %d); check whether %s can be reached by %s", row.Error, t.key, row.Service))
		case row.Error == 0 && (settled || row.GUID != "" && (row.Sent || row.Delivered)):
			e.State, e.GUID = done, row.GUID
			c.withLock(func() { c.pending = 0 })
			return e.GUID, c.ledger.putEntry(ctx, e)
		}
		if over {
			if found.ghost {
				return "", c.recordFailure(ctx, e, "Messages sent nothing and left an empty row; open Messages and check that it is signed in and that "+t.key+" can receive messages")
			}
			c.withLock(func() { c.pending++ })
			c.deps.Log.WarnContext(ctx, "message accepted by the Messages app but not visible yet", "channel", Name)
			return "", nil
		}
		if retry.Sleep(ctx, min(verifyEach, c.opt.Verify/4)) != nil {
			return "", &channels.Error{MaybeSent: true, Err: ctx.Err()}
		}
	}
}

// recordFailure records an item that did not arrive.
func (c *Channel) recordFailure(ctx context.Context, e entry, why string) error {
	if err := c.ledger.removeEntry(ctx, e); err != nil {
		return err
	}
	return channels.Errorf(channels.Permanent, "imessage: %s", why)
}

// sentRow is the database's record of a sent item.
type sentRow struct {
	row    chatdb.Message
	astray bool // whether the row is in a direct chat that has the group's name
	ghost  bool // whether there is an empty row for the recipient without a chat
}

// searchSent searches the rows added since sending began.
func (c *Channel) searchSent(ctx context.Context, db *chatdb.DB, t target, it item, e entry) (sentRow, error) {
	var out sentRow
	if db.Stale() { // the open database is an outdated copy
		fresh, err := c.openDatabase(ctx)
		if err != nil {
			return out, err
		}
		defer func() { _ = fresh.Close() }()
		db = fresh
	}
	for after := e.Before; ; {
		list, next, err := db.All(ctx, after, page)
		if err != nil {
			return out, c.explainDBError(err)
		}
		for _, m := range list {
			if !m.FromMe {
				continue
			}
			if m.Chat == nil {
				out.ghost = out.ghost || !t.group && m.Handle == t.key && m.Text == "" && len(m.Files) == 0 && !m.Undecodable
				continue
			}
			if !matchesItem(m, it) || m.Chat.Key() != t.key {
				continue
			}
			said, err := c.ledger.wasSentByHob(ctx, m.GUID)
			switch {
			case err != nil:
				return out, err
			case said: // sent by another delivery with the same text
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

// matchesItem reports whether a row contains this text or file.
func matchesItem(m chatdb.Message, it item) bool {
	if it.file.Path != "" {
		return len(m.Files) > 0 && (m.Text == "" || m.Files[0].Name == fileName(it.file.Name))
	}
	return comparableText(m.Text) == comparableText(it.text)
}

// settleFor is how long an unknown outcome stays open. Messages may still run an Apple event that
// it has not answered, for example after the owner answers a macOS dialog.
const settleFor = 10 * time.Minute

// lookBack is the maximum number of rows that are searched for a delivery without a ledger entry.
const lookBack = 500

// Find implements channels.DeliveryFinder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	db, err := c.openDatabase(ctx)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	defer func() { _ = db.Close() }()
	t, err := c.resolveTarget(ctx, db, d)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	var r channels.Receipt
	list := splitItems(d)
	for i, it := range list {
		guid, there, err := c.findSent(ctx, db, t, it, d.CreatedAt)
		if err != nil || !there {
			return channels.Receipt{}, false, err
		}
		if i == 0 {
			r.ID = guid
		}
	}
	return r, len(list) > 0, nil
}

// findSent searches for one item, first in the ledger, then in the database.
func (c *Channel) findSent(ctx context.Context, db *chatdb.DB, t target, it item, since time.Time) (string, bool, error) {
	e, known, err := c.ledger.lookupEntry(ctx, it.key)
	if err != nil {
		return "", false, err
	}
	if known && e.State == done {
		return e.GUID, true, nil
	}
	if !known {
		last, _, err := db.Last(ctx)
		if err != nil {
			return "", false, c.explainDBError(err)
		}
		e = entry{Key: it.key, Before: max(0, last.RowID-lookBack)}
	}
	got, err := c.searchSent(ctx, db, t, it, e)
	switch {
	case err != nil:
		return "", false, err
	case got.row.GUID != "" && got.row.Error == 0 && (known || !got.row.At.Before(since.Add(-skew))):
		if known {
			e.State, e.GUID = done, got.row.GUID
			err = c.ledger.putEntry(ctx, e)
		}
		return got.row.GUID, true, err
	case got.row.Error != 0 && known: // the message was not delivered
		return "", false, c.ledger.removeEntry(ctx, e)
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
