package channels_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		channelstest.Conform(t, func(*testing.T) (channels.Channel, channelstest.Platform) {
			f := &channelstest.Fake{Limit: channels.Limits{MaxText: 200}}
			return f, f
		})
	})
	t.Run("deduping", func(t *testing.T) {
		channelstest.Conform(t, func(*testing.T) (channels.Channel, channelstest.Platform) {
			f := channelstest.NewDeduping()
			return f, f
		})
	})
	t.Run("typing", func(t *testing.T) {
		channelstest.Conform(t, func(*testing.T) (channels.Channel, channelstest.Platform) {
			f := &channelstest.Typing{Fake: &channelstest.Fake{}}
			return f, f
		})
	})
	t.Run("finding", func(t *testing.T) {
		channelstest.Conform(t, func(*testing.T) (channels.Channel, channelstest.Platform) {
			f := channelstest.Finding{Fake: &channelstest.Fake{}}
			return f, f
		})
	})
}

// managerFixture is a manager running in a synctest bubble.
type managerFixture struct {
	*channels.Manager
	out    *channelstest.Outbox
	inbox  *channelstest.Inbox
	cancel context.CancelFunc
	ended  chan error
}

func startManager(t *testing.T, out *channelstest.Outbox, chs map[string]channels.Channel, opt channels.Options) *managerFixture {
	t.Helper()
	h := &managerFixture{out: out, inbox: &channelstest.Inbox{}, ended: make(chan error, 1)}
	opt.Outbox, opt.Receiver, opt.Log, opt.Channels = out, h.inbox, slog.New(slog.DiscardHandler), chs
	m, err := channels.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	h.Manager = m
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(t.Context())
	go func() { h.ended <- m.Run(ctx) }()
	return h
}

func (h *managerFixture) stopManager(t *testing.T) {
	t.Helper()
	h.cancel()
	if err := <-h.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func newDelivery(channel, chat, text string) channels.Delivery {
	return channels.Delivery{Channel: channel, Chat: chat, Text: text, Kind: channels.Reply}
}

func TestManager_ErrorClassDecidesOnRetry(t *testing.T) {
	later := channels.Errorf(channels.Later, "slow down")
	for _, c := range []struct {
		name      string
		fail      error
		times     int
		after     time.Duration
		want      channels.State
		wantTries int
	}{
		{"temporary is tried again", channels.Errorf(channels.Temporary, "hiccup"), 3, time.Hour, channels.Sent, 4},
		{"an unclassified error counts as temporary", errors.New("hm"), 1, time.Hour, channels.Sent, 2},
		{"failures within one hour are retried", channels.Errorf(channels.Temporary, "broken"), 99, time.Hour, channels.Failed, 0},
		{"failures for four hours end the delivery", channels.Errorf(channels.Temporary, "broken"), 999, 4 * time.Hour, channels.Dead, 0},
		{"a permanent error ends the delivery", channels.Errorf(channels.Permanent, "no such chat"), 1, time.Minute, channels.Dead, 1},
		{"an unsupported delivery ends", errors.ErrUnsupported, 1, time.Minute, channels.Dead, 1},
		{"later without a time waits", later, 1, time.Hour, channels.Sent, 2},
		{"unauthorised stops the channel", channels.Errorf(channels.Unauthorized, "bad token"), 1, time.Hour, channels.Failed, 1},
		{"a machine without network keeps trying", &net.OpError{Op: "dial", Err: errors.New("unreachable")}, 60, 20 * time.Hour, channels.Sent, 61},
		{"but not for more than a day", &net.DNSError{Err: "no such host"}, 9999, 26 * time.Hour, channels.Dead, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &channelstest.Fake{}
				f.FailWith(c.fail, c.times)
				h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
				id := h.out.Put(newDelivery("x", "c", "hello"))
				time.Sleep(c.after)
				synctest.Wait()
				r := h.out.Row(id)
				if r.State != c.want || (c.wantTries > 0 && r.Attempts != c.wantTries) {
					t.Errorf("state %s after %d attempts (%s), want %s after %d", r.State, r.Attempts, r.Why, c.want, c.wantTries)
				}
				h.stopManager(t)
			})
		})
	}
}

func TestManager_LaterPausesTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{}
		f.FailWith(&channels.Error{Class: channels.Later, RetryAt: time.Now().Add(5 * time.Minute), Err: errors.New("429")}, 1)
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
		a, b := h.out.Put(newDelivery("x", "a", "first")), h.out.Put(newDelivery("x", "b", "second"))
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if n := len(f.Arrived()); n != 0 {
			t.Errorf("%d texts were sent although the platform asked for a pause", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h.out.Row(a).State != channels.Sent || h.out.Row(b).State != channels.Sent {
			t.Errorf("after the pause: states %s and %s", h.out.Row(a).State, h.out.Row(b).State)
		}
		h.stopManager(t)
	})
}

func TestManager_KeepsRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{Limit: channels.Limits{PerMinute: 3}}
		var at []time.Duration
		began := time.Now()
		f.After(func(channels.Delivery) { at = append(at, time.Since(began)) })
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
		for i := range 7 {
			h.out.Put(newDelivery("x", fmt.Sprint(i), "hello"))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		h.stopManager(t)
		m := time.Minute
		if d := cmp.Diff([]time.Duration{0, 0, 0, m, m, m, 2 * m}, at); d != "" {
			t.Error(d)
		}
	})
}

func TestTransferTimeout(t *testing.T) {
	for bytes, want := range map[int64]time.Duration{-1: 30 * time.Second, 0: 30 * time.Second, 1 << 20: 38 * time.Second, 32 << 20: 286 * time.Second, 1 << 62: 30*time.Second + 8192*time.Second} {
		if got := channels.TransferTimeout(bytes); got != want {
			t.Errorf("%d bytes may take %s, want %s", bytes, got, want)
		}
	}
}

// Long answers to guests do not delay the owner's messages and questions.
func TestManager_GuestsDoNotDelayTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{Limit: channels.Limits{PerMinute: 4, MaxText: 100}}
		var got []string
		began := time.Now()
		f.After(func(d channels.Delivery) {
			got = append(got, fmt.Sprintf("%s %.5s %s", d.Chat, d.Text, time.Since(began)))
		})
		out := channelstest.NewOutbox()
		long := newDelivery("x", "eve", strings.Repeat("guest ", 60)) // five parts
		long.Guest = true
		short := newDelivery("x", "bob", "guest")
		short.Guest = true
		ids := []string{out.Put(long), out.Put(short), out.Put(newDelivery("x", "me", "first"))}
		h := startManager(t, out, map[string]channels.Channel{"x": f}, channels.Options{})
		time.Sleep(time.Second)
		synctest.Wait()
		ids = append(ids, out.Put(newDelivery("x", "me", "again")))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		h.stopManager(t)
		want := []string{
			"me first 0s", "eve guest 0s", "eve guest 0s", "me again 1s",
			"eve guest 1m0s", "eve guest 1m0s", "eve guest 2m0s", "bob guest 2m0s",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		for _, id := range ids {
			if s := out.Row(id).State; s != channels.Sent {
				t.Errorf("%s is %s", id, s)
			}
		}
	})
}

// If the second of three parts of a text fails, the retry continues with that part.
func TestManager_DoesNotRepeatSentParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{Limit: channels.Limits{MaxText: 100}}
		f.After(func(channels.Delivery) {
			if len(f.Deliveries()) == 1 {
				f.FailWith(channels.Errorf(channels.Temporary, "hiccup"), 1)
			}
		})
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
		id := h.out.Put(newDelivery("x", "c", strings.Repeat("word and ", 22)))
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stopManager(t)
		var ids []string
		for _, d := range f.Deliveries() {
			ids = append(ids, d.ID)
			if strings.Contains(d.Text, "repeated") {
				t.Errorf("part %s is marked as repeated", d.ID)
			}
		}
		if d := cmp.Diff([]string{id + ".1", id + ".2", id + ".3"}, ids); d != "" {
			t.Error(d)
		}
	})
}

// pickyPlatform is a platform that accepts files but rejects some of them.
type pickyPlatform struct{ *channelstest.Fake }

func (pickyPlatform) Attaches() {}

func (p pickyPlatform) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if len(d.Files) > 0 && d.Files[0].Name == "bad.pdf" {
		return channels.Receipt{}, channels.Errorf(channels.Permanent, "413 request entity too large")
	}
	return p.Fake.Send(ctx, d)
}

// If the platform rejects a file, the text is still sent, with a note about the file.
func TestManager_SendsTextOfARejectedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		f := pickyPlatform{&channelstest.Fake{Limit: channels.Limits{MaxText: 100, MaxFile: 1 << 20}}}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{})
		var ids []string
		for _, text := range []string{"here it is", strings.Repeat("many words ", 12)} {
			for _, name := range []string{"good.pdf", "bad.pdf"} {
				d := newDelivery("x", "c", text)
				d.Files = []channels.Attachment{{Name: name, Size: 1, Path: path}}
				ids = append(ids, h.out.Put(d))
			}
		}
		synctest.Wait()
		var got []string
		for _, d := range f.Deliveries() {
			got = append(got, fmt.Sprintf("%s %.20s %d", d.ID, d.Text, len(d.Files)))
		}
		long := "many words many word"
		want := []string{
			ids[0] + " here it is 1", ids[1] + " here it is 0", ids[1] + ".files (The file bad.pdf, 1 0",
			ids[2] + ".1 " + long + " 0", ids[2] + ".2 " + long + " 1",
			ids[3] + ".1 " + long + " 0", ids[3] + ".2 " + long + " 0", ids[3] + ".files (The file bad.pdf, 1 0",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		for _, id := range ids {
			if s := h.out.Row(id).State; s != channels.Sent {
				t.Errorf("%s is %s", id, s)
			}
		}
		h.stopManager(t)
	})
}

func TestManager_TimedOutSend(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*channelstest.Fake) channels.Channel
		want []string
	}{
		{"is marked if the platform cannot tell", func(f *channelstest.Fake) channels.Channel { return f }, []string{"(possibly repeated) hello"}},
		{"is checked if the platform can tell", func(f *channelstest.Fake) channels.Channel { return channelstest.Finding{Fake: f} }, []string{"hello"}},
		{"is sent again where copies are dropped", func(*channelstest.Fake) channels.Channel { return nil }, []string{"hello"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &channelstest.Fake{}
				ch := c.make(f)
				if ch == nil {
					d := channelstest.NewDeduping()
					ch, f = d, d.Fake
				}
				release := f.Stall()
				h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": ch}, channels.Options{SendTimeout: time.Second})
				id := h.out.Put(newDelivery("x", "c", "hello"))
				time.Sleep(time.Second + time.Millisecond)
				synctest.Wait()
				release()
				time.Sleep(time.Minute)
				synctest.Wait()
				h.stopManager(t)
				if d := cmp.Diff(c.want, f.Arrived()); d != "" {
					t.Error(d)
				}
				if s := h.out.Row(id).State; s != channels.Sent {
					t.Errorf("state %s", s)
				}
			})
		})
	}
}

// fileChannel is a channel that accepts files.
type fileChannel struct{ *channelstest.Fake }

func (fileChannel) Attaches() {}

func (fileChannel) Limits() channels.Limits { return channels.Limits{MaxFile: 50 << 20} }

// TestManager_SlowTransferIsNoFailure checks that a slow transfer of a large file is not taken for a failure.
func TestManager_SlowTransferIsNoFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{}
		release := f.Stall()
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": fileChannel{f}}, channels.Options{})
		d := newDelivery("x", "c", "here")
		d.Files = []channels.Attachment{{Name: "film.mp4", Size: 40 << 20, Path: path}}
		h.out.Put(d)
		time.Sleep(5 * time.Minute)
		release()
		time.Sleep(time.Minute)
		h.stopManager(t)
		if d := cmp.Diff([]string{"here"}, f.Arrived()); d != "" {
			t.Error(d)
		}
	})
}

func TestManager_StopWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{}
		release := f.Stall()
		defer release()
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, channels.Options{Grace: time.Second})
		id := h.out.Put(newDelivery("x", "c", "hello"))
		synctest.Wait()
		began := time.Now()
		h.stopManager(t)
		if d := time.Since(began); d != time.Second {
			t.Errorf("stopped after %v, want the grace of 1s", d)
		}
		if r := h.out.Row(id); r.State != channels.Failed || !r.MaybeRepeated {
			t.Errorf("state %s, MaybeRepeated %v; want a retry with the mark", r.State, r.MaybeRepeated)
		}
	})
}

// failingChannel is a channel whose Run fails with an error or a panic.
type failingChannel struct {
	channelstest.Fake
	runs  atomic.Int32
	panic bool
	err   error
}

func (b *failingChannel) Run(context.Context, channels.Receiver) error {
	b.runs.Add(1)
	if b.panic {
		panic("oh no")
	}
	return b.err
}

func TestManager_BrokenChannelsDoNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := &channelstest.Fake{}
		errs, panics := &failingChannel{err: errors.New("lost")}, &failingChannel{panic: true}
		revoked := &failingChannel{err: channels.Errorf(channels.Unauthorized, "the token was revoked")}
		var told []string
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{
			"good": good, "errs": errs, "panics": panics, "revoked": revoked,
		}, channels.Options{
			Failed:  map[string]error{"email": errors.New("no password")},
			Trouble: func(ch string, _ error) { told = append(told, ch) },
		})
		id := h.out.Put(newDelivery("good", "c", "hello"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := h.out.Row(id).State; s != channels.Sent {
			t.Errorf("state of the working channel's text = %s", s)
		}
		for name, b := range map[string]*failingChannel{"errs": errs, "panics": panics} {
			if n := b.runs.Load(); n < 5 || n > 60 {
				t.Errorf("%s was started %d times in an hour", name, n)
			}
		}
		if n := revoked.runs.Load(); n != 1 {
			t.Errorf("the revoked channel was started %d times", n)
		}
		got := map[string]string{}
		for _, s := range h.Status() {
			got[s.Name] = s.State
			if s.Name == "panics" && (!strings.Contains(s.Error, "panic") || strings.Contains(s.Error, "goroutine")) {
				t.Errorf("status after a panic = %q", s.Error)
			}
			if s.Name == "email" && s.Error != "no password" {
				t.Errorf("email: %q", s.Error)
			}
		}
		want := map[string]string{"good": "running", "errs": "waiting", "panics": "waiting", "revoked": "stopped", "email": "failed"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"revoked"}, told); d != "" {
			t.Error(d)
		}
		h.stopManager(t)
	})
}

// remoteChannel is a channel that cannot be reached until up is set.
type remoteChannel struct {
	failingChannel
	up atomic.Bool
}

func (r *remoteChannel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	if !r.up.Load() {
		return channels.Receipt{}, r.err
	}
	return r.failingChannel.Send(ctx, d)
}

// After a night without a network, delivery continues soon after the network is back.
func TestManager_DeliversAfterANightWithoutNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offline := fmt.Errorf("chat: connect: %w", &net.OpError{Op: "dial", Err: errors.New("network is unreachable")})
		b := &remoteChannel{failingChannel: failingChannel{err: offline}}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": b}, channels.Options{})
		id := h.out.Put(newDelivery("x", "c", "hello"))
		time.Sleep(10 * time.Hour)
		n := b.runs.Load()
		b.up.Store(true)
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if b.runs.Load() == n || h.out.Row(id).State != channels.Sent {
			t.Errorf("started %d and %d times, state of the text %s", n, b.runs.Load(), h.out.Row(id).State)
		}
		h.stopManager(t)
	})
}

// talkingChannel passes one message to its receiver and records the result.
type talkingChannel struct {
	channelstest.Fake
	allow []string
	say   channels.Inbound
	acc   channels.Accepted
	err   error
	r     channels.Receiver
}

func (k *talkingChannel) Allow() []string { return k.allow }

func (k *talkingChannel) Run(ctx context.Context, r channels.Receiver) error {
	k.r = r
	k.acc, k.err = r.Receive(ctx, k.say)
	<-ctx.Done()
	return nil
}

func TestManager_AdmitsSenders(t *testing.T) {
	for _, c := range []struct {
		name    string
		allow   []string
		say     channels.Inbound
		session string // "" means refused
	}{
		{"the owner", nil, channels.Inbound{Chat: "7", FromOwner: true}, "x:7"},
		{"the owner in a named session", nil, channels.Inbound{Chat: "7", Session: "work", FromOwner: true}, "work"},
		{"an unknown sender, empty list", nil, channels.Inbound{Chat: "7", Sender: "eve"}, ""},
		{"an unknown sender without a name, list with an empty entry", []string{""}, channels.Inbound{Chat: "7"}, ""},
		{"an unknown sender, other list", []string{"bob"}, channels.Inbound{Chat: "7", Sender: "eve"}, ""},
		{"a guest", []string{"bob"}, channels.Inbound{Chat: "7", Sender: "bob"}, "x:7"},
		{"a guest cannot enter the owner's session", []string{"bob"}, channels.Inbound{Chat: "7", Sender: "bob", Session: "work"}, "x:7"},
		{"a member of a group", []string{"bob"}, channels.Inbound{Chat: "7", Sender: "bob", Group: true, Mentioned: true}, "x:7:bob"},
		{"the owner in a group", nil, channels.Inbound{Chat: "7", Sender: "me", Group: true, Mentioned: true, FromOwner: true}, "x:7:me"},
		{"the owner among others, not to Hob", nil, channels.Inbound{Chat: "7", Sender: "me", Group: true, FromOwner: true}, ""},
		{"a group message without a sender", nil, channels.Inbound{Chat: "7", Group: true, FromOwner: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.say.Text, c.say.Channel = "hi \xff", "forged"
				k := &talkingChannel{allow: c.allow, say: c.say}
				h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, channels.Options{})
				synctest.Wait()
				h.stopManager(t)
				heard := h.inbox.Heard()
				if c.session == "" {
					if !errors.Is(k.err, channels.ErrStranger) || len(heard) != 0 {
						t.Fatalf("error %v, received %d messages", k.err, len(heard))
					}
					return
				}
				if k.err != nil || len(heard) != 1 {
					t.Fatalf("error %v, received %d messages", k.err, len(heard))
				}
				got := heard[0]
				if got.Session != c.session || got.Channel != "x" || got.FromOwner != c.say.FromOwner || got.Text != "hi \uFFFD" {
					t.Errorf("forwarded %+v", got)
				}
			})
		})
	}
}

type pullChannel struct{ channelstest.Fake }

func (*pullChannel) Pull() {}

func TestManager_DoesNotDeliverToPullChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pullChannel{}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"web": p, "x": &channelstest.Fake{}}, channels.Options{})
		h.out.Put(newDelivery("web", "c", "hello"))
		time.Sleep(time.Minute)
		synctest.Wait()
		h.stopManager(t)
		if len(p.Arrived()) != 0 || !h.Pull("web") || h.Pull("x") || h.Pull("nobody") {
			t.Errorf("arrived %q, pull %v %v %v", p.Arrived(), h.Pull("web"), h.Pull("x"), h.Pull("nobody"))
		}
	})
}

// flakyOutbox is an outbox that cannot record outcomes for some time after a text was sent.
type flakyOutbox struct {
	*channelstest.Outbox
	bad atomic.Int32
}

func (f *flakyOutbox) Delivered(ctx context.Context, id string, r channels.Receipt) error {
	if f.bad.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return f.Outbox.Delivered(ctx, id, r)
}

func TestManager_FullDiskRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Fake{}
		out := &flakyOutbox{Outbox: channelstest.NewOutbox()}
		out.bad.Store(4)
		id := out.Put(newDelivery("x", "c", "hello"))
		m, err := channels.New(channels.Options{
			Outbox: out, Receiver: &channelstest.Inbox{}, Log: slog.New(slog.DiscardHandler),
			Channels: map[string]channels.Channel{"x": f},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := len(f.Arrived()); n != 1 || out.Row(id).State != channels.Sent {
			t.Errorf("sent %d times, state %s", n, out.Row(id).State)
		}
	})
}

type driver struct {
	name string
	err  error
}

func (d driver) Describe() channels.Description { return channels.Description{Name: d.name} }

func (d driver) New(decode func(any) error, _ channels.Deps) (channels.Channel, error) {
	if err := decode(nil); err != nil {
		return nil, err
	}
	return &channelstest.Fake{}, d.err
}

func TestOpen(t *testing.T) {
	section := func(name string) (func(any) error, bool) {
		switch name {
		case "absent":
			return nil, false
		case "typo":
			return func(any) error { return errors.New("line 3: unknown key") }, true
		}
		return func(any) error { return nil }, true
	}
	opened, failed := channels.Open([]channels.Driver{
		driver{name: "ok"},
		driver{name: "absent"},
		driver{name: "typo"},
		driver{name: "broken", err: errors.New("no url")},
	}, section, func(string) channels.Deps { return channels.Deps{} })
	if len(opened) != 1 || opened["ok"] == nil {
		t.Errorf("opened %v", opened)
	}
	got := map[string]string{}
	for name, err := range failed {
		got[name] = err.Error()
	}
	want := map[string]string{"typo": "channels: typo: line 3: unknown key", "broken": "channels: broken: no url"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNew_RejectsEmptyOptions(t *testing.T) {
	if _, err := channels.New(channels.Options{}); err == nil {
		t.Error("New accepts empty options")
	}
}
