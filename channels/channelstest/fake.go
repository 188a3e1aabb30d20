package channelstest

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"hob/channels"
)

// Platform is the messaging platform behind a channel under test, as needed by the suite.
type Platform interface {
	// Arrived lists the messages that the platform accepted, in order, without the duplicates that
	// it detected.
	Arrived() []string
	// Fail makes the next n sends fail with the given class. It returns false if the platform has
	// no failure of that class.
	Fail(c channels.Class, n int) bool
	// Stall makes sends hang until release is called.
	Stall() (release func())
}

// Speaker is a platform on which people write to the channel. Say sends a message from a person, in
// a group or in a private chat. It returns false if that is impossible, for example because the
// channel is not receiving yet.
type Speaker interface {
	Say(ctx context.Context, chat, sender, text string, group bool) bool
}

// Sign is a platform that counts the typing indicators it has shown.
type Sign interface{ Typed() int }

// Previewer is a platform that fetches the links in a message unless the request disables previews.
// Previewed returns the number of fetches.
type Previewer interface{ Previewed() int }

// Fake is a channel together with its platform. Wrap it in Deduping, Finding, Typing or Drafting to
// add that capability.
type Fake struct {
	Limit channels.Limits
	Stalls

	mu      sync.Mutex
	arrived []channels.Delivery
	seen    map[string]bool
	dedupe  bool
	fails   []error
	heard   channels.Receiver // set while the channel runs
	down    bool
	says    int
	said    channels.Inbound // last message received
	// after, if set, is called when a message has arrived, before Send returns.
	after func(channels.Delivery)
}

// Deduping is a Fake whose platform drops duplicates.
type Deduping struct{ *Fake }

// Dedupes implements channels.Deduper.
func (Deduping) Dedupes() {}

// Typing is a Fake on which people see the typing indicator.
type Typing struct {
	*Fake
	// Shown, if set, is called for each typing indicator. The fake platform fails with its error.
	Shown func(chat string) error

	mu sync.Mutex
	n  int
}

// Typing implements channels.Typer.
func (f *Typing) Typing(ctx context.Context, chat string) error {
	if err := f.Stalled(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	f.n++
	f.mu.Unlock()
	if f.Shown == nil {
		return nil
	}
	return f.Shown(chat)
}

// Typed implements Sign.
func (f *Typing) Typed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// NewDeduping returns a Deduping without messages.
func NewDeduping() Deduping { return Deduping{&Fake{dedupe: true}} }

// Finding is a Fake whose platform can look up a sent message.
type Finding struct{ *Fake }

// Find implements channels.DeliveryFinder.
func (f Finding) Find(_ context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return channels.Receipt{ID: "fake-" + d.ID}, f.seen[d.ID], nil
}

// After makes the Fake call fn each time a message has arrived, before Send returns.
func (f *Fake) After(fn func(channels.Delivery)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = fn
}

// Previewed implements Previewer. It counts the links that the platform may fetch.
func (f *Fake) Previewed() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.arrived {
		if d.Previews {
			n++
		}
	}
	return n
}

// Run implements channels.Channel: it receives the messages sent with Say.
func (f *Fake) Run(ctx context.Context, r channels.Receiver) error {
	f.mu.Lock()
	f.heard = r
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.heard = nil
	f.mu.Unlock()
	return nil
}

// Reopen implements Reopener. The platform stores no messages for a channel that is offline.
func (f *Fake) Reopen(*testing.T) channels.Channel { return f }

// Down implements Outage. Sends fail until Up is called.
func (f *Fake) Down() { f.setDown(true) }

// Up implements Outage.
func (f *Fake) Up() { f.setDown(false) }

func (f *Fake) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Again implements Repeater.
func (f *Fake) Again(ctx context.Context) bool {
	f.mu.Lock()
	r, in := f.heard, f.said
	f.mu.Unlock()
	if r == nil {
		return false
	}
	_, err := r.Receive(ctx, in)
	return err == nil
}

// Say implements Speaker.
func (f *Fake) Say(ctx context.Context, chat, sender, text string, group bool) bool {
	f.mu.Lock()
	r := f.heard
	f.mu.Unlock()
	if r == nil {
		return false
	}
	f.mu.Lock()
	f.says++
	in := channels.Inbound{
		Channel: "x", Chat: chat, Sender: sender, Text: text, Group: group, Mentioned: true, Key: fmt.Sprintf("m%d", f.says), At: time.Now(),
	}
	f.said = in
	f.mu.Unlock()
	_, err := r.Receive(ctx, in)
	return err == nil
}

// Limits implements channels.Limiter.
func (f *Fake) Limits() channels.Limits { return f.Limit }

// Send implements channels.Channel.
func (f *Fake) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	f.mu.Lock()
	var err error
	if f.down {
		err = channels.Errorf(channels.Temporary, "the platform cannot be reached")
	} else if len(f.fails) > 0 {
		err, f.fails = f.fails[0], f.fails[1:]
	}
	f.mu.Unlock()
	if err := cmp.Or(f.Stalled(ctx), err); err != nil {
		return channels.Receipt{}, err
	}
	f.mu.Lock()
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if !f.dedupe || !f.seen[d.ID] {
		f.arrived = append(f.arrived, d)
	}
	f.seen[d.ID] = true
	after := f.after
	f.mu.Unlock()
	if after != nil {
		after(d)
	}
	return channels.Receipt{ID: "fake-" + d.ID}, nil
}

// Deliveries lists the deliveries that arrived.
func (f *Fake) Deliveries() []channels.Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]channels.Delivery(nil), f.arrived...)
}

// Arrived implements Platform.
func (f *Fake) Arrived() []string {
	var out []string
	for _, d := range f.Deliveries() {
		out = append(out, d.Text)
	}
	return out
}

// Fail implements Platform.
func (f *Fake) Fail(c channels.Class, n int) bool {
	e := channels.Errorf(c, "the platform fails with class %d", c)
	if c == channels.Later {
		e.RetryAt = time.Now().Add(time.Minute)
	}
	f.FailWith(e, n)
	return true
}

// FailWith makes the next n sends fail with err.
func (f *Fake) FailWith(err error, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.fails = append(f.fails, err)
	}
}

// Inbox is a Receiver that records the messages it receives.
type Inbox struct {
	mu  sync.Mutex
	in  []channels.Inbound
	err error
}

// Refuse makes all later calls of Receive fail with err.
func (b *Inbox) Refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// Receive implements channels.Receiver.
func (b *Inbox) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return channels.Accepted{}, b.err
	}
	b.in = append(b.in, in)
	return channels.Accepted{Event: fmt.Sprintf("e%04d", len(b.in))}, nil
}

// Heard lists the received messages.
func (b *Inbox) Heard() []channels.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]channels.Inbound(nil), b.in...)
}

// Drafting is a Fake that shows answers while they are written. A later draft replaces the earlier
// one with the same id.
type Drafting struct {
	*Fake
	// Wrong, if set, is called before each draft. The fake platform fails with its error.
	Wrong func() error
	// Cut, if set, is called after the platform accepted a draft. The channel gets its error
	// instead of the result.
	Cut func() error

	mu     sync.Mutex
	n      int
	first  map[string]string // keyed by the ID under which a message was posted
	shown  map[string]string
	drafts []string
}

// Draft implements channels.Drafter.
func (f *Drafting) Draft(_ context.Context, d channels.Delivery) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Wrong != nil {
		if err := f.Wrong(); err != nil {
			return "", err
		}
	}
	if f.shown == nil {
		f.shown, f.first = map[string]string{}, map[string]string{}
	}
	id := d.Draft
	if id == "" {
		f.n++
		id = fmt.Sprintf("%s/%d", d.Chat, f.n)
		f.first[d.ID] = id
	}
	f.shown[id] = d.Text
	f.drafts = append(f.drafts, d.Text)
	if f.Cut != nil {
		return id, f.Cut()
	}
	return id, nil
}

// Send implements channels.Channel.
func (f *Drafting) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	f.mu.Lock()
	_, there := f.shown[d.Draft]
	f.mu.Unlock()
	if d.Draft != "" && !there {
		return channels.Receipt{}, channels.Errorf(channels.Permanent, "there is no message %s", d.Draft)
	}
	r, err := f.Fake.Send(ctx, d)
	if err == nil && d.Draft != "" {
		f.mu.Lock()
		f.shown[d.Draft] = d.Text
		f.mu.Unlock()
	}
	return r, err
}

// FindingDrafts is a Drafting whose platform can find a draft.
type FindingDrafts struct{ *Drafting }

// Find implements channels.DeliveryFinder.
func (f FindingDrafts) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	f.mu.Lock()
	id, ok := f.first[d.ID]
	f.mu.Unlock()
	if ok {
		return channels.Receipt{ID: id}, true, nil
	}
	return Finding{f.Fake}.Find(ctx, d)
}

// Drafts lists every draft.
func (f *Drafting) Drafts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.drafts...)
}

// Shown returns the current text of a message.
func (f *Drafting) Shown(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shown[id]
}

// Drafts is an in-memory channels.Drafts.
type Drafts struct {
	mu   sync.Mutex
	kept map[[3]string]string
}

// Draft implements channels.Drafts.
func (d *Drafts) Draft(_ context.Context, event, channel, chat string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[[3]string{event, channel, chat}], nil
}

// KeepDraft implements channels.Drafts.
func (d *Drafts) KeepDraft(_ context.Context, event, channel, chat, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil {
		d.kept = map[[3]string]string{}
	}
	d.kept[[3]string{event, channel, chat}] = id
	return nil
}
