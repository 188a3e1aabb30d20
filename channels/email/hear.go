package email

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/mailbox"
)

// The bounds of what is fetched.
const (
	chunk = 1 << 20 // bytes at once
	// maxMail is the largest mail whose files are read: 20 MB of files in Base64.
	maxMail = 28 << 20
	// maxTries is how often a mail is asked for that the server cannot give, and
	// maxBreaks how often one at which the connection ends.
	maxTries, maxBreaks = 3, 10
	// unverified stands before an address that nobody vouches for. No pairing and no
	// list can name it.
	unverified = "unverified:"
)

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	if c.keep == nil {
		return channels.Errorf(channels.Permanent, "email: there is nothing to keep in where the mailbox was read to")
	}
	if c.trusted == "" {
		c.log.WarnContext(ctx, "no sender of mails is recognised", "remedy", nobody)
	}
	c.lines.hold()
	defer c.lines.release()
	err := c.listen(ctx, r)
	c.stands(time.Time{}, err)
	if ctx.Err() != nil {
		return nil
	}
	return classified(err)
}

// listen is one life of the connection.
func (c *Channel) listen(ctx context.Context, r channels.Receiver) (err error) {
	st, err := c.load(ctx)
	if err != nil {
		return err
	}
	m, err := mailbox.Open(ctx, c.account)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }() //nolint:contextcheck // signing out has a time of its own
	h := &hearer{c: c, m: m, to: r, st: &st}
	if err := h.begin(ctx); err != nil {
		return err
	}
	c.stands(time.Now(), nil)
	for ctx.Err() == nil {
		if err := m.Wait(ctx, nil); err != nil || ctx.Err() != nil {
			return err
		}
		if err := h.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hearer hears one connection. It belongs to one goroutine.
type hearer struct {
	c  *Channel
	m  *mailbox.Conn
	to channels.Receiver
	st *state
}

// begin opens the folder and hears what came while nobody listened.
func (h *hearer) begin(ctx context.Context) error {
	folder, err := h.folder(ctx)
	if err != nil {
		return err
	}
	s, err := h.m.Enter(ctx, folder)
	if err != nil {
		return err
	}
	if s.Next == 0 { // an old server, which does not say
		all, err := h.m.After(ctx, 1)
		if err != nil {
			return err
		}
		if s.Next = 1; len(all) > 0 {
			s.Next = all[len(all)-1] + 1
		}
	}
	box := h.c.address + "\x00" + h.c.account.IMAP + "\x00" + h.c.conf.Folder
	switch {
	case h.st.Box != box:
		return h.first(ctx, box, s)
	case h.st.Validity != s.Validity || h.st.Next > s.Next:
		return h.renumbered(ctx, s)
	}
	return h.look(ctx)
}

// folder finds the folder, whose name may also be a use such as "archive".
func (h *hearer) folder(ctx context.Context) (string, error) {
	if _, err := h.m.Select(ctx, h.c.conf.Folder); err != nil {
		return "", err
	}
	return h.m.Folder(), nil
}

// first is the first look: what lies there is not heard, and the newest of it is
// known by name.
func (h *hearer) first(ctx context.Context, box string, s mailbox.State) error {
	now := time.Now()
	*h.st = state{Box: box, Since: now.Unix(), Looked: now.Unix(), Validity: s.Validity, Next: s.Next, Rates: h.st.Rates}
	mails, err := h.since(ctx, now.Add(-behind), s.Next)
	if err != nil {
		return err
	}
	for _, x := range mails {
		h.st.know(x)
	}
	return h.c.save(ctx, h.st)
}

// since reads the heads of the newest mails below a UID that came at t or later.
func (h *hearer) since(ctx context.Context, t time.Time, before uint32) (out []pim.Message, err error) {
	uids, err := h.m.Since(ctx, t)
	if err != nil {
		return nil, err
	}
	uids = slices.DeleteFunc(uids, func(u uint32) bool { return u >= before })
	uids = uids[max(0, len(uids)-maxKnown):]
	for page := range slices.Chunk(uids, mailbox.Page) {
		some, err := h.m.Headers(ctx, page)
		if errors.Is(err, pim.ErrRefused) { // one of them cannot be read
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

// renumbered hears what came since the last look in a folder whose numbers mean
// nothing any more. What was looked at is known by its name. The place where it stands
// moves at the end.
func (h *hearer) renumbered(ctx context.Context, s mailbox.State) error {
	h.c.log.WarnContext(ctx, "the mail server has numbered its mails anew", "folder", h.c.conf.Folder)
	clear(h.c.refusals)
	begin := time.Unix(h.st.Since, 0)
	from := time.Unix(h.st.Looked, 0).Add(-behind)
	if from.Before(begin.Add(-clock)) {
		from = begin.Add(-clock)
	}
	mails, err := h.since(ctx, from, s.Next)
	if err != nil {
		return err
	}
	for _, x := range mails {
		// A server that has lost its index may say of each mail that it came just now.
		if h.st.knows(x) || x.Received.Before(from) || !x.Date.IsZero() && x.Date.Before(from) {
			continue
		}
		if err := h.mail(ctx, x.UID); err != nil {
			return err
		}
		if err := h.c.save(ctx, h.st); err != nil { // the name alone: it is not heard again
			return err
		}
	}
	h.st.Validity, h.st.Next, h.st.Looked = s.Validity, s.Next, time.Now().Unix()
	if err := h.c.save(ctx, h.st); err != nil {
		return err
	}
	return h.look(ctx)
}

// look hears what is new, one mail after the other.
func (h *hearer) look(ctx context.Context) error {
	began := time.Now().Unix()
	uids, err := h.m.After(ctx, h.st.Next)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := h.mail(ctx, uid); err != nil {
			return err
		}
		h.st.Next = uid + 1
		if err := h.c.save(ctx, h.st); err != nil {
			return err
		}
	}
	if began-h.st.Looked > 3600 { // no need to write each time
		h.st.Looked = began
		return h.c.save(ctx, h.st)
	}
	return nil
}

// mail hears one mail. Its error means that the mail was not taken and has to be tried
// again.
func (h *hearer) mail(ctx context.Context, uid uint32) error {
	x, raw, ok, err := h.m.Raw(ctx, uid, 0, chunk)
	if err != nil {
		return h.refused(ctx, uid, err)
	}
	if !ok {
		return nil // it is gone
	}
	var l *letter
	if err := safely(func() { l = read(x, raw) }); err != nil {
		return h.skip(ctx, uid, err)
	}
	defer h.st.know(l.Message)
	if why := h.c.leave(l); why != "" {
		return h.leave(ctx, l, why)
	}
	in, why := h.c.inbound(l)
	if why != "" {
		return h.leave(ctx, l, why)
	}
	if l.verified(h.c.trusted) && x.Size > int64(len(raw)) && x.Size <= maxMail {
		// Only a sender whom the owner can have let in costs that much.
		if raw, err = h.whole(ctx, uid, raw, x.Size); err != nil {
			return h.refused(ctx, uid, err)
		}
		if err := safely(func() { l = read(x, raw) }); err != nil {
			return h.skip(ctx, uid, err)
		}
		if in, why = h.c.inbound(l); why != "" {
			return h.leave(ctx, l, why)
		}
	}
	if h.st.full(l.claimed, l.Received) {
		return h.leave(ctx, l, fmt.Sprintf("more than %d mails of this address came within an hour", perHour))
	}
	in.Key = h.key(l)
	if in.Files = l.attachments(); x.Size > maxMail {
		in.Files = nil // they are not there as a whole
	}
	return h.receive(ctx, l, in)
}

// receive hands a mail on. Only one that was taken is marked as read.
func (h *hearer) receive(ctx context.Context, l *letter, in channels.Inbound) error {
	acc, err := h.to.Receive(ctx, in)
	switch {
	case errors.Is(err, channels.ErrStranger):
		return nil
	case err != nil:
		return err
	}
	if !acc.Repeated {
		h.st.count(l.claimed, l.Received)
	}
	if err := h.m.See(ctx, l.UID); errors.Is(err, pim.ErrRefused) {
		h.c.log.InfoContext(ctx, "a mail cannot be marked as read", "uid", l.UID, "err", err)
	} else if err != nil {
		return err
	}
	return nil
}

// key names a mail for ever.
func (h *hearer) key(l *letter) string {
	if l.ID == "" {
		return fmt.Sprintf("uid/%d/%d/%s", h.st.Validity, l.UID, digest(l.Message))
	}
	return "mail/" + l.ID + "/" + digest(l.Message)
}

// whole reads the rest of a mail.
func (h *hearer) whole(ctx context.Context, uid uint32, raw []byte, size int64) ([]byte, error) {
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

func (h *hearer) leave(ctx context.Context, l *letter, why string) error {
	h.c.mu.Lock()
	h.c.left++
	h.c.mu.Unlock()
	h.c.log.InfoContext(ctx, "a mail was left alone", "uid", l.UID, "from", pim.Line(l.claimed, 100), "why", why)
	return nil
}

// refused gives a mail up that cannot be fetched however often it is tried.
func (h *hearer) refused(ctx context.Context, uid uint32, err error) error {
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
		return h.skip(ctx, uid, err)
	}
	_ = h.skip(ctx, uid, err)
	h.st.Next = uid + 1 // the connection is over
	return errors.Join(err, h.c.save(ctx, h.st))
}

// skip passes over a mail that cannot be read.
func (h *hearer) skip(ctx context.Context, uid uint32, err error) error {
	h.c.mu.Lock()
	h.c.broken++
	h.c.mu.Unlock()
	h.c.log.WarnContext(ctx, "a mail cannot be read and is passed over", "folder", h.c.conf.Folder, "uid", uid, "err", err)
	return nil
}

// safely makes an error of a panic: a mail that breaks its reader breaks nothing else.
func safely(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the mail breaks the reader: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}

// cause is what comes back with the texts that belong to a mail.
type cause struct {
	To      string   `json:"to"` // who wrote it, and whom answers go to
	Name    string   `json:"name,omitempty"`
	ID      string   `json:"id,omitempty"`
	Refers  []string `json:"refers,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Thread  string   `json:"thread"`
	Hops    int      `json:"hops,omitempty"`
}

func (l *letter) verified(trusted string) bool {
	return l.from != "" && vouched(l.fields, trusted, l.domain)
}

// inbound is a mail as a message. why it is none: the subject, or the end of a loop.
func (c *Channel) inbound(l *letter) (in channels.Inbound, why string) {
	subject, ok := c.subject(l.Subject)
	if !ok {
		return in, "its subject does not begin with " + c.conf.SubjectPrefix
	}
	thread, hops := threadOf(l.ID, l.refers)
	if l.ID == "" && len(l.refers) == 0 {
		thread = hashOf(digest(l.Message))
	}
	if hops >= maxHops {
		return in, fmt.Sprintf("its thread holds more than %d mails of Hob's; begin a new one", maxHops)
	}
	address := l.from
	in = channels.Inbound{Channel: Name, Sender: address, ChatName: subject, At: l.Received}
	if len(l.From) > 0 {
		in.SenderName = l.From[0].Name
	}
	if !l.verified(c.trusted) {
		if address == "" {
			address = l.claimed
		}
		// Forwarded: Text is nobody's own word, and no code in it pairs anybody.
		address = unverified + address
		in.Sender, in.Forwarded = address, true
	}
	in.Chat = chatOf(address, thread)
	if in.Group, in.Mentioned = c.group(l); in.Group {
		in.Chat = chatOf("group", thread)
	}
	if l.quoted != "" {
		in.Outside = []string{l.quoted}
	}
	if in.Text = worded(subject, l, len(in.Outside) > 0); l.own == "" && l.quoted != "" {
		in.Text, in.Outside, in.Forwarded = l.quoted, nil, true
	}
	if in.Text == "" && len(l.files) == 0 {
		return in, "it is empty"
	}
	refers := l.refers
	if len(refers) > 20 {
		refers = append(slices.Clone(refers[:1]), refers[len(refers)-19:]...)
	}
	raw, err := json.Marshal(cause{To: address, Name: in.SenderName, ID: l.ID, Refers: refers, Subject: subject, Thread: thread, Hops: hops})
	if err != nil {
		return in, "it cannot be kept: " + err.Error()
	}
	in.Payload = raw
	return in, ""
}

// worded are the sender's words: those of the mail, with its subject where that is a
// part of what he says.
func worded(subject string, l *letter, quotes bool) string {
	_, answers := bare(l.Subject)
	switch {
	case l.own == "":
		return subject
	case subject == "" || answers || quotes || len(l.refers) > 0 || !strings.Contains(l.own, " ") || strings.HasPrefix(l.own, "/") || strings.HasPrefix(l.own, "!"):
		return l.own // an answer, a command, a code
	case strings.HasPrefix(strings.ToLower(l.own), strings.ToLower(subject)):
		return l.own
	}
	return subject + "\n\n" + l.own
}

// bare is a subject without the marks of answers and forwarded mails.
func bare(subject string) (s string, answers bool) {
	s = strings.TrimSpace(subject)
	for {
		before, rest, ok := strings.Cut(strings.Replace(s, "：", ":", 1), ":")
		if !ok || !slices.Contains(marksOfSubjects, strings.ToLower(strings.TrimSpace(strings.TrimRight(before, "[]()0123456789 ")))) {
			return s, answers
		}
		s, answers = strings.TrimSpace(rest), true
	}
}

var marksOfSubjects = []string{ //nolint:gochecknoglobals // a constant
	"re", "fw", "fwd", "aw", "antw", "wg", "tr", "rv", "sv", "vs", "vl", "vb", "ref", "res", "enc", "i", "r", "rif", "odp", "pd", "ynt", "ilt", "vá", "отв", "на", "ответ", "回复", "答复", "转发", "返信", "転送", "回覆", "轉寄",
}

// subject is a mail's subject without the marks and the prefix; ok is false when the
// prefix is asked for and not there.
func (c *Channel) subject(s string) (string, bool) {
	s, _ = bare(s)
	p := c.conf.SubjectPrefix
	if p == "" {
		return s, true
	}
	if len(s) < len(p) || !strings.EqualFold(s[:len(p)], p) {
		return s, false
	}
	s, _ = bare(s[len(p):])
	return s, true
}

// group reports whether a mail goes to others than Hob, and whether it goes to Hob in
// the first place: a copy is only for information.
func (c *Channel) group(l *letter) (group, mentioned bool) {
	for _, f := range l.fields {
		if f.name != "to" && f.name != "cc" {
			continue
		}
		var x pim.Message
		mailbox.Head([]byte("To: "+f.value+"\n\n"), &x)
		for _, p := range x.To {
			switch {
			case p.Address == "" || p.Address == l.claimed || !strings.Contains(p.Address, "@"):
			case c.mine(p.Address):
				mentioned = mentioned || f.name == "to"
			default:
				group = true
			}
		}
	}
	return group, mentioned || !group
}
