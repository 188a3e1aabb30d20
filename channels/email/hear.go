package email

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
	"hob/platform/pim/imapmail"
	"hob/platform/text/mime"
)

// Limits for fetching.
const (
	chunk = 1 << 20 // bytes per fetch
	// glance is how many bytes of an email are read before its sender is known.
	glance = mime.MaxHeader
	// maxMail is the maximum size of an email whose attachments are read: 20 MB of files in Base64.
	maxMail = 28 << 20
	// maxTries is the number of attempts to fetch a message that the server rejects. maxBreaks is
	// the number of attempts for a message at which the connection breaks.
	maxTries, maxBreaks = 3, 10
	// unverified is the prefix of an unverified address. No pairing and no allow list can match
	// such an address.
	unverified = "unverified:"
)

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	if c.keep == nil {
		return channels.Errorf(channels.Permanent, "email: no store for the mailbox position")
	}
	c.lines.keepOpen()
	defer c.lines.releaseAll() //nolint:contextcheck // signing out has a separate time limit
	err := c.listenOnce(ctx, r)
	c.noteConnection(time.Time{}, err)
	if ctx.Err() != nil {
		return nil
	}
	return classifyError(err)
}

// listenOnce receives messages over one connection until it ends.
func (c *Channel) listenOnce(ctx context.Context, r channels.Receiver) (err error) {
	st, err := c.loadState(ctx)
	if err != nil {
		return err
	}
	m, err := imapmail.Open(ctx, c.account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }() //nolint:contextcheck // signing out has a separate time limit
	h := &receiver{c: c, m: m, to: r, st: &st, mute: map[string]time.Time{}}
	if err := h.openAndCatchUp(ctx); err != nil {
		return err
	}
	h.noteCounts()
	c.noteConnection(time.Now(), nil)
	for ctx.Err() == nil {
		wake, stop := h.nextRetry()
		err := m.Wait(ctx, wake)
		stop()
		if err != nil || ctx.Err() != nil {
			return err
		}
		if err := h.retryDeferred(ctx); err != nil {
			return err
		}
		if err := h.receiveNew(ctx); err != nil {
			return err
		}
	}
	return nil
}

// receiver receives messages over one connection. It is used by a single goroutine.
type receiver struct {
	c  *Channel
	m  *imapmail.Conn
	to channels.Receiver
	st *state
	// mute maps the domains whose lookups failed to the time until which they are skipped.
	mute map[string]time.Time
	// reports counts the bounces checked in the current hour.
	reports hourlyRate
}

// openAndCatchUp opens the folder and receives the messages that arrived while Hob was not running.
func (h *receiver) openAndCatchUp(ctx context.Context) error {
	folder, err := h.findFolder(ctx)
	if err != nil {
		return err
	}
	s, err := h.m.Enter(ctx, folder)
	if err != nil {
		return err
	}
	if s.Next == 0 { // old servers do not report it
		all, err := h.m.After(ctx, 1)
		if err != nil {
			return err
		}
		if s.Next = 1; len(all) > 0 {
			s.Next = all[len(all)-1] + 1
		}
	}
	box := h.c.address + "\x00" + h.c.account.Server(pim.IMAP) + "\x00" + h.c.conf.Folder
	switch {
	case h.st.Box != box:
		return h.recordBaseline(ctx, box, s)
	case h.st.Validity != s.Validity || h.st.Next > s.Next:
		return h.resyncFolder(ctx, s)
	}
	if err := h.retryDeferred(ctx); err != nil {
		return err
	}
	return h.receiveNew(ctx)
}

// findFolder returns the folder. The configured name may also be a role such as "archive".
func (h *receiver) findFolder(ctx context.Context) (string, error) {
	if _, err := h.m.Select(ctx, h.c.conf.Folder); err != nil {
		return "", err
	}
	return h.m.Folder(), nil
}

// recordBaseline handles the first start: existing messages are not received, and the newest are
// remembered by their digests.
func (h *receiver) recordBaseline(ctx context.Context, box string, s imapmail.State) error {
	now := time.Now()
	*h.st = state{Box: box, Since: now.Unix(), Looked: now.Unix(), Validity: s.Validity, Next: s.Next, Rates: h.st.Rates, Keys: h.st.Keys}
	mails, err := h.headsSince(ctx, now.Add(-behind), s.Next)
	if err != nil {
		return err
	}
	for _, x := range mails {
		h.st.rememberMail(x)
	}
	return h.c.saveState(ctx, h.st)
}

// headsSince returns the headers of the newest messages with a UID below before that arrived at t
// or later.
func (h *receiver) headsSince(ctx context.Context, t time.Time, before uint32) (out []pim.Message, err error) {
	uids, err := h.m.Since(ctx, t)
	if err != nil {
		return nil, err
	}
	uids = slices.DeleteFunc(uids, func(u uint32) bool { return u >= before })
	uids = uids[max(0, len(uids)-maxKnown):]
	for page := range slices.Chunk(uids, imapmail.Page) {
		some, err := h.m.Headers(ctx, page)
		if errors.Is(err, pim.ErrRefused) { // one of the messages cannot be fetched
			some, err = nil, nil
			for _, u := range page {
				one, err := h.m.Headers(ctx, []uint32{u})
				if err != nil && !errors.Is(err, pim.ErrRefused) {
					return nil, err
				}
				some = append(some, one...)
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// resyncFolder receives the messages since the last check in a folder with a new UIDVALIDITY. It
// recognizes known messages by their digests. The position advances at the end.
func (h *receiver) resyncFolder(ctx context.Context, s imapmail.State) error {
	h.c.log.WarnContext(ctx, "the mail server changed its UIDVALIDITY; resynchronizing", "folder", h.c.conf.Folder)
	clear(h.c.refusals)
	h.st.Later = nil // the unreceived messages include the deferred ones
	begin := time.Unix(h.st.Since, 0)
	from := time.Unix(h.st.Looked, 0).Add(-behind)
	if from.Before(begin.Add(-clock)) {
		from = begin.Add(-clock)
	}
	mails, err := h.headsSince(ctx, from, s.Next)
	if err != nil {
		return err
	}
	for _, x := range mails {
		// A server that lost its index may report that every message arrived just now.
		if h.st.isKnownMail(x) || x.Received.Before(from) || !x.Date.IsZero() && x.Date.Before(from) {
			continue
		}
		if err := h.receiveOrDefer(ctx, x.UID); err != nil {
			return err
		}
		if err := h.c.saveState(ctx, h.st); err != nil { // store the digest, so that the message is not received again
			return err
		}
	}
	h.st.Validity, h.st.Next, h.st.Looked = s.Validity, s.Next, time.Now().Unix()
	if err := h.c.saveState(ctx, h.st); err != nil {
		return err
	}
	return h.receiveNew(ctx)
}

// receiveNew receives new messages in sequence.
func (h *receiver) receiveNew(ctx context.Context) error {
	began := time.Now().Unix()
	uids, err := h.m.After(ctx, h.st.Next)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := h.receiveOrDefer(ctx, uid); err != nil {
			return err
		}
		h.st.Next = uid + 1
		if err := h.c.saveState(ctx, h.st); err != nil {
			return err
		}
	}
	if began-h.st.Looked > 3600 { // the state does not have to be written each time
		h.st.Looked = began
		return h.c.saveState(ctx, h.st)
	}
	return nil
}

// receiveMail receives one message. An error means that the message was not accepted and must be
// retried. After dkimcheck.ErrLater, other messages are received in the meantime.
func (h *receiver) receiveMail(ctx context.Context, uid uint32, n keyAttempt) (err error) {
	x, raw, ok, err := h.m.Raw(ctx, uid, 0, glance)
	if err != nil {
		return h.giveUpUnfetchable(ctx, uid, err)
	}
	if !ok {
		return nil // the message has already been deleted
	}
	var l *parsedMail
	if err := recoverPanic(func() { l = parseMail(x, raw) }); err != nil {
		return h.skipUnreadable(ctx, uid, err)
	}
	defer func() {
		if !errors.Is(err, dkimcheck.ErrLater) {
			h.st.rememberMail(l.Message)
		}
	}()
	if why := h.c.ignoreReason(l); why != "" {
		h.noteBounce(ctx, l, raw)
		return h.ignoreMail(ctx, l, why)
	}
	in, why := h.c.toInbound(l)
	if why != "" {
		return h.ignoreMail(ctx, l, why)
	}
	known := l.isVerified(h.c.trusted)
	var signed []dkimcheck.Signature
	var keys dkimcheck.TXTResolver
	if !known {
		if signed, keys, err = h.collectSignatures(ctx, l, in, n); err != nil {
			return err
		}
	}
	again := len(signed) > 0
	if (known || again) && x.Size > int64(len(raw)) && x.Size <= h.c.most {
		// Fetch the whole message only if the sender may be allowed.
		if raw, err = h.fetchWhole(ctx, uid, raw, x.Size); err != nil {
			return h.giveUpUnfetchable(ctx, uid, err)
		}
		if err := recoverPanic(func() { l = parseMail(x, raw) }); err != nil {
			return h.skipUnreadable(ctx, uid, err)
		}
		again = true
	}
	if len(signed) > 0 {
		if err := h.proveSender(ctx, l, raw, signed, keys, n); err != nil {
			return err
		}
	}
	if again {
		if why = h.c.ignoreReason(l); why == "" {
			in, why = h.c.toInbound(l)
		}
		if why != "" {
			return h.ignoreMail(ctx, l, why)
		}
	}
	return h.forwardWithFiles(ctx, l, in)
}

// forwardWithFiles forwards a message together with its files.
func (h *receiver) forwardWithFiles(ctx context.Context, l *parsedMail, in channels.Inbound) error {
	if !l.isVerified(h.c.trusted) {
		h.c.mu.Lock()
		h.c.unknown++
		h.c.mu.Unlock()
	}
	if h.st.isRateLimited(l.claimed, l.Received) {
		return h.ignoreMail(ctx, l, fmt.Sprintf("more than %d emails from this address within an hour", perHour))
	}
	in.Key = h.inboundKey(l)
	if in.Files = l.attachedFiles(); l.Size > h.c.most && len(in.Files) > 0 {
		last := &in.Files[len(in.Files)-1] // this file and later ones may be incomplete
		last.Size, last.Open = l.Size, nil
	}
	return h.forwardMail(ctx, l, in)
}

// forwardMail forwards a message. Only accepted messages are marked as read.
func (h *receiver) forwardMail(ctx context.Context, l *parsedMail, in channels.Inbound) error {
	_, err := h.to.Receive(ctx, in)
	switch {
	case errors.Is(err, channels.ErrStranger):
		return nil
	case err != nil:
		return err
	}
	// A repeated message was not counted, because the count is stored together with the position.
	h.st.countMail(l.claimed, l.Received)
	h.st.confirmKey(l.proved)
	if err := h.m.See(ctx, l.UID); errors.Is(err, pim.ErrRefused) {
		h.c.log.InfoContext(ctx, "marking an email as read failed", "uid", l.UID, "err", err)
	} else if err != nil {
		return err
	}
	return nil
}

// inboundKey returns a permanent key for a message.
func (h *receiver) inboundKey(l *parsedMail) string {
	if l.ID == "" {
		return fmt.Sprintf("uid/%d/%d/%s", h.st.Validity, l.UID, mailDigest(l.Message))
	}
	return "mail/" + l.ID + "/" + mailDigest(l.Message)
}

// fetchWhole fetches the rest of a message.
func (h *receiver) fetchWhole(ctx context.Context, uid uint32, raw []byte, size int64) ([]byte, error) {
	raw = slices.Grow(raw, int(size)-len(raw))
	for int64(len(raw)) < size {
		_, more, ok, err := h.m.Raw(ctx, uid, int64(len(raw)), chunk)
		if err != nil {
			return nil, err
		}
		if !ok || len(more) == 0 {
			break
		}
		raw = append(raw, more...)
	}
	return raw, nil
}

func (h *receiver) ignoreMail(ctx context.Context, l *parsedMail, why string) error {
	h.c.mu.Lock()
	h.c.left++
	h.c.why = why
	h.c.mu.Unlock()
	h.c.log.InfoContext(ctx, "mail ignored", "uid", l.UID, "from", pim.SanitizeLine(l.claimed, 100), "why", why)
	return nil
}

// giveUpUnfetchable skips a message after too many failed fetches.
func (h *receiver) giveUpUnfetchable(ctx context.Context, uid uint32, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if len(h.c.refusals) > 1000 {
		clear(h.c.refusals)
	}
	h.c.refusals[uid]++
	most := maxBreaks
	if errors.Is(err, pim.ErrRefused) {
		most = maxTries
	}
	if h.c.refusals[uid] < most {
		return err
	}
	delete(h.c.refusals, uid)
	if errors.Is(err, pim.ErrRefused) {
		return h.skipUnreadable(ctx, uid, err)
	}
	_ = h.skipUnreadable(ctx, uid, err)
	h.st.Next = max(h.st.Next, uid+1) // the connection has ended
	h.st.Later = slices.DeleteFunc(h.st.Later, func(x deferredMail) bool { return x.UID == uid })
	return errors.Join(err, h.c.saveState(ctx, h.st))
}

// skipUnreadable skips a message that cannot be read.
func (h *receiver) skipUnreadable(ctx context.Context, uid uint32, err error) error {
	h.c.mu.Lock()
	h.c.broken++
	h.c.mu.Unlock()
	h.c.log.WarnContext(ctx, "email skipped: it cannot be read", "folder", h.c.conf.Folder, "uid", uid, "err", err)
	return nil
}

// recoverPanic converts a panic into an error, so that a message that breaks the parser does not
// affect other messages.
func recoverPanic(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parsing the email panicked: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}
