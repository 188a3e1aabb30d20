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
	"hob/platform/pim/messages/chatdb"
	"hob/platform/retry"
)

// cursor is the read position.
type cursor struct {
	chatdb.Mark
	// Since is the time before which messages are ignored. Older messages can get new row numbers
	// when a Mac fetches them from iCloud or recreates its database.
	Since time.Time `json:"since"`
	Heard time.Time `json:"heard"` // time of the newest message
	// Late lists rows that were skipped before they were complete.
	Late []unfinishedRow `json:"late,omitempty"`
}

// unfinishedRow is an incomplete row that is checked again until the time Until.
type unfinishedRow struct {
	RowID int64     `json:"rowid"`
	Until time.Time `json:"until"`
}

const (
	cursorKey = "cursor"
	slack     = 2 * time.Minute // maximum difference between the senders' clocks and this one
	page      = 500
	lateFor   = time.Hour
	lateMost  = 50
)

// listener holds the state of one Run. It is used by a single goroutine.
type listener struct {
	c   *Channel
	to  channels.Receiver
	db  *chatdb.DB
	cur cursor
	own map[string]bool // the owner's addresses at the last check
	// seen maps incomplete rows to the time since which the listener has been waiting for them. The
	// first one blocks later rows.
	seen    map[int64]time.Time
	blocked bool
	notice  logWatcher
	looked  time.Time
	// recheck is the time until the next check after a log change; 0 means the next poll.
	recheck time.Duration
}

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	l := &listener{c: c, to: r, seen: map[int64]time.Time{}}
	l.notice.openWatcher(c)
	defer l.notice.closeWatcher()
	defer func() {
		if l.db != nil {
			_ = l.db.Close()
		}
	}()
	c.removeStaleFiles()
	err := l.loadCursor(ctx)
	if err == nil {
		c.withLock(func() { c.since = c.opt.Now() })
		defer c.withLock(func() { c.since = time.Time{} })
	}
	for err == nil {
		if err = l.receiveNew(ctx); err == nil && !l.waitForChange(ctx) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Channel) withLock(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// reopenDatabase reopens the database if necessary.
func (l *listener) reopenDatabase(ctx context.Context) error {
	if l.db != nil && !l.db.Stale() {
		return nil
	}
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
		l.notice.unwatchLog() // the log file may have been replaced
	}
	db, err := l.c.openDatabase(ctx)
	if err != nil {
		return err
	}
	l.db = db
	return nil
}

// loadCursor loads the read position. At the first start, the position is the newest row.
func (l *listener) loadCursor(ctx context.Context) error {
	if err := l.reopenDatabase(ctx); err != nil {
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
		return l.c.explainDBError(err)
	}
	now := l.c.opt.Now().UTC()
	l.cur = cursor{Mark: last, Since: now.Add(-slack), Heard: now}
	return l.saveCursor(ctx)
}

func (l *listener) saveCursor(ctx context.Context) error {
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

// receiveNew receives new messages.
func (l *listener) receiveNew(ctx context.Context) error {
	l.looked, l.own = time.Now(), nil
	select {
	case <-l.notice.told: // this check covers earlier signals
	default:
	}
	if err := l.reopenDatabase(ctx); err != nil {
		return err
	}
	l.notice.watchLog() // watch before reading, so that no change is missed
	last, highest, err := l.db.Last(ctx)
	if err != nil {
		return l.c.explainDBError(err)
	}
	if err := l.detectRebuild(ctx, highest); err != nil {
		return err
	}
	if last.RowID <= l.cur.RowID {
		return l.retryUnfinished(ctx)
	}
	if !l.blocked && retry.Sleep(ctx, l.c.opt.Debounce) != nil {
		return nil
	}
	if err := l.reopenDatabase(ctx); err != nil { // a database copy is outdated
		return err
	}
	if err := l.retryUnfinished(ctx); err != nil {
		return err
	}
	for {
		list, next, err := l.db.Messages(ctx, l.cur.RowID, page)
		if err != nil {
			return l.c.explainDBError(err)
		}
		if next == l.cur.RowID {
			l.blocked = false
			clear(l.seen)
			return nil
		}
		if l.blocked, err = l.receivePage(ctx, list); err != nil || l.blocked {
			return err
		}
		if next > l.cur.RowID { // the last row of the page was omitted
			guid, err := l.db.GUID(ctx, next)
			if err != nil {
				return l.c.explainDBError(err)
			}
			l.cur.Mark = chatdb.Mark{RowID: next, GUID: guid}
		}
		if err := l.saveCursor(ctx); err != nil {
			return err
		}
	}
}

// receivePage receives a page of messages. It stops at an incomplete message.
func (l *listener) receivePage(ctx context.Context, list []chatdb.Message) (blocked bool, err error) {
	now := l.c.opt.Now()
	for _, m := range list { // their waiting times run concurrently
		if _, known := l.seen[m.RowID]; !known && l.isUnfinished(m) {
			l.seen[m.RowID] = now
		}
	}
	before := l.cur.RowID
	for _, m := range list {
		since, waits := l.seen[m.RowID]
		if waits && l.isUnfinished(m) {
			if waited := now.Sub(since); waited >= 0 && waited < l.c.opt.Hold {
				if l.cur.RowID == before {
					return true, nil
				}
				return true, l.saveCursor(ctx)
			}
			if m.Chat == nil || isEmptyMessage(m) {
				l.cur.Late = append(l.cur.Late, unfinishedRow{RowID: m.RowID, Until: now.Add(lateFor).UTC()})
				l.cur.Late = l.cur.Late[max(0, len(l.cur.Late)-lateMost):]
			}
		}
		delete(l.seen, m.RowID)
		handed, err := l.forwardMessage(ctx, m)
		if err != nil {
			return false, err
		}
		l.cur.Mark = chatdb.Mark{RowID: m.RowID, GUID: m.GUID}
		if m.At.After(l.cur.Heard) && m.At.Before(l.c.opt.Now().Add(slack)) {
			l.cur.Heard = m.At
		}
		if handed {
			if err := l.saveCursor(ctx); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// retryUnfinished checks the rows that were skipped before they were complete. Some rows get their
// text minutes later.
func (l *listener) retryUnfinished(ctx context.Context) error {
	if len(l.cur.Late) == 0 || !l.db.Changed() {
		return nil
	}
	var rest []unfinishedRow
	for _, one := range l.cur.Late {
		list, _, err := l.db.All(ctx, one.RowID-1, 1)
		if err != nil {
			return l.c.explainDBError(err)
		}
		if len(list) == 0 || list[0].RowID != one.RowID {
			continue // the message was deleted
		}
		if l.isUnfinished(list[0]) {
			if left := one.Until.Sub(l.c.opt.Now()); left > 0 && left <= lateFor {
				rest = append(rest, one)
			}
			continue
		}
		if _, err := l.forwardMessage(ctx, list[0]); err != nil {
			return err
		}
	}
	if len(rest) == len(l.cur.Late) {
		return nil
	}
	l.cur.Late = rest
	return l.saveCursor(ctx)
}

// detectRebuild detects that the database was recreated: its row numbers restart, or the last
// received row has changed. After that, only messages written since are received. A deleted row
// does not indicate a rebuild, because row numbers are never reused.
func (l *listener) detectRebuild(ctx context.Context, highest int64) error {
	guid, err := l.db.GUID(ctx, l.cur.RowID)
	if err != nil {
		return l.c.explainDBError(err)
	}
	if highest >= l.cur.RowID && (guid == "" || l.cur.GUID == "" || guid == l.cur.GUID) {
		return nil
	}
	l.c.deps.Log.WarnContext(ctx, "the Messages database was recreated; skipping its old messages", "channel", Name)
	clear(l.seen)
	l.cur = cursor{Since: l.cur.Heard.Add(1), Heard: l.cur.Heard}
	return l.saveCursor(ctx)
}

// isEmptyMessage reports whether a message has no content.
func isEmptyMessage(m chatdb.Message) bool {
	return m.Kind == chatdb.Plain && m.Text == "" && len(m.Files) == 0 && !m.Undecodable
}

// isUnfinished reports whether a row is still being written. Messages inserts the row first, and
// adds text, chat and files later. The listener waits for the content for a limited time.
func (l *listener) isUnfinished(m chatdb.Message) bool {
	return !m.FromMe && !m.At.Before(l.cur.Since) && (m.Chat == nil || isEmptyMessage(m) || m.Missing > 0)
}

// forwardMessage forwards a message if it is for Hob. handed reports whether it was forwarded.
func (l *listener) forwardMessage(ctx context.Context, m chatdb.Message) (handed bool, err error) {
	if m.FromMe || m.Chat == nil || m.Sender == "" || m.Kind != chatdb.Plain && m.Kind != chatdb.Edit || m.At.Before(l.cur.Since) || isEmptyMessage(m) {
		return false, nil
	}
	said, err := l.c.ledger.wasSentByHob(ctx, m.GUID)
	if err != nil || said {
		return false, err
	}
	what := m.Text
	if what == "" && len(m.Files) > 0 {
		what = fileText(m.Files[0].Name)
	}
	if l.own == nil {
		if l.own, err = l.db.Own(ctx); err != nil {
			return false, l.c.explainDBError(err)
		}
	}
	chats := []string{m.Chat.Key()}
	self := !m.Chat.Group && l.own[chats[0]]
	if self { // a message to one of the owner's addresses can be echoed in the chat with another address
		chats = slices.Collect(maps.Keys(l.own))
	}
	said, err = l.c.ledger.isEcho(ctx, chats, what, m, self)
	if err != nil || said {
		return false, err
	}
	in, ok, err := l.toInbound(ctx, m)
	if err != nil || !ok {
		return false, err
	}
	_, err = l.to.Receive(ctx, in)
	if errors.Is(err, channels.ErrStranger) {
		return true, nil
	}
	if err == nil {
		l.c.withLock(func() { l.c.heard = l.c.opt.Now() })
	}
	return true, err
}

// replyContext is stored with a message and used to answer it.
type replyContext struct {
	Chat string `json:"chat"` // guid of the message's chat
}

// undecoded replaces text that cannot be decoded.
const undecoded = "[a message that could not be read; see the Messages app]"

// bySMS is the prefix for the address of a sender who did not use iMessage. SMS senders can be
// forged, so they are treated as different people with separate chats.
const bySMS = "sms:"

// isVerifiedService reports whether Apple authenticates the sender on this service.
func isVerifiedService(service string) bool {
	return service == "iMessage" || service == "iMessageLite"
}

// toInbound converts a message. ok is false if the prefix is missing or the sender's address
// imitates another one.
func (l *listener) toInbound(ctx context.Context, m chatdb.Message) (in channels.Inbound, ok bool, err error) {
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
	if !isVerifiedService(m.Service) {
		if sender = bySMS + sender; !m.Chat.Group {
			chat = bySMS + chat
		}
	}
	if channels.SenderID(sender) != sender {
		l.c.deps.Log.WarnContext(ctx, "message ignored: the sender's address contains lookalike characters", "channel", Name, "sender", sender)
		return in, false, nil
	}
	payload, err := json.Marshal(replyContext{Chat: m.Chat.GUID})
	if err != nil {
		return in, false, err
	}
	in = channels.Inbound{
		Channel: Name, Chat: chat, Group: m.Chat.Group, ChatName: m.Chat.Name, Sender: sender, Text: text,
		// Text recovered from a damaged row must not answer a question.
		Unknown: m.Approximate || m.Undecodable, Key: m.GUID, Payload: payload, At: m.At,
	}
	if !in.Group && m.Person != "" && m.Person != m.Chat.Key() { // one conversation per person
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
		in.Files = append(in.Files, l.c.toFile(f))
	}
	return in, true, nil
}

// namePattern returns a pattern for text that mentions Hob as a word. It also matches the user's
// name for Hob.
func namePattern(name string) *regexp.Regexp {
	words := "hob"
	if name = strings.Join(strings.Fields(name), " "); name != "" {
		words += "|" + strings.ReplaceAll(regexp.QuoteMeta(name), " ", `\s+`)
	}
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])@?(?:` + words + `)(?:$|[^\pL\pN_])`)
}

// afterPrefix returns the text after the prefix. The prefix must end at a word boundary.
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

// waitForChange waits for a change to the database log or for the next poll, because no event is
// reported after sleep. A continuously changing log is checked every Glance. After a change,
// waitForChange checks again at growing intervals: SQLite writes the log before readers can see the
// row (https://sqlite.org/walformat.html, the wal-index), and reports nothing afterwards.
func (l *listener) waitForChange(ctx context.Context) bool {
	if l.blocked {
		return retry.Sleep(ctx, l.c.opt.Glance) == nil
	}
	wait := l.c.opt.Poll
	if l.recheck > 0 {
		wait = min(wait, l.recheck)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		if l.recheck *= 2; l.recheck >= l.c.opt.Poll {
			l.recheck = 0
		}
		return true
	case <-ctx.Done():
		return false
	case <-l.notice.told:
		l.recheck = l.c.opt.Glance
		return retry.Sleep(ctx, l.c.opt.Glance-time.Since(l.looked)) == nil
	}
}
