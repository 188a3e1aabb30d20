package desktop_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/platform/host/desktop"
	"hob/platform/host/desktop/desktoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openClient returns a NotificationClient on the bus, with a channel for its events.
func openClient(t *testing.T, b *desktoptest.Bus, o desktop.Options) (*desktop.NotificationClient, <-chan desktop.Event) {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = b.Getenv
	}
	n := desktop.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan desktop.Event, 100), make(chan error, 1)
	go func() { done <- n.Run(ctx, func(e desktop.Event) { events <- e }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return n, events
}

func awaitEvent(t *testing.T, events <-chan desktop.Event) desktop.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(60 * time.Second):
		t.Fatal("no event was received")
		return desktop.Event{}
	}
}

func checkNoEvent(t *testing.T, events <-chan desktop.Event) {
	t.Helper()
	select {
	case e := <-events:
		t.Errorf("unexpected event: %+v", e)
	default:
	}
}

func newQuestion(id string) desktop.Notification {
	return desktop.Notification{ID: id, Title: "Hob asks", Body: "May I?", Urgency: desktop.Critical, Actions: []desktop.Action{{Key: "yes", Label: "Approve"}, {Key: "no", Label: "Deny"}}}
}

func TestNotify(t *testing.T) {
	b := desktoptest.NewBus(t)
	s := desktoptest.NewServer(t, b, "actions", "body", "body-markup")
	n, events := openClient(t, b, desktop.Options{})
	srv, err := n.Server(t.Context())
	if err != nil || !srv.Actions || !srv.Sure || srv.Name != "test server" {
		t.Fatalf("server: %+v, %v", srv, err)
	}
	q := newQuestion("q1")
	q.Title, q.Body = "Hob\nasks", "<b>bold</b> & \x1b[31mred \u202egpj.exe\nnext"
	if err := n.Notify(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	got := s.Last(t, 1)
	if got.Title != "Hob asks" || got.Body != "&lt;b&gt;bold&lt;/b&gt; &amp; \uFFFD[31mred \uFFFDgpj.exe\nnext" {
		t.Errorf("shown %q, %q", got.Title, got.Body)
	}
	if !slices.Equal(got.Actions, []string{"yes", "Approve", "no", "Deny"}) || got.Hints["urgency"].Value() != byte(2) || got.Timeout != -1 {
		t.Errorf("shown %+v", got)
	}
	s.Press(got.ID, "yes")
	if e := awaitEvent(t, events); e != (desktop.Event{Note: "q1", Pressed: "yes"}) {
		t.Errorf("event %+v", e)
	}
	if e := awaitEvent(t, events); e != (desktop.Event{Note: "q1", Closed: desktop.Dismissed}) {
		t.Errorf("event %+v", e)
	}
}

func TestNotify_ReplacesAndWithdraws(t *testing.T) {
	b := desktoptest.NewBus(t)
	s := desktoptest.NewServer(t, b)
	n, events := openClient(t, b, desktop.Options{})
	for i, note := range []desktop.Notification{{ID: "a", Body: "1 < 2"}, {ID: "a", Body: "again"}, {ID: "a", Body: "other", Actions: newQuestion("").Actions}} {
		if err := n.Notify(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		got := s.Last(t, i+1)
		if got.ID != 1 || got.Body != note.Body || len(got.Actions) > 0 { // this server supports neither markup nor buttons
			t.Errorf("shown %+v, sent %+v", got, note)
		}
	}
	if err := n.Withdraw(t.Context(), "b"); err != nil { // no such notification
		t.Error(err)
	}
	checkNoEvent(t, events)
	if err := n.Withdraw(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if e := awaitEvent(t, events); e != (desktop.Event{Note: "a", Closed: desktop.Withdrawn}) {
		t.Errorf("event %+v", e)
	}
}

// TestNotify_IgnoresSignalsOfOtherPrograms checks that signals from other programs of the session are ignored, for
// every id and key, even after a program took over the server's name.
func TestNotify_IgnoresSignalsOfOtherPrograms(t *testing.T) {
	b := desktoptest.NewBus(t)
	s := desktoptest.NewServer(t, b, "actions")
	n, events := openClient(t, b, desktop.Options{})
	if err := n.Notify(t.Context(), newQuestion("q1")); err != nil {
		t.Fatal(err)
	}
	id := s.Last(t, 1).ID
	other := b.Conn(t)
	for i := range uint32(20) {
		if err := other.Emit("/org/freedesktop/Notifications", desktoptest.Name+".ActionInvoked", i, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	thief := desktoptest.NewServer(t, b, "actions") // takes the name
	thief.Press(id, "yes")
	if e := awaitEvent(t, events); e != (desktop.Event{Note: "q1", Closed: desktop.Gone}) {
		t.Errorf("event %+v, want only that the notification is gone", e)
	}
	s.Press(id, "yes") // s no longer owns the server's name
	if err := n.Notify(t.Context(), newQuestion("q2")); err != nil {
		t.Fatal(err)
	}
	thief.Press(thief.Last(t, 1).ID, "no")
	if e := awaitEvent(t, events); e != (desktop.Event{Note: "q2", Pressed: "no"}) {
		t.Errorf("event %+v, want the press of the new server's note alone", e)
	}
}

func TestNotify_PressBeforeTheReply(t *testing.T) {
	b := desktoptest.NewBus(t)
	s := desktoptest.NewServer(t, b, "actions")
	s.Faster("no")
	n, events := openClient(t, b, desktop.Options{})
	if err := n.Notify(t.Context(), newQuestion("q1")); err != nil {
		t.Fatal(err)
	}
	if e := awaitEvent(t, events); e.Pressed != "no" || e.Note != "q1" {
		t.Errorf("event %+v", e)
	}
}

func TestNotify_ServerRestarts(t *testing.T) {
	b := desktoptest.NewBus(t)
	n, events := openClient(t, b, desktop.Options{})
	if err := n.Notify(t.Context(), newQuestion("q0")); !errors.Is(err, desktop.ErrNoServer) || !strings.Contains(err.Error(), "dunst") {
		t.Fatalf("no server: %v, want ErrNoServer with a remedy", err)
	}
	for i := range 3 {
		s := desktoptest.NewServer(t, b, "actions")
		if err := n.Notify(t.Context(), newQuestion("q")); err != nil {
			t.Fatalf("server %d: %v", i, err)
		}
		s.Last(t, 1)
		s.Stop()
		if e := awaitEvent(t, events); e != (desktop.Event{Note: "q", Closed: desktop.Gone}) {
			t.Errorf("event %+v", e)
		}
	}
}

func TestNotify_BusRestarts(t *testing.T) {
	var b *desktoptest.Bus
	n, events := openClient(t, nil, desktop.Options{Getenv: func(key string) string {
		if b == nil {
			return ""
		}
		return b.Getenv(key)
	}})
	if err := n.Notify(t.Context(), newQuestion("q0")); !errors.Is(err, desktop.ErrNoSession) || !strings.Contains(err.Error(), "systemd user service") {
		t.Fatalf("no bus: %v, want ErrNoSession with a remedy", err)
	}
	for range 2 {
		b = desktoptest.NewBus(t)
		desktoptest.NewServer(t, b, "actions")
		if err := n.Notify(t.Context(), newQuestion("q")); err != nil {
			t.Fatal(err)
		}
		b.Stop()
		if e := awaitEvent(t, events); e != (desktop.Event{Note: "q", Closed: desktop.Gone}) {
			t.Errorf("event %+v", e)
		}
	}
	if err := n.Notify(t.Context(), newQuestion("q")); !errors.Is(err, desktop.ErrNoSession) {
		t.Errorf("Notify on a bus that has ended = %v", err)
	}
}

func TestFailures(t *testing.T) {
	b := desktoptest.NewBus(t)
	s := desktoptest.NewServer(t, b)
	n, _ := openClient(t, b, desktop.Options{Wait: time.Second})
	s.Fail("org.freedesktop.Notifications.MaxNotificationsExceeded", 1)
	if err := n.Notify(t.Context(), newQuestion("q")); err == nil || errors.Is(err, desktop.ErrUnsure) {
		t.Errorf("refused: %v", err)
	}
	defer s.Stall()()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := n.Notify(ctx, newQuestion("q")); !errors.Is(err, desktop.ErrUnsure) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stalled: %v", err)
	}
}

// TestNotify_RejectsAServerOfHob checks that a notification server started by Hob is rejected: it could press the
// buttons that it shows.
func TestNotify_RejectsAServerOfHob(t *testing.T) {
	b := desktoptest.NewBus(t)
	desktoptest.NewServer(t, b, "actions")
	n, _ := openClient(t, b, desktop.Options{Trust: func(pid int) error {
		if pid == os.Getpid() {
			return errors.New("Hob has started it")
		}
		return nil
	}})
	if err := n.Notify(t.Context(), newQuestion("q")); !errors.Is(err, desktop.ErrNoServer) || !strings.Contains(err.Error(), "Hob has started it") {
		t.Errorf("server that Hob started: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing":           {nil, false},
		"a socket":          {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x/bus,guid=1"}, true},
		"a program to run":  {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unixexec:path=/bin/sh"}, false},
		"to be launched":    {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"}, false},
		"another machine":   {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "tcp:host=example.org,port=1"}, false},
		"no socket":         {map[string]string{"XDG_RUNTIME_DIR": dir}, false},
		"a relative folder": {map[string]string{"XDG_RUNTIME_DIR": "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := desktop.Available(func(k string) string { return c.env[k] }); got != c.want {
				t.Errorf("available: %v, want %v", got, c.want)
			}
		})
	}
}
