package channels

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/failpoint"
	"hob/platform/retry"
)

// Drafts stores which platform message shows the draft of an answer, so that the complete answer
// replaces it, also after a crash. Its methods may be called concurrently.
type Drafts interface {
	// Draft returns the value stored by KeepDraft, or "".
	Draft(ctx context.Context, event, channel, chat string) (string, error)
	// KeepDraft stores the platform's id of the message. An empty id deletes the entry, so that the
	// answer is sent as a separate message. A value with the prefix "?" is stored before a message
	// is posted and replaced when the message id is known.
	KeepDraft(ctx context.Context, event, channel, chat, id string) error
}

// Timing of drafts. Platforms limit edits of a message: Telegram to about 1 per second in a chat
// and 20 per minute in a group, Discord to 5 in 5 s, Slack's chat.update to 50 per minute.
const (
	draftEvery   = 1500 * time.Millisecond
	draftMost    = 20 * time.Second // maximum interval, used if the platform is slow
	draftText    = 40               // minimum length of a draft in characters
	draftMax     = 4096             // maximum length of a draft if the platform has no limit
	draftTimeout = 5 * time.Second
	draftMark    = " …"
)

// LiveDraft is an answer that is shown while it is written. Its methods may be called
// concurrently; only Stop waits for the platform.
type LiveDraft interface {
	// Add appends text from the model.
	Add(text string)
	// Reset discards the text shown so far and starts over in the same message.
	Reset()
	// Break completes the message in its current form. Later text goes into a new message.
	Break()
	// Stop ends the draft and waits until no update is in progress.
	Stop()
}

// openDrafts holds the open drafts.
type openDrafts struct {
	mu   sync.Mutex
	open map[*draft]struct{}
	shut bool
}

// Drafts reports whether answers on this channel can be shown as drafts.
func (m *Manager) Drafts(channel string) bool {
	_, ok := m.opt.Channels[channel].(Drafter)
	if !ok || m.opt.Drafts == nil || m.opt.Choices[channel].Whole {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[channel].State == "running"
}

// Show shows the answer to an event in a chat while it is written. It returns nil if the channel
// does not support drafts. The draft also ends with ctx.
func (m *Manager) Show(ctx context.Context, event, channel, chat string) LiveDraft {
	if chat == "" || !m.Drafts(channel) {
		return nil
	}
	ch := m.opt.Channels[channel]
	lim := channelLimits(ch)
	if lim.MaxText <= 0 || lim.MaxText > draftMax {
		lim.MaxText = draftMax
	}
	drafter, _ := ch.(Drafter)
	d := &draft{m: m, ch: drafter, event: event, channel: channel, chat: chat, limits: lim, poke: make(chan struct{}, 1), done: make(chan struct{})}
	m.drafts.mu.Lock()
	defer m.drafts.mu.Unlock()
	if m.drafts.shut {
		return nil
	}
	if m.drafts.open == nil {
		m.drafts.open = map[*draft]struct{}{}
	}
	m.drafts.open[d] = struct{}{}
	ctx, d.cancel = context.WithCancel(ctx)
	go func() {
		defer close(d.done)
		d.runUpdates(ctx)
		m.drafts.mu.Lock()
		defer m.drafts.mu.Unlock()
		delete(m.drafts.open, d)
	}()
	return d
}

// endAll stops all drafts and waits for them.
func (s *openDrafts) endAll() {
	s.mu.Lock()
	s.shut = true
	var all []*draft
	for d := range s.open {
		all = append(all, d)
	}
	s.mu.Unlock()
	for _, d := range all {
		d.Stop()
	}
}

type draft struct {
	m                    *Manager
	ch                   Drafter
	event, channel, chat string
	limits               Limits
	poke                 chan struct{}
	cancel               context.CancelFunc
	done                 chan struct{}

	mu     sync.Mutex
	text   strings.Builder
	broken []string // the text before each Break
}

// Add implements Shown.
func (d *draft) Add(text string) {
	d.mu.Lock()
	if d.text.Len() < 8*draftMax { // longer text is not shown
		d.text.WriteString(text)
	}
	d.mu.Unlock()
	d.signalUpdate()
}

// Reset implements Shown.
func (d *draft) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text.Reset()
}

// Break implements Shown.
func (d *draft) Break() {
	d.mu.Lock()
	d.broken = append(d.broken, d.text.String())
	d.text.Reset()
	d.mu.Unlock()
	d.signalUpdate()
}

// Stop implements Shown.
func (d *draft) Stop() {
	d.cancel()
	<-d.done
}

func (d *draft) signalUpdate() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// takeText returns the current text and the pieces completed by Break.
func (d *draft) takeText() (text string, broken []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	broken, d.broken = d.broken, nil
	return d.text.String(), broken
}

// runUpdates updates the draft each time there is new text and the interval has passed.
func (d *draft) runUpdates(ctx context.Context) {
	kept, err := d.m.opt.Drafts.Draft(ctx, d.event, d.channel, d.chat)
	if err != nil {
		d.m.opt.Log.Debug("draft of an answer failed", "channel", d.channel, "error", err)
		return
	}
	m := message{id: kept}
	if f, ok := parseDraftDelivery(kept); ok { // a crash interrupted the posting
		if m, ok = d.findMessage(ctx, f); !ok {
			return
		}
	}
	wait := draftEvery
	for next := time.Now().Add(draftEvery); ; {
		if retry.Sleep(ctx, time.Until(next)) != nil {
			d.finishMessage(ctx, m)
			return
		}
		text, broken := d.takeText()
		for _, was := range broken { // the message keeps its complete text
			if was = d.cutText(was, ""); m.id != "" && was != "" && was != m.shown {
				_, _ = d.showText(ctx, m, was)
			}
			m = message{}
			if err := d.keepMessageID(ctx, ""); err != nil {
				return
			}
		}
		if text = d.cutText(text, draftMark); text == "" || text == m.shown || m.id == "" && utf8.RuneCountInString(text) < draftText {
			select {
			case <-d.poke:
			case <-ctx.Done():
				d.finishMessage(ctx, m)
				return
			}
			if time.Until(next) <= 0 && len(broken) == 0 {
				next = time.Now().Add(draftEvery / 10) // wait so that several pieces are sent together
			}
			continue
		}
		after, err := d.putText(ctx, m, text)
		switch c := ClassOf(err); {
		case errors.Is(err, errUnknown):
			return
		case err == nil:
			wait = max(draftEvery, wait/2)
		case ctx.Err() != nil:
		case c == Later:
			wait = max(min(2*wait, draftMost), RetryIn(err, 0))
		case c == Temporary:
			wait = min(2*wait, draftMost)
		default:
			return
		}
		m, next = after, time.Now().Add(wait)
	}
}

// message is the platform message of a draft.
type message struct {
	id    string // the platform's id, or "" until it is known
	first Delivery
	shown string
	// unsure reports whether the platform may have accepted the message without confirming it.
	unsure bool
}

// errUnknown means that the draft's message could not be found.
var errUnknown = errors.New("finding the draft of an answer failed")

// putText shows text in a message. A new message is recorded before it is posted.
func (d *draft) putText(ctx context.Context, m message, text string) (message, error) {
	if m.id == "" && m.unsure {
		found, ok := d.findMessage(ctx, m.first)
		if !ok {
			return m, errUnknown
		}
		m = found
	}
	if m.id == "" && m.first.ID == "" {
		m.first = newDraftDelivery(time.Now())
		if err := d.keepMessageID(ctx, begunMark+m.first.ID); err != nil {
			return m, errUnknown
		}
	}
	got, err := d.showText(ctx, m, text)
	if err != nil {
		m.unsure = m.id == "" && maybeSent(err)
		return m, err
	}
	m.shown = text
	if got != "" && got != m.id {
		m.id = got
		if err := d.keepMessageID(ctx, got); err != nil {
			return m, errUnknown
		}
	}
	return m, nil
}

// begunMark is the prefix for the ID of a draft whose message id is not known yet.
const begunMark = "?"

// newDraftDelivery returns a new delivery for a draft. Its ID contains the creation time, which
// limits how far back a DeliveryFinder searches.
func newDraftDelivery(now time.Time) Delivery {
	f, _ := parseDraftDelivery(fmt.Sprintf("%s%d-%s", begunMark, now.UnixMilli(), rand.Text()))
	return f
}

// parseDraftDelivery parses the stored delivery of a draft that was or may have been posted.
func parseDraftDelivery(kept string) (Delivery, bool) {
	id, ok := strings.CutPrefix(kept, begunMark)
	if !ok {
		return Delivery{}, false
	}
	at, _, _ := strings.Cut(id, "-")
	ms, _ := strconv.ParseInt(at, 10, 64)
	return Delivery{ID: id, Kind: Reply, CreatedAt: time.UnixMilli(ms)}, true
}

// findMessage looks up a message that the platform may have accepted. It returns false if the
// result is unknown. A missing message is posted with the same ID.
func (d *draft) findMessage(ctx context.Context, first Delivery) (message, bool) {
	m := message{first: first}
	f, ok := d.ch.(DeliveryFinder)
	if !ok {
		return m, false
	}
	c, cancel := context.WithTimeout(ctx, draftTimeout)
	defer cancel()
	first.Channel, first.Chat = d.channel, d.chat
	err := recoverPanic(func() error {
		r, found, err := f.Find(c, first)
		if found {
			m.id = r.ID
		}
		return err
	})
	if err != nil {
		d.m.opt.Log.Debug("draft of an answer failed", "channel", d.channel, "error", err)
		return m, false
	}
	return m, m.id == "" || d.keepMessageID(ctx, m.id) == nil
}

// finishMessage completes a message that was followed by another one. It runs at the end of the
// turn.
func (d *draft) finishMessage(ctx context.Context, m message) {
	_, broken := d.takeText()
	if len(broken) == 0 || m.id == "" {
		return
	}
	if was := d.cutText(broken[0], ""); was != "" && was != m.shown {
		_, _ = d.showText(ctx, m, was)
	}
	_ = d.keepMessageID(ctx, "")
}

// keepMessageID stores the id of the message even after the turn has ended, because the answer
// replaces the message.
func (d *draft) keepMessageID(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	err := d.m.opt.Drafts.KeepDraft(ctx, d.event, d.channel, d.chat, id)
	if err != nil {
		d.m.opt.Log.Warn("storing the draft of an answer failed", "channel", d.channel, "error", err)
	}
	return err
}

// showText shows text in a message. It gives the platform call a short time to complete after the
// turn ends, because otherwise the platform could keep a message whose id is unknown.
func (d *draft) showText(ctx context.Context, m message, text string) (got string, err error) {
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), draftTimeout)
	defer cancel()
	now := m.first
	now.Channel, now.Chat, now.Event, now.Draft, now.Text = d.channel, d.chat, d.event, m.id, text
	failpoint.Hit("channel.draft.before")
	err = recoverPanic(func() error {
		got, err = d.ch.Draft(c, now)
		return err
	})
	failpoint.Hit("channel.draft.after")
	if err != nil && ctx.Err() == nil {
		d.m.opt.Log.Debug("draft of an answer failed", "channel", d.channel, "error", err)
	}
	return got, err
}

// cutText shortens text to fit in one message: its beginning, followed by mark.
func (d *draft) cutText(text, mark string) string {
	text = strings.ToValidUTF8(text, "")
	if mark != "" {
		text = settledPrefix(text)
	}
	if d.m.opt.Redact != nil {
		text = d.m.opt.Redact(text)
	}
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	l := d.limits
	l.MaxText -= Length(draftMark, l)
	if l.MaxText <= 0 {
		return ""
	}
	if parts := SplitFor(text, l); len(parts) > 1 {
		return parts[0] + draftMark
	}
	return text + mark
}

// settledPrefix returns a growing text without its last word and the numbers before that word,
// because only complete words and numbers can be checked for credentials.
func settledPrefix(text string) string {
	for {
		text = strings.TrimRightFunc(text, func(r rune) bool { return r > ' ' && r <= unicode.MaxASCII })
		before := strings.TrimRight(text, " ")
		word := before[strings.LastIndexAny(before, " \n")+1:]
		if before == text || strings.Trim(word, "-.0123456789") != "" || !strings.ContainsAny(word, "0123456789") {
			return text
		}
		text = before
	}
}
