package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
)

func receivedTexts(b *channelstest.Inbox) (out []string) {
	for _, in := range b.Heard() {
		out = append(out, in.Text)
	}
	return out
}

func TestHistory(t *testing.T) {
	a := telegramtest.New(t)
	a.Write("before the first start")
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	awaitListening(t, a)
	a.Write("one")
	channelstest.Until(t, "the first message", func() bool { return len(inbox.Heard()) == 1 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	a.Write("while it was off")
	end = channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "two messages", func() bool { return len(inbox.Heard()) == 2 })
	a.Write("three")
	channelstest.Until(t, "three messages", func() bool { return len(inbox.Heard()) == 3 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "while it was off", "three"}, receivedTexts(inbox)); diff != "" {
		t.Error(diff)
	}
	in := inbox.Heard()[0]
	if in.Chat != "7" || in.Sender != "7" || in.SenderName != "Ada L" || in.Group || in.Forwarded || !strings.HasPrefix(in.Key, "7/") || in.At.Unix() != 1700000000 {
		t.Errorf("received %+v", in)
	}
	if n := len(a.Commands); n < 10 || a.Called("setMyCommands") != 1 {
		t.Errorf("%d commands were announced in %d calls, want one", n, a.Called("setMyCommands"))
	}
}

// killedServer simulates a process that is killed after a number of operations: as Keeper and Receiver it
// stores nothing afterwards.
type killedServer struct {
	*channelstest.Keeper
	mu    sync.Mutex
	left  int // operations until the kill
	dead  func()
	keys  map[string]bool
	order *[]string
}

var errKilled = errors.New("killed")

func (d *killedServer) countStep() error {
	if d.left--; d.left < 0 {
		d.dead()
		return errKilled
	}
	return nil
}

func (d *killedServer) Set(ctx context.Context, key string, v []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.countStep(); err != nil {
		return err
	}
	return d.Keeper.Set(ctx, key, v)
}

func (d *killedServer) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.countStep(); err != nil {
		return channels.Accepted{}, err
	}
	if !d.keys[in.Key] {
		d.keys[in.Key] = true
		*d.order = append(*d.order, in.Text)
	}
	return channels.Accepted{}, nil
}

// TestRun_Killed checks that after a kill at any moment each message is received once and in order.
func TestRun_Killed(t *testing.T) {
	a := telegramtest.New(t)
	keeper, keys := &channelstest.Keeper{}, map[string]bool{}
	var order, want []string
	first := &killedServer{Keeper: keeper, left: 2, dead: func() {}, keys: keys, order: &order} // stores the initial offset
	a.Deps.Keep = first
	end := channelstest.Running(t, a.Open(), first)
	awaitListening(t, a)
	_ = end()
	rnd := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range 60 {
		for range rnd.IntN(4) {
			text := fmt.Sprint("message ", total)
			a.Write(text)
			want = append(want, text)
			total++
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		d := &killedServer{Keeper: keeper, left: rnd.IntN(6), dead: cancel, keys: keys, order: &order}
		a.Deps.Keep = d
		ch := a.Open()
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, d) }()
		channelstest.Until(t, "the server to be killed or to deliver all messages", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.left < 0 || len(order) == len(want)
		})
		cancel()
		<-done
	}
	inbox := &killedServer{Keeper: keeper, left: 1 << 30, dead: func() {}, keys: keys, order: &order}
	a.Deps.Keep = inbox
	end = channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "all are read", func() bool { inbox.mu.Lock(); defer inbox.mu.Unlock(); return len(order) >= len(want) })
	_ = end()
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestRun_ReceivesARefusedMessageAgain(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	awaitListening(t, a)
	inbox.Refuse(errors.New("the disk is full"))
	polls := a.Called("getUpdates")
	a.Write("one")
	channelstest.Until(t, "the refused message to be offered again", func() bool { return a.Called("getUpdates") > polls+2 })
	inbox.Refuse(channels.ErrStranger)
	polls = a.Called("getUpdates")
	channelstest.Until(t, "a stranger is passed", func() (passed bool) {
		a.With(func() { passed = a.Calls["getUpdates"] > polls && len(a.Updates) == 0 })
		return passed
	})
	inbox.Refuse(nil)
	a.Write("two")
	channelstest.Until(t, "the second message", func() bool { return slices.Equal(receivedTexts(inbox), []string{"two"}) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestTroubleWhilePolling(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	ch := a.Open()
	if got := ch.DescribeStatus(); got != "not connected yet" {
		t.Error(got)
	}
	end := channelstest.Running(t, ch, inbox)
	awaitListening(t, a)
	a.With(func() {
		a.PollFails = []func(http.ResponseWriter){
			func(w http.ResponseWriter) {
				telegramtest.Refuse(w, 429, "Too Many Requests: retry after 1", object{"retry_after": 1})
			},
			func(w http.ResponseWriter) { http.Error(w, "down", http.StatusBadGateway) },
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"ok":true,"result":[{"upd`) },
			func(w http.ResponseWriter) {
				telegramtest.Refuse(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			},
			func(w http.ResponseWriter) {
				telegramtest.Grant(w, []any{"x", object{"no": "id"}})
			},
			func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		}
	})
	var want []string
	for i := range 250 {
		if i == 100 {
			a.Add("message", object{"text": 3}) // an invalid message
		}
		want = append(want, fmt.Sprint("m", i))
		a.Write(want[i])
	}
	channelstest.Until(t, "all messages", func() bool { return len(inbox.Heard()) >= len(want) })
	if got := ch.DescribeStatus(); !regexp.MustCompile(`^connected as @HobBot for [0-9hms]+; in groups`).MatchString(got) {
		t.Error(got)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, receivedTexts(inbox)); diff != "" {
		t.Error(diff)
	}
}

func TestRun_FloodAndOutage(t *testing.T) {
	a := telegramtest.New(t)
	inbox := &channelstest.Inbox{}
	end := channelstest.Running(t, a.Open(), inbox)
	awaitListening(t, a)
	down := make([]func(http.ResponseWriter), 12)
	for i := range down {
		down[i] = func(w http.ResponseWriter) { http.Error(w, "", http.StatusServiceUnavailable) }
	}
	var want []string
	a.With(func() { a.PollFails = down })
	for i := range 450 {
		want = append(want, fmt.Sprint("m", i))
		a.Write(want[i])
	}
	channelstest.Until(t, "all messages", func() bool { return len(inbox.Heard()) >= len(want) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, receivedTexts(inbox)); diff != "" {
		t.Error(diff)
	}
}

func TestRun_StaleOffset(t *testing.T) {
	a := telegramtest.New(t)
	old := fmt.Sprintf(`{"next":900000,"at":%d}`, time.Now().Add(-8*24*time.Hour).Unix())
	if err := a.Deps.Keep.Set(t.Context(), "offset", []byte(old)); err != nil {
		t.Fatal(err)
	}
	a.Write("after a week of silence")
	inbox := &channelstest.Inbox{}
	channelstest.Running(t, a.Open(), inbox)
	channelstest.Until(t, "the message", func() bool { return len(inbox.Heard()) == 1 })
}

func TestNew_NeedsAnOwner(t *testing.T) {
	a := telegramtest.New(t)
	a.With(func() { a.Webhook = "https://other.example/hook/with/secret" })
	ch := a.Open()
	// A webhook from before Hob's first start is removed when the channel starts, but not by Test.
	if said, err := ch.Test(t.Context()); err != nil || !strings.Contains(said, "a webhook at other.example") || strings.Contains(said, "with/secret") || a.Called("deleteWebhook") != 0 {
		t.Errorf("Test: %q, %v", said, err)
	}
	inbox := &channelstest.Inbox{}
	a.Write("to the webhook")
	end := channelstest.Running(t, ch, inbox)
	awaitListening(t, a)
	a.Write("to Hob")
	channelstest.Until(t, "the message to Hob", func() bool { return slices.Equal(receivedTexts(inbox), []string{"to Hob"}) })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	// The owner must decide about a webhook that was set later.
	a.With(func() { a.Webhook = "https://other.example/hook/with/secret" })
	err := ch.Run(t.Context(), inbox)
	if err == nil || !strings.Contains(err.Error(), "deleteWebhook") || a.Called("deleteWebhook") != 1 {
		t.Errorf("Run: %v", err)
	}
	if said, err := ch.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "other.example") || strings.Contains(err.Error(), "with/secret") {
		t.Errorf("Test: %q, %v", said, err)
	}
	a.With(func() { a.Webhook = "" })
	if said, err := ch.Test(t.Context()); err != nil || !strings.HasPrefix(said, "signed in as @HobBot; in groups it receives only") {
		t.Errorf("Test: %q, %v", said, err)
	}
	a.With(func() { a.ReadsAll = true })
	if said, err := ch.Test(t.Context()); err != nil || !strings.Contains(said, "receives all") {
		t.Errorf("Test: %q, %v", said, err)
	}
	ch, err = telegram.New(telegram.Config{Token: "99:wrongwrongwrong"}, a.Deps, a.Options())
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Run(t.Context(), &channelstest.Inbox{}); channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "hob channel add telegram") {
		t.Errorf("Run: %v", err)
	}
}
