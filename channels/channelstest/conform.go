package channelstest

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
)

// Open creates a channel and its platform for one test.
type Open func(t *testing.T) (channels.Channel, Platform)

// patience is the time limit for operations that hang. It is long because a busy machine is slow.
const patience = time.Minute

// Conform runs the suite that every channel that sends must pass: the contract of Send and Run, and
// delivery through the Manager.
func Conform(t *testing.T, open Open) {
	t.Helper()
	for _, c := range append([]part{
		{"a message arrives unchanged", testTextArrives},
		{"the platform fetches no link in a message", testNoLinkPreview},
		{"errors have the right class", testErrorClasses},
		{"send returns when its context ends", sendEnds},
		{"a typing indicator is not a message and returns when its context ends", testTypingSign},
		{"run returns nil when its context ends", runEnds},
		{"the members of a group are distinguished", testGroupMessages},
		{"a duplicate is dropped if the channel deduplicates", testDeduplication},
		{"a long message arrives in parts", testSplitText},
		{"a rejected message is dropped and the next one arrives", testRefusedDelivery},
		{"a message interrupted before it arrived is sent", cutOffBefore},
		{"a message interrupted after it arrived is not repeated without a mark", cutOffAfter},
	}, failureParts()...) {
		t.Run(c.name, func(t *testing.T) {
			ch, p := open(t)
			c.run(t, ch, p)
		})
	}
}

const sample = "Grüße, 世界 👋\nsecond line \"quoted\" <b>&</b>"

func newDelivery(id, text string) channels.Delivery {
	return channels.Delivery{
		ID: id, Event: "e1", Kind: channels.Notice, Session: "s", Channel: "x", Chat: "c",
		Text: text, CreatedAt: time.Now(),
	}
}

func testTextArrives(t *testing.T, ch channels.Channel, p Platform) {
	if _, err := ch.Send(t.Context(), newDelivery("d1", sample)); err != nil {
		t.Fatal(err)
	}
	if got := p.Arrived(); !slices.Equal(got, []string{sample}) {
		t.Errorf("arrived %q, want %q", got, sample)
	}
}

// testNoLinkPreview checks that the platform does not fetch a link in a message: the request alone
// would send data to an address that hostile text chose.
func testNoLinkPreview(t *testing.T, ch channels.Channel, p Platform) {
	v, ok := p.(Previewer)
	if !ok {
		t.Skip("the platform does not fetch links")
	}
	if _, err := ch.Send(t.Context(), newDelivery("d1", "see https://example.invalid/?d=secret and www.example.invalid")); err != nil {
		t.Fatal(err)
	}
	if n := v.Previewed(); n != 0 {
		t.Errorf("the platform fetched %d links in the message", n)
	}
}

func testErrorClasses(t *testing.T, ch channels.Channel, p Platform) {
	for _, c := range []channels.Class{channels.Temporary, channels.Later, channels.Permanent, channels.Unauthorized} {
		if !p.Fail(c, 1) {
			continue
		}
		_, err := ch.Send(t.Context(), newDelivery("d1", "x"))
		if err == nil || channels.ClassOf(err) != c {
			t.Errorf("Send: %v of class %d, want class %d", err, channels.ClassOf(err), c)
		}
	}
	if _, err := ch.Send(t.Context(), newDelivery("d2", "after all that")); err != nil {
		t.Errorf("Send after failures: %v", err)
	}
}

func sendEnds(t *testing.T, ch channels.Channel, p Platform) {
	release := p.Stall()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := ch.Send(ctx, newDelivery("d1", "x"))
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("Send returned nil although nothing was accepted")
		}
	case <-time.After(patience):
		t.Fatal("Send continues although its context has ended")
	}
}

// testTypingSign checks that a typing indicator is not sent as a message and does not block the
// channel. The manager decides how often typing indicators are shown and when they end.
func testTypingSign(t *testing.T, ch channels.Channel, p Platform) {
	ty, ok := ch.(channels.Typer)
	if !ok {
		t.Skip("the channel shows no typing indicators")
	}
	if err := ty.Typing(t.Context(), "c"); err != nil {
		t.Errorf("Typing: %v", err)
	}
	if got := p.Arrived(); len(got) > 0 {
		t.Errorf("a typing indicator arrived as the message %q", got)
	}
	if s, ok := p.(Sign); ok && s.Typed() != 1 {
		t.Errorf("%d typing indicators were shown, want 1", s.Typed())
	}
	release := p.Stall()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		_ = ty.Typing(ctx, "c")
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Typing continues although its context has ended")
	}
}

func runEnds(t *testing.T, ch channels.Channel, _ Platform) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, &Inbox{}) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run continues although its context has ended")
	}
}

// testGroupMessages checks that a group member's message includes the group and its author, and
// that a private message to Hob does not.
func testGroupMessages(t *testing.T, ch channels.Channel, p Platform) {
	s, ok := p.(Speaker)
	if !ok {
		t.Skip("the channel receives no messages")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	inbox := &Inbox{}
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, inbox) }()
	for _, who := range []struct {
		chat, sender string
		group        bool
	}{{"g1", "ada", true}, {"g1", "bob", true}, {"ada", "ada", false}} {
		for !s.Say(ctx, who.chat, who.sender, "hi", who.group) && ctx.Err() == nil {
			runtime.Gosched()
		}
	}
	for len(inbox.Heard()) < 3 && ctx.Err() == nil {
		runtime.Gosched()
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	heard := inbox.Heard()
	if len(heard) != 3 {
		t.Fatalf("received %d of 3 messages", len(heard))
	}
	a, b, alone := heard[0], heard[1], heard[2]
	switch {
	case !a.Group || !b.Group || alone.Group:
		t.Error("a group is not distinguished from a private chat")
	case a.Sender == "" || b.Sender == "" || a.Sender == b.Sender:
		t.Errorf("the members are %q and %q", a.Sender, b.Sender)
	case a.Chat != b.Chat || a.Chat == alone.Chat:
		t.Errorf("the chats are %q, %q and %q", a.Chat, b.Chat, alone.Chat)
	case a.Conversation(false) == b.Conversation(false) || a.Conversation(true) != b.Conversation(true):
		t.Error("a group message is not in the conversation of its author")
	}
}

func testDeduplication(t *testing.T, ch channels.Channel, p Platform) {
	if _, ok := ch.(channels.Deduper); !ok {
		t.Skip("the channel does not deduplicate")
	}
	for range 2 {
		if _, err := ch.Send(t.Context(), newDelivery("d1", "once")); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Arrived(); !slices.Equal(got, []string{"once"}) {
		t.Errorf("arrived %q, want one copy", got)
	}
}

func testSplitText(t *testing.T, ch channels.Channel, p Platform) {
	l, ok := ch.(channels.Limiter)
	if !ok || l.Limits().MaxText == 0 {
		t.Skip("the channel has no limit")
	}
	out := NewOutbox()
	text := strings.Repeat("a word and another one\n", l.Limits().MaxText/8)
	id := out.Put(newDelivery("d1", text))
	runManager(t, ch, out, func() bool { return out.Row(id).State == channels.Sent })
	got := strings.Join(strings.Fields(strings.Join(p.Arrived(), " ")), " ")
	if want := strings.Join(strings.Fields(text), " "); got != want {
		t.Errorf("the parts are not the complete message: %d of %d characters", len(got), len(want))
	}
}

func testRefusedDelivery(t *testing.T, ch channels.Channel, p Platform) {
	if !p.Fail(channels.Permanent, 1) {
		t.Skip("the platform has no permanent failure")
	}
	out := NewOutbox()
	bad, good := out.Put(newDelivery("d1", "bad")), out.Put(newDelivery("d2", "good"))
	runManager(t, ch, out, func() bool { return out.Row(good).State == channels.Sent })
	if r := out.Row(bad); r.State != channels.Dead || r.Why == "" {
		t.Errorf("the rejected message is %s (%q), want dead with a reason", r.State, r.Why)
	}
}

func cutOffBefore(t *testing.T, ch channels.Channel, p Platform) {
	out := NewOutbox()
	id := out.PutCutOff(newDelivery("d1", "hello"))
	runManager(t, ch, out, func() bool { return out.Row(id).State == channels.Sent })
	if got := p.Arrived(); len(got) != 1 || !strings.HasSuffix(got[0], "hello") {
		t.Errorf("arrived %q, want the message once", got)
	}
}

func cutOffAfter(t *testing.T, ch channels.Channel, p Platform) {
	out := NewOutbox()
	if _, err := ch.Send(t.Context(), newDelivery("d1", "hello")); err != nil {
		t.Fatal(err)
	}
	id := out.PutCutOff(newDelivery("d1", "hello"))
	runManager(t, ch, out, func() bool { return out.Row(id).State == channels.Sent })
	got := p.Arrived()
	_, dedupes := ch.(channels.Deduper)
	_, finds := ch.(channels.DeliveryFinder)
	switch {
	case dedupes || finds:
		if !slices.Equal(got, []string{"hello"}) {
			t.Errorf("arrived %q, want one copy", got)
		}
	case len(got) != 2 || got[1] == "hello" || !strings.HasSuffix(got[1], "hello"):
		t.Errorf("arrived %q, want a second copy marked as possibly repeated", got)
	}
}

// runManager runs a Manager over the channel until done reports true.
func runManager(t *testing.T, ch channels.Channel, out *Outbox, done func() bool) {
	t.Helper()
	m, err := channels.New(channels.Options{
		Outbox: out, Receiver: &Inbox{}, Log: slog.New(slog.DiscardHandler),
		Channels: map[string]channels.Channel{"x": ch},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() && ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if !done() {
		t.Error("the delivery was not finished in time")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Manager.Run: %v", err)
	}
}
