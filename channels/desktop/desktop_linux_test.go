package desktop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/desktop"
	"hob/platform/host/desktop/desktoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is a Buttons with its own questions.
type engine struct {
	mu       sync.Mutex
	open     string
	answered []string
	slow     int // number of presses that come too quickly
	err      error
	ended    map[string]chan struct{} // keyed by question; closed when the question is answered elsewhere
}

func (e *engine) Asked(context.Context, channels.Delivery) (string, error) { return e.open, nil }

func (e *engine) Open(context.Context, channels.Delivery) (string, error) { return e.open, nil }

func (e *engine) Spoken(context.Context, string, channels.Delivery) (string, error) {
	return e.open, nil
}

func (e *engine) Press(context.Context, channels.ButtonPress) (string, error) {
	return "", channels.ErrNotOwner
}

func (e *engine) Answer(_ context.Context, channel, q string, shown time.Time, yes bool) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(shown) > time.Minute {
		return "", errors.New("idle time unknown")
	}
	if e.slow > 0 {
		e.slow--
		return "", channels.ErrQuick
	}
	e.answered = append(e.answered, fmt.Sprint(channel, " ", q, " ", yes))
	return "Thank you. Going on: <tidy>", e.err
}

func (e *engine) Ended(ctx context.Context, q string) error {
	select {
	case <-e.ended[q]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *engine) Later(_ context.Context, delivery string) (string, error) {
	return "again in an hour: " + delivery, nil
}

func (e *engine) CanCancel(_ context.Context, d channels.Delivery) (bool, error) {
	return d.Event == "sends", nil
}

func (e *engine) Cancel(_ context.Context, channel, event string) (string, error) {
	return channel + " cancels " + event, nil
}

func (e *engine) Trusted(int) error { return nil }

func (e *engine) Page(session string) string { return "http://127.0.0.1:7777/#" + session }

func (e *engine) listDecisions() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.answered)
}

// screen is a desktop on which the channel runs.
type screen struct {
	*desktoptest.Server
	bus *desktoptest.Bus
	ch  *desktop.Channel
}

func openScreen(t *testing.T, c desktop.Config, b channels.ButtonHandler, caps ...string) *screen {
	t.Helper()
	bus := desktoptest.NewBus(t)
	s := &screen{Server: desktoptest.NewServer(t, bus, caps...), bus: bus}
	s.ch = runChannel(t, c, b, bus.Getenv)
	return s
}

func runChannel(t *testing.T, c desktop.Config, b channels.ButtonHandler, getenv func(string) string) *desktop.Channel {
	t.Helper()
	ch, err := desktop.New(c, channels.Deps{Buttons: b}, desktop.Options{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return ch
}

// Arrived implements channelstest.Platform.
func (s *screen) Arrived() []string {
	var out []string
	for _, n := range s.All() {
		out = append(out, strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(n.Body))
	}
	return out
}

// Folds implements channelstest.Folder.
func (*screen) Folds() {}

// Fail implements channelstest.Platform.
func (s *screen) Fail(c channels.Class, n int) bool {
	switch c {
	case channels.Temporary:
		s.Server.Fail("org.freedesktop.Notifications.Error.ExcessNotificationGeneration", n)
	case channels.Permanent:
		s.Server.Fail("org.freedesktop.DBus.Error.InvalidArgs", n)
	default:
		return false
	}
	return true
}

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		s := openScreen(t, desktop.Config{}, &engine{}, "actions", "body", "body-markup")
		return s.ch, s
	})
}

func (s *screen) sendText(t *testing.T, id string, kind channels.DeliveryKind, text string) {
	t.Helper()
	_, err := s.ch.Send(t.Context(), channels.Delivery{ID: id, Event: "e" + id, Kind: kind, Session: "s 1", Channel: "desktop", Text: text})
	if err != nil {
		t.Fatal(err)
	}
}

const asked = "May I do this? run_command tidy\n  exactly: {\"cmd\":\"tidy\"}\n  reply /yes 1a2b3c4d or /no 1a2b3c4d"

func TestQuestion_IsAnsweredByAPress(t *testing.T) {
	for _, yes := range []bool{true, false} {
		e := &engine{open: "1a2b3c4d"}
		s := openScreen(t, desktop.Config{}, e, "actions")
		s.sendText(t, "d1", channels.Question, asked)
		n := s.Last(t, 1)
		if n.Title != "Hob asks" || n.Hints["urgency"].Value() != byte(2) ||
			!slices.Equal(n.Actions, []string{"default", "Open", "yes 1a2b3c4d", "Approve", "no 1a2b3c4d", "Deny", "open", "Open"}) {
			t.Fatalf("shown %+v", n)
		}
		key := map[bool]string{true: "yes 1a2b3c4d", false: "no 1a2b3c4d"}[yes]
		s.Press(n.ID, key)
		if told := s.Last(t, 2); told.Body != "Thank you. Going on: <tidy>" || told.Hints["transient"].Value() != true {
			t.Errorf("notification = %+v", told)
		}
		if want := []string{fmt.Sprint("desktop 1a2b3c4d ", yes)}; !slices.Equal(e.listDecisions(), want) {
			t.Errorf("decided %q, want %q", e.listDecisions(), want)
		}
	}
}

// A question that is answered elsewhere or has expired is removed from the screen, and no other
// notification is.
func TestQuestion_IsRemovedWhenAnsweredElsewhere(t *testing.T) {
	e := &engine{open: "1a2b3c4d", ended: map[string]chan struct{}{"1a2b3c4d": make(chan struct{}), "5e6f7a8b": make(chan struct{})}}
	s := openScreen(t, desktop.Config{}, e, "actions")
	s.sendText(t, "d1", channels.Question, asked)
	first := s.Last(t, 1).ID
	e.open = "5e6f7a8b"
	s.sendText(t, "d2", channels.Question, asked)
	second := s.Last(t, 2).ID
	s.sendText(t, "d3", channels.Notice, "news")
	close(e.ended["5e6f7a8b"])
	s.Withdrawn(t, 1)
	close(e.ended["1a2b3c4d"])
	if got := s.Withdrawn(t, 2); !slices.Equal(got, []uint32{second, first}) {
		t.Errorf("withdrawn notifications = %v, want %v", got, []uint32{second, first})
	}
}

// When Hob stops, a question stays on the screen without buttons and says where it can be answered,
// because a press after that would have no effect.
func TestQuestion_HasNoButtonsAfterAStop(t *testing.T) {
	bus := desktoptest.NewBus(t)
	s := &screen{Server: desktoptest.NewServer(t, bus, "actions"), bus: bus}
	ch, err := desktop.New(desktop.Config{}, channels.Deps{Buttons: &engine{open: "1a2b3c4d"}}, desktop.Options{Getenv: bus.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	s.ch = ch
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, nil) }()
	s.sendText(t, "d1", channels.Question, asked)
	s.sendText(t, "d2", channels.Notice, "news")
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	all := s.All()
	last := all[len(all)-1]
	if len(all) != 3 || last.Replaces != all[0].ID || len(last.Actions) > 0 || !strings.Contains(last.Body, "hob approve") || !strings.HasPrefix(last.Body, asked) {
		t.Errorf("%d notifications, last one %+v", len(all), last)
	}
}

// TestQuestion_OtherPressesDecideNothing: a press has no effect if its key was not shown, if it is on
// another question or on a notification that is not a question, or if it comes from another
// program.
func TestQuestion_OtherPressesDecideNothing(t *testing.T) {
	e := &engine{open: "1a2b3c4d"}
	s := openScreen(t, desktop.Config{}, e, "actions")
	s.sendText(t, "d1", channels.Question, asked)
	s.sendText(t, "d2", channels.Notice, "yes 1a2b3c4d")
	q, n := s.All()[0], s.All()[1]
	other := s.bus.Conn(t)
	for _, key := range []string{"yes", "yes ", "yes 99999999", "no", "all-1a2b3c4d", "1a2b3c4d", "YES 1a2b3c4d", "yes 1a2b3c4d "} {
		emitAction(t, other, q.ID, "yes 1a2b3c4d")
		s.Only(q.ID, key)
	}
	s.Only(n.ID, "yes 1a2b3c4d")
	s.Only(99, "yes 1a2b3c4d")
	s.Only(q.ID, "no 1a2b3c4d") // the only press that counts
	s.Last(t, 3)
	if got := e.listDecisions(); !slices.Equal(got, []string{"desktop 1a2b3c4d false"}) {
		t.Errorf("decided %q", got)
	}
}

func emitAction(t *testing.T, c *dbus.Conn, id uint32, key string) {
	t.Helper()
	if err := c.Emit("/org/freedesktop/Notifications", desktoptest.Name+".ActionInvoked", id, key); err != nil {
		t.Fatal(err)
	}
}

// TestQuestion_HasButtonsOnlyIfFullyShown: a notification has buttons only if it contains the complete
// question and only one question is open.
func TestQuestion_HasButtonsOnlyIfFullyShown(t *testing.T) {
	off := false
	for name, c := range map[string]struct {
		conf desktop.Config
		open string
		text string
		want int // actions, in pairs
	}{
		"one question":             {desktop.Config{}, "1a2b3c4d", asked, 8},
		"several, or decided":      {desktop.Config{}, "", asked, 4},
		"a long one":               {desktop.Config{}, "1a2b3c4d", strings.Repeat("x ", 400) + asked, 4},
		"one below the edge":       {desktop.Config{}, "1a2b3c4d", "harmless" + strings.Repeat("\n", 40) + "rm -rf ~", 4},
		"buttons are switched off": {desktop.Config{Buttons: &off}, "1a2b3c4d", asked, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := openScreen(t, c.conf, &engine{open: c.open}, "actions")
			s.sendText(t, "d1", channels.Question, c.text)
			n := s.Last(t, 1)
			if len(n.Actions) != c.want {
				t.Errorf("actions %q, want %d", n.Actions, c.want)
			}
			if cut := len(n.Body) < len(c.text); cut != strings.HasSuffix(n.Body, "(open to read the rest)") {
				t.Errorf("body %q", n.Body)
			}
		})
	}
}

func TestQuestion_ReportsAnIneffectivePress(t *testing.T) {
	e := &engine{open: "1a2b3c4d", err: errors.New("this question was already answered")}
	s := openScreen(t, desktop.Config{}, e, "actions")
	s.sendText(t, "d1", channels.Question, asked)
	s.Press(s.Last(t, 1).ID, "yes 1a2b3c4d")
	if told := s.Last(t, 2); told.Title != "That did not work" || told.Body != "this question was already answered" {
		t.Errorf("notification = %+v", told)
	}
}

// TestQuestion_IgnoresAQuickPress: a press before a person could have read the question does not count, and the
// question is shown again.
func TestQuestion_IgnoresAQuickPress(t *testing.T) {
	e := &engine{open: "1a2b3c4d", slow: 2}
	s := openScreen(t, desktop.Config{}, e, "actions")
	s.sendText(t, "d1", channels.Question, asked)
	for n := 1; n < 3; n++ {
		s.Press(s.Last(t, n).ID, "yes 1a2b3c4d")
		if q := s.Last(t, n+1); !strings.Contains(q.Title, "too soon") || q.Body != asked || len(q.Actions) != 8 {
			t.Fatalf("shown %+v", q)
		}
	}
	s.Press(s.Last(t, 3).ID, "yes 1a2b3c4d")
	if told := s.Last(t, 4); told.Body != "Thank you. Going on: <tidy>" {
		t.Errorf("notification = %+v", told)
	}
}

func TestNotice_CanBeSnoozed(t *testing.T) {
	s := openScreen(t, desktop.Config{}, &engine{}, "actions")
	s.sendText(t, "d1", channels.Notice, "news")
	n := s.Last(t, 1)
	if !slices.Contains(n.Actions, "In an hour") {
		t.Errorf("actions %q", n.Actions)
	}
	s.Press(n.ID, "later")
	if told := s.Last(t, 2); told.Body != "again in an hour: d1" {
		t.Errorf("notification = %+v", told)
	}
}

// portal is the desktop's own service for opening addresses.
type portal struct{ opened chan string }

func (p portal) OpenURI(_, address string, _ map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	p.opened <- address
	return "/x", nil
}

func TestNotice_OpensThePage(t *testing.T) {
	s := openScreen(t, desktop.Config{}, &engine{}, "actions")
	s.sendText(t, "d1", channels.Notice, "see https://example.org/evil")
	s.Press(s.Last(t, 1).ID, "default")
	if told := s.Last(t, 2); !strings.Contains(told.Body, "hob open") { // no portal
		t.Errorf("notification = %+v", told)
	}
	p := portal{make(chan string, 1)}
	conn := s.bus.Conn(t)
	if err := conn.Export(p, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.portal.Desktop", 0); err != nil {
		t.Fatal(err)
	}
	s.sendText(t, "d2", channels.Notice, "again")
	s.Press(s.Last(t, 3).ID, "open")
	select {
	case got := <-p.opened:
		if got != "http://127.0.0.1:7777/#s 1" {
			t.Errorf("opened %q, want Hob's own page", got)
		}
	case <-time.After(60 * time.Second):
		t.Error("the page was not opened")
	}
}

func TestBurst_FoldsNotices(t *testing.T) {
	s := openScreen(t, desktop.Config{Burst: 3}, &engine{open: "1a2b3c4d"}, "actions")
	for i := range 50 {
		s.sendText(t, fmt.Sprint("d", i), channels.Notice, fmt.Sprintf("news %d\nmore of it", i))
	}
	s.sendText(t, "q1", channels.Question, asked)
	ids := map[uint32]desktoptest.Shown{}
	var fold desktoptest.Shown
	for _, n := range s.All() {
		ids[n.ID] = n
		if strings.Contains(n.Title, "more") {
			fold = n
		}
	}
	if len(ids) != 5 { // three separate notifications, the combined one and the question
		t.Errorf("%d bubbles", len(ids))
	}
	if fold.Title != "Hob: 47 more notifications" || fold.Body != "• news 45\n• news 46\n• news 47\n• news 48\n• news 49\nand 42 earlier" {
		t.Errorf("folded %q\n%s", fold.Title, fold.Body)
	}
	if q := s.Last(t, 51); len(q.Actions) != 8 {
		t.Errorf("question after the burst: %+v", q)
	}
	for i := range 5 {
		s.sendText(t, fmt.Sprint("q", i+2), channels.Question, asked)
	}
	if q := s.Last(t, 56); q.Title != "Hob: 3 more questions for you" || strings.Contains(strings.Join(q.Actions, ","), "yes") {
		t.Errorf("folded questions: %+v", q)
	}
}

func TestSend_FailsWithoutANotificationServer(t *testing.T) {
	bus := desktoptest.NewBus(t)
	for name, getenv := range map[string]func(string) string{"no session": func(string) string { return "" }, "no server": bus.Getenv} {
		t.Run(name, func(t *testing.T) {
			ch := runChannel(t, desktop.Config{}, nil, getenv)
			_, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Kind: channels.Notice, Text: "x"})
			if channels.ClassOf(err) != channels.Permanent {
				t.Errorf("error %v of class %d, want a permanent error so that another channel sends it", err, channels.ClassOf(err))
			}
		})
	}
	ch := runChannel(t, desktop.Config{}, nil, bus.Getenv)
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Kind: channels.Send, Text: "x"}); channels.ClassOf(err) != channels.Unsupported {
		t.Errorf("Send to another person = %v, want unsupported", err)
	}
}

func TestNew_RejectsWrongBurst(t *testing.T) {
	for _, n := range []int{-1, 31} {
		if _, err := desktop.New(desktop.Config{Burst: n}, channels.Deps{}, desktop.Options{}); err == nil {
			t.Errorf("New accepts burst = %d", n)
		}
	}
}

// TestRun_StartsNoGoroutineWhenIdle: while there is nothing to show, no goroutine runs except that of Run.
func TestRun_StartsNoGoroutineWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, err := desktop.New(desktop.Config{}, channels.Deps{}, desktop.Options{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := ch.Run(ctx, nil); err != nil {
			t.Error(err)
		}
	})
}

// A notification about a send that can still be canceled has a button for that.
func TestSend_HasACancelButton(t *testing.T) {
	s := openScreen(t, desktop.Config{}, &engine{}, "actions")
	s.sendText(t, "d1", channels.Reply, "an answer")
	if n := s.Last(t, 1); slices.Contains(n.Actions, "Cancel sending") {
		t.Errorf("actions %q", n.Actions)
	}
	if _, err := s.ch.Send(t.Context(), channels.Delivery{ID: "d2", Event: "sends", Kind: channels.Reply, Text: "The mail will be sent at 10:00:00"}); err != nil {
		t.Fatal(err)
	}
	n := s.Last(t, 2)
	if !slices.Contains(n.Actions, "Cancel sending") {
		t.Errorf("actions %q", n.Actions)
	}
	s.Press(n.ID, "undo")
	if told := s.Last(t, 3); told.Body != "desktop cancels sends" {
		t.Errorf("notification = %+v", told)
	}
}
