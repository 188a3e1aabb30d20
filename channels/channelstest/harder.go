package channelstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/channels"
)

// failureParts returns the parts of Conform that test failures and attacks: order, floods, outages,
// restarts, hostile messages and secrets.
func failureParts() []part {
	return []part{
		{"messages in a chat arrive in order", inOrder},
		{"a flood of messages arrives complete and in order", testFlood},
		{"a huge message without a space arrives complete", testOversizeText},
		{"messages in every script arrive unchanged", testUnicodeScripts},
		{"markup in a hostile message has no effect", hostileMarkup},
		{"no error contains a secret", secretsInErrors},
		{"an outage loses no message", testOutage},
		{"a message that arrives twice is accepted once", testDuplicateKey},
		{"messages sent during a restart are received once", testRestart},
	}
}

type part struct {
	name string
	run  func(*testing.T, channels.Channel, Platform)
}

// unhurried removes only the rate limit of a channel, so that the tests do not wait for minutes.
type unhurried struct{ channels.Channel }

func (u unhurried) Limits() channels.Limits {
	l, ok := u.Channel.(channels.Limiter)
	if !ok {
		return channels.Limits{}
	}
	lim := l.Limits()
	lim.PerMinute = 0
	return lim
}

// These types keep the capabilities of a channel that decide how a message is resent.
type (
	unhurriedFinder struct {
		unhurried
		channels.DeliveryFinder
	}
	unhurriedDeduper struct {
		unhurried
		channels.Deduper
	}
)

func withoutRateLimit(ch channels.Channel) channels.Channel {
	u := unhurried{ch}
	if f, ok := ch.(channels.DeliveryFinder); ok {
		return unhurriedFinder{u, f}
	}
	if d, ok := ch.(channels.Deduper); ok {
		return unhurriedDeduper{u, d}
	}
	return u
}

func putNumbered(out *Outbox, n int) (ids, texts []string) {
	for i := range n {
		text := fmt.Sprintf("text number %03d", i)
		texts = append(texts, text)
		ids = append(ids, out.Put(newDelivery(fmt.Sprintf("d%04d", i), text)))
	}
	return ids, texts
}

func inOrder(t *testing.T, ch channels.Channel, p Platform) {
	p.Fail(channels.Temporary, 1)
	out := NewOutbox()
	ids, texts := putNumbered(out, 4)
	runManager(t, withoutRateLimit(ch), out, func() bool { return out.Row(ids[3]).State == channels.Sent })
	checkArrivedInOrder(t, p, texts)
}

// checkArrivedInOrder checks that exactly these messages arrived, in this order.
func checkArrivedInOrder(t *testing.T, p Platform, texts []string) {
	t.Helper()
	got := p.Arrived()
	if _, ok := p.(Folder); ok {
		for i, text := range texts {
			if i >= len(got) || !strings.Contains(got[i], text) {
				t.Fatalf("message %d of %d, %q, did not arrive in order", i, len(texts), text)
			}
		}
		return
	}
	if slices.Equal(got, texts) {
		return
	}
	if len(texts) > 20 {
		t.Errorf("%d of %d messages arrived, or they arrived in the wrong order", len(got), len(texts))
		return
	}
	t.Errorf("arrived %q, want %q", got, texts)
}

func testFlood(t *testing.T, ch channels.Channel, p Platform) {
	out := NewOutbox()
	ids, texts := putNumbered(out, 500)
	runManager(t, withoutRateLimit(ch), out, func() bool { return out.Row(ids[len(ids)-1]).State == channels.Sent })
	checkArrivedInOrder(t, p, texts)
}

func testOversizeText(t *testing.T, ch channels.Channel, p Platform) {
	l, ok := ch.(channels.Limiter)
	if !ok || l.Limits().MaxText == 0 {
		t.Skip("the channel has no limit")
	}
	out := NewOutbox()
	text := strings.Repeat("日本👋", l.Limits().MaxText)
	id := out.Put(newDelivery("d1", text))
	runManager(t, withoutRateLimit(ch), out, func() bool {
		s := out.Row(id).State
		return s == channels.Sent || s == channels.Dead
	})
	if r := out.Row(id); r.State != channels.Sent {
		t.Fatalf("the message is %s: %s", r.State, r.Why)
	}
	got := strings.Join(p.Arrived(), "")
	if got != text {
		t.Errorf("the parts are not the complete message: %d of %d characters", utf8.RuneCountInString(got), utf8.RuneCountInString(text))
	}
	for _, part := range p.Arrived() {
		if n := channels.Length(part, l.Limits()); n > l.Limits().MaxText {
			t.Errorf("a part has %d characters, the limit is %d", n, l.Limits().MaxText)
		}
	}
}

func testUnicodeScripts(t *testing.T, ch channels.Channel, p Platform) {
	texts := []string{
		"Größe, naïve, cafe\u0301", "Привет, мир", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดี", "你好，世界", "안녕하세요",
		"👩‍👩‍👧‍👦 🇱🇹 👍🏽 🏳️‍🌈", "𝒜𝓁𝓅𝒽𝒶 𐍈", "100 % & 5 < 6 > 4",
	}
	for i, text := range texts {
		if _, err := ch.Send(t.Context(), newDelivery(fmt.Sprintf("d%d", i), text)); err != nil {
			t.Fatalf("Send(%q): %v", text, err)
		}
	}
	checkArrivedInOrder(t, p, texts)
}

func hostileMarkup(t *testing.T, ch channels.Channel, p Platform) {
	r, ok := p.(Renderer)
	if !ok {
		t.Skip("the platform does not render markup")
	}
	for i, text := range HostileTexts() {
		if _, err := ch.Send(t.Context(), newDelivery(fmt.Sprintf("d%d", i), text)); err != nil {
			t.Errorf("Send(%q): %v", text, err)
		}
		if got := r.Rendered(); len(got) > 0 {
			t.Fatalf("the message %q has an effect on the platform: %q", text, got)
		}
	}
	if n := len(p.Arrived()); n != len(HostileTexts()) {
		t.Errorf("%d of %d messages arrived", n, len(HostileTexts()))
	}
}

// HostileTexts returns messages whose markup tries to cause an effect on some platform.
func HostileTexts() []string {
	return []string{
		"@everyone @here @channel @all look",
		"<!everyone> <!here> <!channel> <!subteam^S012345> <@U0123456> <@123456789012345678> <@!123> <@&123> <#C123|general>",
		"[hi](tg://user?id=123456) <a href=\"tg://user?id=123456\">hi</a> @username /start",
		"<script>alert(1)</script><img src=x onerror=alert(1)><iframe src=\"https://example.invalid\"></iframe>",
		"[click](javascript:alert(1)) [data](data:text/html,<b>x</b>) ![x](https://example.invalid/?d=secret)",
		"<https://example.invalid|https://bank.example> &lt;!everyone&gt; &#64;everyone",
		"```\n<!here> @everyone </pre></code><b>x</b>\n```\nand `<!here>` and **<!here>** and **@everyone**",
		"</pre></blockquote></body></html><style>*{display:none}</style>",
		"**unclosed *bold _and ~~more [link](https://example.invalid \"title",
		"@\u200beveryone \u202e@here\u202c \\@everyone \\<!here>",
	}
}

func secretsInErrors(t *testing.T, ch channels.Channel, p Platform) {
	s, ok := p.(Secrets)
	if !ok {
		t.Skip("the channel has no secret")
	}
	look := func(what, text string) {
		t.Helper()
		for _, secret := range s.Secrets() {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("a secret is in %s", what)
			}
		}
	}
	failing := func(what string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := ch.Send(ctx, newDelivery("d1", "x")); err != nil {
			look("the error of Send "+what, fmt.Sprintf("%v %+v", err, err))
		}
		if te, ok := ch.(channels.Tester); ok {
			said, err := te.Test(ctx)
			look("what Test says "+what, fmt.Sprintf("%s %v", said, err))
		}
		if de, ok := ch.(channels.StatusDescriber); ok {
			look("the description "+what, de.DescribeStatus())
		}
	}
	for _, c := range []channels.Class{channels.Temporary, channels.Later, channels.Permanent, channels.Unauthorized} {
		if p.Fail(c, 1) {
			failing(fmt.Sprintf("of class %d", c))
		}
	}
	if o, ok := p.(Outage); ok {
		o.Down()
		defer o.Up()
		failing("in an outage")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := ch.Run(ctx, &Inbox{}); err != nil {
			look("the error of Run in an outage", err.Error())
		}
	}
}

func testOutage(t *testing.T, ch channels.Channel, p Platform) {
	o, ok := p.(Outage)
	if !ok {
		t.Skip("the platform is always reachable")
	}
	out := NewOutbox()
	ids, texts := putNumbered(out, 3)
	o.Down()
	up := false
	runManager(t, withoutRateLimit(ch), out, func() bool {
		if !up && out.Row(ids[0]).Attempts > 0 && out.Row(ids[0]).State == channels.Failed {
			o.Up()
			up = true
		}
		return out.Row(ids[2]).State == channels.Sent
	})
	if !up {
		o.Up()
		t.Fatal("a message was sent during the outage")
	}
	got := p.Arrived()
	for i, text := range got { // a truncated text may be marked
		got[i] = text[max(0, strings.Index(text, "text number")):]
	}
	if !slices.Equal(got, texts) {
		t.Errorf("arrived %q, want %q", got, texts)
	}
}

// heardBy runs a channel, calls act, and stops the channel once done reports that it has received
// enough messages.
func heardBy(t *testing.T, ch channels.Channel, inbox *Inbox, act func(ctx context.Context), done func(in []channels.Inbound) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- ch.Run(ctx, inbox) }()
	act(ctx)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done(inbox.Heard()) && ctx.Err() == nil {
		<-tick.C
	}
	if ctx.Err() != nil {
		t.Errorf("received only %d messages in time", len(inbox.Heard()))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func sayUntilHeard(ctx context.Context, s Speaker, text string) {
	for !s.Say(ctx, "ada", "ada", text, false) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// testDuplicateKey checks that a redelivered message has the same key, so that the manager can
// detect the duplicate.
func testDuplicateKey(t *testing.T, ch channels.Channel, p Platform) {
	s, ok := p.(Speaker)
	r, again := p.(Repeater)
	if !ok || !again {
		t.Skip("the platform does not redeliver messages")
	}
	inbox := &Inbox{}
	heardBy(t, ch, inbox, func(ctx context.Context) {
		sayUntilHeard(ctx, s, "once")
		for !r.Again(ctx) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		sayUntilHeard(ctx, s, "after it")
	}, func(in []channels.Inbound) bool { return len(in) > 0 && in[len(in)-1].Text == "after it" })
	var keys []string
	for _, in := range inbox.Heard() {
		if in.Key == "" {
			t.Errorf("the message %q has no key", in.Text)
		}
		if in.Text == "once" {
			keys = append(keys, in.Key)
		}
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != 1 {
		t.Errorf("the repeated message has the keys %q, want one key", keys)
	}
}

func testRestart(t *testing.T, ch channels.Channel, p Platform) {
	s, ok := p.(Speaker)
	o, again := p.(Reopener)
	if !ok || !again {
		t.Skip("the platform stores no messages for an offline channel")
	}
	last := func(text string) func([]channels.Inbound) bool {
		return func(in []channels.Inbound) bool { return len(in) > 0 && in[len(in)-1].Text == text }
	}
	inbox := &Inbox{}
	heardBy(t, ch, inbox, func(ctx context.Context) { sayUntilHeard(ctx, s, "before") }, last("before"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Skip this part on a platform that cannot queue messages for an offline channel.
	away := s.Say(ctx, "ada", "ada", "while away", false)
	heardBy(t, o.Reopen(t), inbox, func(ctx context.Context) { sayUntilHeard(ctx, s, "afterwards") }, last("afterwards"))
	var got []string
	seen := map[string]bool{}
	for _, in := range inbox.Heard() {
		if !seen[in.Key] || in.Key == "" {
			got = append(got, in.Text)
		}
		seen[in.Key] = true
	}
	want := []string{"before", "while away", "afterwards"}
	if !away {
		want = []string{"before", "afterwards"}
	}
	if !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}
