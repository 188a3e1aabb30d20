package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/autonomy/notify"
	"hob/platform/host/desktop/desktoptest"
)

// A notification that the owner requests is shown at once, with Hob as its sender.
func TestSendNotification(t *testing.T) {
	bus := desktoptest.NewBus(t)
	screen := desktoptest.NewServer(t, bus, "actions", "body")
	home, paths := bus.Home(t)
	h := openWith(t, home, Options{Paths: paths, Screen: true, Started: func() (bool, error) { return false, nil }},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
	if said := h.askHob("show a notification saying the tea is ready"); !strings.Contains(said, "Showed the notification") {
		t.Errorf("reply = %q", said)
	}
	if n := screen.Last(t, 1); n.Title != "Hob" || n.Body != "the tea is ready" || len(n.Actions) != 0 {
		t.Errorf("shown %+v", n)
	}
}

// Hob shows the approval requests for its own actions on the desktop, and a click there answers
// them, except while a program that Hob started is running.
func TestDesktop(t *testing.T) {
	bus := desktoptest.NewBus(t)
	screen := desktoptest.NewServer(t, bus, "actions", "body")
	home, paths := bus.Home(t)
	var started atomic.Bool
	h := openWith(t, home, Options{Paths: paths, Desktop: true, Quick: time.Nanosecond, Started: func() (bool, error) { return started.Load(), nil }},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[notify]\nchannel = \"desktop\"\n"+
			"[triggers.tidy]\naction = \"forget about the gate\"\n")
	h.askHob("remember that the gate is green")
	fire := func() {
		t.Helper()
		if code, body := h.callAPI(http.MethodPost, "/api/v1/triggers/tidy/fire", map[string]string{}); code >= 300 {
			t.Fatalf("%d %s", code, body)
		}
	}
	open := func() int {
		list, err := h.d.guard.Approvals(t.Context(), "pending", "", "", 9)
		failOnError(t, err)
		return len(list)
	}
	fire()
	q := screen.Last(t, 1)
	if q.Title != "Hob asks" || !strings.Contains(q.Body, "May I do this?") || len(q.Actions) != 8 || !strings.HasPrefix(q.Actions[4], "no ") {
		t.Fatalf("shown %+v", q)
	}
	started.Store(true)
	screen.Only(q.ID, q.Actions[2])
	if told := screen.Last(t, 2); !strings.Contains(told.Body, "a program that I started is running") || open() != 1 {
		t.Errorf("notification %+v, %d requests open", told, open())
	}
	started.Store(false)
	screen.Press(q.ID, q.Actions[2])
	if told := screen.Last(t, 3); !strings.Contains(told.Body, "Continuing") {
		t.Errorf("notification = %+v", told)
	}
	for deadline := time.Now().Add(60 * time.Second); open() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request is still open")
		}
	}
	if n := screen.Last(t, 4); n.Title != "Hob" || !strings.Contains(n.Body, "Permanently deleted") {
		t.Errorf("notification about the result = %+v", n)
	}
	_, body := h.callAPI(http.MethodGet, "/api/v1/approvals", nil)
	var list []struct {
		By string `json:"decided_by"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list) != 1 || list[0].By != "desktop" {
		t.Errorf("%v %s", err, body)
	}
	screen.Press(screen.All()[3].ID, "later")
	if told := screen.Last(t, 5); !strings.Contains(told.Body, "again at") {
		t.Errorf("notification = %+v", told)
	}
	if held, err := h.d.notices.List(t.Context(), string(notify.Held), "", 9); err != nil || len(held) != 1 || held[0].HeldBy != notify.BySnooze {
		t.Errorf("deferred notices = %+v, %v", held, err)
	}
	started.Store(true)
	fire()
	if q := screen.Last(t, 6); len(q.Actions) != 4 {
		t.Errorf("the request has buttons while a program runs: %+v", q)
	}
}

// With notify.channel = "auto", a notice is shown on the desktop while the owner is at the
// computer. It is sent to the conversation while the owner writes there, is away, or has locked the
// screen.
func TestNotices_FollowTheOwner(t *testing.T) {
	bus := desktoptest.NewBus(t)
	screen := desktoptest.NewServer(t, bus)
	home, paths := bus.Home(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
	t.Setenv("DISPLAY", "")
	h := openWith(t, home, Options{Paths: paths, Desktop: true}, "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[notify]\nchannel = \"auto\"\n")
	var idle atomic.Uint64
	var locked atomic.Bool
	c := bus.Conn(t)
	failOnError(t, c.ExportMethodTable(map[string]any{"GetIdletime": func() (uint64, *dbus.Error) { return idle.Load(), nil }}, "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor"))
	failOnError(t, c.ExportMethodTable(map[string]any{"GetActive": func() (bool, *dbus.Error) { return locked.Load(), nil }}, "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver"))
	tell := func(text string) { failOnError(t, h.d.intake.Notify(t.Context(), text, text)) }
	shown := 0
	for _, step := range []struct {
		text    string
		idle    time.Duration
		locked  bool
		desktop bool
	}{
		{"nobody can tell", 0, false, false},
		{"he is there", time.Second, false, true},
		{"he went for lunch", time.Hour, false, false},
		{"he has just locked it", time.Second, true, false},
		{"he is back", time.Second, false, true},
	} {
		if step.idle > 0 {
			for _, name := range []string{"org.gnome.Mutter.IdleMonitor", "org.gnome.ScreenSaver"} {
				_, err := c.RequestName(name, 0)
				failOnError(t, err)
			}
		}
		idle.Store(uint64(step.idle.Milliseconds()))
		locked.Store(step.locked)
		tell(step.text)
		if !step.desktop {
			h.awaitDelivery("notice", step.text)
			continue
		}
		shown++
		if n := screen.Last(t, shown); n.Body != step.text {
			t.Errorf("shown %q, want %q", n.Body, step.text)
		}
	}
	h.askHob("hello") // the owner writes on the page
	tell("while you write")
	h.awaitDelivery("notice", "while you write")
	if n := len(screen.All()); n != shown {
		t.Errorf("%d notes were shown, want %d", n, shown)
	}
}
