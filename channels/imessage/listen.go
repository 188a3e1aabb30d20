package imessage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/channels"
	"hob/platform/messages/chatdb"
)

// cursor is how far has been heard.
type cursor struct {
	chatdb.Mark
	// Since: nothing from before is heard. Old messages can get new numbers, when a Mac
	// fetches them from iCloud or makes its database anew.
	Since time.Time `json:"since"`
	Heard time.Time `json:"heard"` // when the newest that was looked at was written
	// Late are rows that were passed before they were whole.
	Late []late `json:"late,omitempty"`
}

// late is a row that is looked at again until then.
type late struct {
	RowID int64     `json:"rowid"`
	Until time.Time `json:"until"`
}

const (
	cursorKey = "cursor"
	slack     = 2 * time.Minute // between the clocks of those who write and this one
	page      = 500
	lateFor   = time.Hour
	lateMost  = 50
)

// listener is one run of Run. It belongs to one goroutine.
type listener struct {
	c   *Channel
	to  channels.Receiver
	db  *chatdb.DB
	cur cursor
	own map[string]bool // the owner's addresses, as of this look
	// seen are the rows that are not whole yet, and since when they are waited for. The
	// first of them blocks those after it.
	seen    map[int64]time.Time
	blocked bool
	notice  notice
	looked  time.Time
}

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	l := &listener{c: c, to: r, seen: map[int64]time.Time{}}
	l.notice.open(c)
	defer l.notice.close()
	defer func() {
		if l.db != nil {
			_ = l.db.Close()
		}
	}()
	c.tidy()
	err := l.start(ctx)
	if err == nil {
		c.note(func() { c.since = c.opt.Now() })
		defer c.note(func() { c.since = time.Time{} })
	}
	for err == nil {
		if err = l.look(ctx); err == nil && !l.wait(ctx) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Channel) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// open opens the database anew where that is needed.
func (l *listener) open(ctx context.Context) error {
	if l.db != nil && !l.db.Stale() {
		return nil
	}
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
		l.notice.drop() // it is of a log that may have been replaced
	}
	db, err := l.c.open(ctx)
	if err != nil {
		return err
	}
	l.db = db
	return nil
}

// start reads how far was heard. At the first start that is as far as there is.
func (l *listener) start(ctx context.Context) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	var b []byte
	var err error
	if l.c.deps.Keep != nil {
		if b, err = l.c.deps.Keep.Get(ctx, cursorKey); err != nil {
			return fmt.Errorf("imessage: load the read position: %w", err)
		}
	}
	if len(b) > 0 && json.Unmarshal(b, &l.cur) == nil {
		return nil
	}
	last, _, err := l.db.Last(ctx)
	if err != nil {
		return l.c.explain(err)
	}
	now := l.c.opt.Now().UTC()
	l.cur = cursor{Mark: last, Since: now.Add(-slack), Heard: now}
	return l.save(ctx)
}

func (l *listener) save(ctx context.Context) error {
	if l.c.deps.Keep == nil {
		return nil
	}
	b, err := json.Marshal(l.cur)
	if err != nil {
		return err
	}
	if err := l.c.deps.Keep.Set(ctx, cursorKey, b); err != nil {
		return fmt.Errorf("imessage: store the read position: %w", err)
	}
	return nil
}

// look hears what is new.
func (l *listener) look(ctx context.Context) error {
	l.looked, l.own = time.Now(), nil
	select {
	case <-l.notice.told: // what was told until now is looked at
	default:
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	l.notice.watch() // before looking, so that no change is missed
	last, highest, err := l.db.Last(ctx)
	if err != nil {
		return l.c.explain(err)
	}
	if err := l.rebuilt(ctx, highest); err != nil {
		return err
	}
	if last.RowID <= l.cur.RowID {
		return l.again(ctx)
	}
	if !l.blocked && !channels.Sleep(ctx, l.c.opt.Debounce) {
		return nil
	}
	if err := l.open(ctx); err != nil { // a copy is old by now
		return err
	}
	if err := l.again(ctx); err != nil {
		return err
	}
	for {
		list, next, err := l.db.Messages(ctx, l.cur.RowID, page)
		if err != nil {
			return l.c.explain(err)
		}
		if next == l.cur.RowID {
			l.blocked = false
			clear(l.seen)
			return nil
		}
		if l.blocked, err = l.all(ctx, list); err != nil || l.blocked {
			return err
		}
		if next > l.cur.RowID { // the last of the page was left out
			guid, err := l.db.GUID(ctx, next)
			if err != nil {
				return l.c.explain(err)
			}
			l.cur.Mark = chatdb.Mark{RowID: next, GUID: guid}
		}
		if err := l.save(ctx); err != nil {
			return err
		}
	}
}

// all hears a page of messages. It ends early at one that is not whole yet.
func (l *listener) all(ctx context.Context, list []chatdb.Message) (blocked bool, err error) {
	now := l.c.opt.Now()
	for _, m := range list { // all wait at the same time, so that many take no longer than one
		if _, known := l.seen[m.RowID]; !known && l.unfinished(m) {
			l.seen[m.RowID] = now
		}
	}
	before := l.cur.RowID
	for _, m := range list {
		since, waits := l.seen[m.RowID]
		if waits && l.unfinished(m) {
			if waited := now.Sub(since); waited >= 0 && waited < l.c.opt.Hold {
				if l.cur.RowID == before {
					return true, nil
				}
				return true, l.save(ctx)
			}
			if m.Chat == nil || hollow(m) {
				l.cur.Late = append(l.cur.Late, late{RowID: m.RowID, Until: now.Add(lateFor).UTC()})
				l.cur.Late = l.cur.Late[max(0, len(l.cur.Late)-lateMost):]
			}
		}
		delete(l.seen, m.RowID)
		handed, err := l.hear(ctx, m)
		if err != nil {
			return false, err
		}
		l.cur.Mark = chatdb.Mark{RowID: m.RowID, GUID: m.GUID}
		if m.At.After(l.cur.Heard) && m.At.Before(l.c.opt.Now().Add(slack)) {
			l.cur.Heard = m.At
		}
		if handed {
			if err := l.save(ctx); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// again looks at the rows that were passed before they were whole: some get their text
// minutes later.
func (l *listener) again(ctx context.Context) error {
	if len(l.cur.Late) == 0 || !l.db.Changed() {
		return nil
	}
	var rest []late
	for _, one := range l.cur.Late {
		list, _, err := l.db.All(ctx, one.RowID-1, 1)
		if err != nil {
			return l.c.explain(err)
		}
		if len(list) == 0 || list[0].RowID != one.RowID {
			continue // it was deleted
		}
		if l.unfinished(list[0]) {
			if left := one.Until.Sub(l.c.opt.Now()); left > 0 && left <= lateFor {
				rest = append(rest, one)
			}
			continue
		}
		if _, err := l.hear(ctx, list[0]); err != nil {
			return err
		}
	}
	if len(rest) == len(l.cur.Late) {
		return nil
	}
	l.cur.Late = rest
	return l.save(ctx)
}

// rebuilt notices that the database was made anew: its numbers begin again, or the row
// that was heard last is another one. Of what it holds by then only that is heard which
// was written since; a row that was deleted is no such sign, as numbers are given out
// once.
func (l *listener) rebuilt(ctx context.Context, highest int64) error {
	guid, err := l.db.GUID(ctx, l.cur.RowID)
	if err != nil {
		return l.c.explain(err)
	}
	if highest >= l.cur.RowID && (guid == "" || l.cur.GUID == "" || guid == l.cur.GUID) {
		return nil
	}
	l.c.deps.Log.WarnContext(ctx, "the Messages database was recreated; skipping its old messages", "channel", Name)
	clear(l.seen)
	l.cur = cursor{Since: l.cur.Heard.Add(1), Heard: l.cur.Heard}
	return l.save(ctx)
}

// hollow is a message without anything in it.
func hollow(m chatdb.Message) bool {
	return m.Kind == chatdb.Plain && m.Text == "" && len(m.Files) == 0 && !m.Undecodable
}

// unfinished reports whether a row is still being written: Messages inserts it first,
// and fills in its text, chat and files afterwards. It is waited for, for a while.
func (l *listener) unfinished(m chatdb.Message) bool {
	return !m.FromMe && !m.At.Before(l.cur.Since) && (m.Chat == nil || hollow(m) || m.Missing > 0)
}

// hear hands a message on, if it is one that is heard. handed: it was.
func (l *listener) hear(ctx context.Context, m chatdb.Message) (handed bool, err error) {
	if m.FromMe || m.Chat == nil || m.Sender == "" || m.Kind != chatdb.Plain && m.Kind != chatdb.Edit || m.At.Before(l.cur.Since) || hollow(m) {
		return false, nil
	}
	said, err := l.c.ledger.said(ctx, m.GUID)
	if err != nil || said {
		return false, err
	}
	what := m.Text
	if what == "" && len(m.Files) > 0 {
		what = fileText(m.Files[0].Name)
	}
	if l.own == nil {
		if l.own, err = l.db.Own(ctx); err != nil {
			return false, l.c.explain(err)
		}
	}
	chats := []string{m.Chat.Key()}
	self := !m.Chat.Group && l.own[chats[0]]
	if self { // what is written to one of his addresses can come back from another
		chats = slices.Collect(maps.Keys(l.own))
	}
	said, err = l.c.ledger.echo(ctx, chats, what, m, self)
	if err != nil || said {
		return false, err
	}
	in, ok, err := l.inbound(ctx, m)
	if err != nil || !ok {
		return false, err
	}
	_, err = l.to.Receive(ctx, in)
	if errors.Is(err, channels.ErrStranger) {
		return true, nil
	}
	if err == nil {
		l.c.note(func() { l.c.heard = l.c.opt.Now() })
	}
	return true, err
}

// cause is what stays with a message, for its answer.
type cause struct {
	Chat string `json:"chat"` // the guid of the chat it came in
}

// undecoded is heard in the place of a text that could not be read.
const undecoded = "[a message that could not be read; it stands in Messages]"

// bySMS stands before the address of whoever did not write by iMessage. There anybody can
// write in anybody's name, so that it is somebody else, in a chat of his own.
const bySMS = "sms:"

// vouched reports whether Apple has seen to it that a sender is who he says.
func vouched(service string) bool { return service == "iMessage" || service == "iMessageLite" }

// inbound is a message as it is handed on. ok is false when it lacks the prefix, or its
// sender looks like somebody else.
func (l *listener) inbound(ctx context.Context, m chatdb.Message) (in channels.Inbound, ok bool, err error) {
	text, meant := m.Text, false
	if l.c.cfg.Prefix != "" {
		if text, meant = afterPrefix(text, l.c.cfg.Prefix); !meant {
			return in, false, nil
		}
	}
	if m.Undecodable {
		text = undecoded
	}
	chat, sender := m.Chat.Key(), m.Sender
	if !vouched(m.Service) {
		if sender = bySMS + sender; !m.Chat.Group {
			chat = bySMS + chat
		}
	}
	if channels.SenderID(sender) != sender {
		l.c.deps.Log.WarnContext(ctx, "message ignored: the sender's address contains lookalike characters", "channel", Name, "sender", sender)
		return in, false, nil
	}
	payload, err := json.Marshal(cause{Chat: m.Chat.GUID})
	if err != nil {
		return in, false, err
	}
	in = channels.Inbound{
		Channel: Name, Chat: chat, Group: m.Chat.Group, ChatName: m.Chat.Name, Sender: sender, Text: text,
		// What was pieced together of a damaged row decides nothing.
		Unknown: m.Approximate || m.Undecodable, Key: m.GUID, Payload: payload, At: m.At,
	}
	if !in.Group && m.Person != "" && m.Person != m.Chat.Key() { // one conversation with one person
		in.Session = Name + ":" + m.Person
	}
	answered := ""
	if m.ReplyTo != "" {
		if answered, err = l.c.ledger.deliveryOf(ctx, m.ReplyTo); err != nil {
			return in, false, err
		}
		in.ReplyTo = []string{m.ReplyTo}
	}
	if answered != "" {
		in.ReplyTo = append(in.ReplyTo, channels.DeliveryRef(answered))
	}
	if in.Group {
		answer := answered != ""
		in.Mentioned = meant || answer || l.c.named.MatchString(text)
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, l.c.file(f))
	}
	return in, true, nil
}

// naming matches a text that names Hob as a word, also as its owner calls it.
func naming(name string) *regexp.Regexp {
	words := "hob"
	if name = strings.Join(strings.Fields(name), " "); name != "" {
		words += "|" + strings.ReplaceAll(regexp.QuoteMeta(name), " ", `\s+`)
	}
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])@?(?:` + words + `)(?:$|[^\pL\pN_])`)
}

// afterPrefix is what stands behind the prefix, which ends with the word.
func afterPrefix(text, prefix string) (string, bool) {
	text = strings.TrimSpace(text)
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return "", false
	}
	rest := text[len(prefix):]
	r := []rune(rest)
	last := []rune(prefix)[len([]rune(prefix))-1]
	if len(r) > 0 && (unicode.IsLetter(last) || unicode.IsDigit(last)) && (unicode.IsLetter(r[0]) || unicode.IsDigit(r[0])) {
		return "", false
	}
	return strings.TrimSpace(strings.TrimLeft(rest, ":,")), true
}

// wait waits until there may be something new: it was noticed that the database's log
// was written, or the time has come, as nobody tells after the machine has slept. A log
// that is written all the time is looked at each Glance.
func (l *listener) wait(ctx context.Context) bool {
	if l.blocked {
		return channels.Sleep(ctx, l.c.opt.Glance)
	}
	timer := time.NewTimer(l.c.opt.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-l.notice.told:
		return channels.Sleep(ctx, l.c.opt.Glance-time.Since(l.looked))
	}
}
