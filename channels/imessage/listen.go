package imessage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
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
}

const (
	cursorKey = "cursor"
	slack     = 2 * time.Minute // between the clocks of those who write and this one
	page      = 200
)

// listener is one run of Run. It belongs to one goroutine.
type listener struct {
	c   *Channel
	to  channels.Receiver
	db  *chatdb.DB
	cur cursor
	own map[string]bool
	// blocked is the row that is not whole yet, waited for since then.
	blocked      int64
	blockedSince time.Time
	log          fileState
}

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	l := &listener{c: c, to: r}
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
			return fmt.Errorf("imessage: how far was heard: %w", err)
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
		return fmt.Errorf("imessage: keep how far was heard: %w", err)
	}
	return nil
}

// look hears what is new.
func (l *listener) look(ctx context.Context) error {
	l.log.changed(l.c.cfg.DB) // before looking, so that no change is missed
	if err := l.open(ctx); err != nil {
		return err
	}
	last, highest, err := l.db.Last(ctx)
	if err != nil {
		return l.c.explain(err)
	}
	if err := l.rebuilt(ctx, last, highest); err != nil {
		return err
	}
	if last.RowID <= l.cur.RowID {
		return nil
	}
	if l.blocked == 0 && !pause(ctx, l.c.opt.Debounce) {
		return nil
	}
	if err := l.open(ctx); err != nil { // a copy is old by now
		return err
	}
	if l.own, err = l.db.Own(ctx); err != nil {
		return l.c.explain(err)
	}
	for {
		list, next, err := l.db.Messages(ctx, l.cur.RowID, page)
		if err != nil {
			return l.c.explain(err)
		}
		if next == l.cur.RowID {
			return nil
		}
		for _, m := range list {
			if l.unfinished(m) {
				return nil
			}
			if err := l.hear(ctx, m); err != nil {
				return err
			}
			l.cur.Mark = chatdb.Mark{RowID: m.RowID, GUID: m.GUID}
			if m.At.After(l.cur.Heard) && m.At.Before(l.c.opt.Now().Add(slack)) {
				l.cur.Heard = m.At
			}
			if err := l.save(ctx); err != nil {
				return err
			}
		}
		if next > l.cur.RowID { // the last of the page was left out
			guid, err := l.db.GUID(ctx, next)
			if err != nil {
				return l.c.explain(err)
			}
			l.cur.Mark = chatdb.Mark{RowID: next, GUID: guid}
			if err := l.save(ctx); err != nil {
				return err
			}
		}
	}
}

// rebuilt notices that the database was made anew: its numbers begin again, or the row
// that was heard last is another one. What it holds by then is not heard again; a row
// that was deleted is no such sign, as numbers are given out once.
func (l *listener) rebuilt(ctx context.Context, last chatdb.Mark, highest int64) error {
	guid, err := l.db.GUID(ctx, l.cur.RowID)
	if err != nil {
		return l.c.explain(err)
	}
	if highest >= l.cur.RowID && (guid == "" || l.cur.GUID == "" || guid == l.cur.GUID) {
		return nil
	}
	l.c.deps.Log.WarnContext(ctx, "the database of messages was made anew, its old messages are not heard again", "channel", Name)
	l.cur.Mark, l.cur.Since = last, l.cur.Heard
	return l.save(ctx)
}

// unfinished reports whether a row is still being written: Messages inserts it first,
// and fills in its text and chat afterwards. It is waited for, for a while.
func (l *listener) unfinished(m chatdb.Message) bool {
	empty := m.Kind == chatdb.Plain && m.Text == "" && len(m.Files) == 0 && !m.Undecodable
	if m.FromMe || m.Chat != nil && !empty {
		l.blocked = 0
		return false
	}
	now := l.c.opt.Now()
	if l.blocked != m.RowID {
		l.blocked, l.blockedSince = m.RowID, now
	}
	if now.Sub(l.blockedSince) < l.c.opt.Hold && now.Sub(l.blockedSince) >= 0 {
		return true
	}
	l.blocked = 0
	return false
}

// hear hands a message on, if it is one that is heard.
func (l *listener) hear(ctx context.Context, m chatdb.Message) error {
	if m.FromMe || m.Chat == nil || m.Sender == "" || m.Kind != chatdb.Plain && m.Kind != chatdb.Edit || m.At.Before(l.cur.Since) {
		return nil
	}
	if m.Text == "" && len(m.Files) == 0 && !m.Undecodable {
		return nil
	}
	chat := m.Chat.Key()
	said, err := l.c.ledger.said(ctx, m.GUID)
	if err != nil || said {
		return err
	}
	what := m.Text
	if what == "" && len(m.Files) > 0 {
		what = fileText(m.Files[0].Name)
	}
	echo, err := l.c.ledger.echo(ctx, chat, what, m.At, !m.Chat.Group && l.own[chat])
	if err != nil || echo {
		return err
	}
	in, ok, err := l.inbound(ctx, m)
	if err != nil || !ok {
		return err
	}
	_, err = l.to.Receive(ctx, in)
	if errors.Is(err, channels.ErrStranger) {
		return nil
	}
	if err == nil {
		l.c.note(func() { l.c.heard = l.c.opt.Now() })
	}
	return err
}

// said is what stays with a message, for its answer.
type cause struct {
	Chat string `json:"chat"` // the guid of the chat it came in
}

// undecoded is heard in the place of a text that could not be read.
const undecoded = "[a message that could not be read; it stands in Messages]"

// inbound is a message as it is handed on. ok is false when it lacks the prefix.
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
	payload, err := json.Marshal(cause{Chat: m.Chat.GUID})
	if err != nil {
		return in, false, err
	}
	in = channels.Inbound{
		Channel: Name, Chat: m.Chat.Key(), Group: m.Chat.Group, ChatName: m.Chat.Name, Sender: m.Sender, Text: text,
		// What was pieced together of a damaged row decides nothing.
		Unknown: m.Approximate || m.Undecodable, Key: m.GUID, Payload: payload, At: m.At,
	}
	if !in.Group && m.Person != "" && m.Person != in.Chat { // one conversation with one person
		in.Session = Name + ":" + m.Person
	}
	if in.Group {
		answer := false
		if m.ReplyTo != "" {
			if answer, err = l.c.ledger.said(ctx, m.ReplyTo); err != nil {
				return in, false, err
			}
		}
		in.Mentioned = meant || answer || named.MatchString(text)
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, l.c.file(f))
	}
	return in, true, nil
}

// named: the text names Hob, as a word.
var named = regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])@?hob(?:$|[^\pL\pN_])`)

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

// wait waits until there may be something new: the time has come, or the database's
// log has changed. The latter is looked for instead of being told, as nobody tells
// after the machine has slept.
func (l *listener) wait(ctx context.Context) bool {
	for waited := time.Duration(0); waited < l.c.opt.Poll; waited += l.c.opt.Glance {
		if !pause(ctx, l.c.opt.Glance) {
			return false
		}
		if l.blocked != 0 || l.log.changed(l.c.cfg.DB) {
			return true
		}
	}
	return true
}

// fileState is when the database's log was last written.
type fileState struct {
	size int64
	at   time.Time
}

func (f *fileState) changed(db string) bool {
	var now fileState
	if info, err := os.Stat(db + "-wal"); err == nil {
		now = fileState{info.Size(), info.ModTime()}
	}
	was := *f
	*f = now
	return was != now
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
