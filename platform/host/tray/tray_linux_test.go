package tray

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
	"hob/platform/host/tray/traytest"
)

// clicks records clicks.
type clicks struct {
	mu   sync.Mutex
	keys []string
}

func (c *clicks) recordClick(_ context.Context, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
}

func (c *clicks) joinKeys() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.keys, ",")
}

// startTray runs a tray on a bus; stop ends it.
func startTray(t *testing.T, bus *desktoptest.Bus) (tr *Tray, c *clicks, stop func()) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	c = &clicks{}
	tr = New(Options{On: c.recordClick, Name: "Hob", Getenv: bus.Getenv})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tr.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return tr, c, stop
}

// TestTrust checks that clicks of an untrusted process are ignored.
func TestTrust(t *testing.T) {
	bus := desktoptest.NewBus(t)
	panel := traytest.NewPanel(t, bus.Conn(t))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	c := &clicks{}
	var asked atomic.Int32
	tr := New(Options{On: c.recordClick, Getenv: bus.Getenv, Trust: func(pid int) error {
		if pid != os.Getpid() || asked.Add(1) == 1 {
			return errors.New("somebody else")
		}
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tr.Run(ctx) }()
	defer func() { cancel(); <-done }()
	tr.Show(newView(Idle, Item{Key: "one", Title: "One"}, Item{Key: "two", Title: "Two"}))
	panel.Icon(t, 1).Choose(t, "One")
	panel.Icon(t, 1).Choose(t, "Two")
	traytest.Eventually(t, "only the trusted click is accepted", func() bool { return c.joinKeys() == "two" })
}

func newView(s State, items ...Item) View { return View{State: s, Tooltip: "Hob", Items: items} }

func TestTray(t *testing.T) {
	bus := desktoptest.NewBus(t)
	conn := bus.Conn(t)
	panel := traytest.NewPanel(t, conn)
	before := goleak.IgnoreCurrent()
	tr, got, stop := startTray(t, bus)
	tr.Show(newView(Idle, Item{Title: "Hob: ready"}, Item{Separator: true},
		Item{Title: "? send_it", Items: []Item{{Key: "yes 1", Title: "Approve"}, {Key: "no 1", Title: "Deny"}}}, Item{Key: "quit", Title: "Quit", Checked: true}))
	icon := panel.Icon(t, 1)
	if w, p := icon.Pixels(t); w != 48 || !slices.Equal(p[:4], []byte{0, 0, 0, 0}) || p[4*(24*48+4)] != 255 {
		t.Errorf("icon has %d pixels, %v", w, p[:8])
	}
	menu := icon.Menu(t)
	if len(menu) != 4 || menu[0].Enabled || menu[1].Label != "-" || menu[2].Label != "? send__it" || len(menu[2].Lines) != 2 || !menu[3].Checked {
		t.Fatalf("Menu = %+v", menu)
	}
	yes, _ := traytest.Find(menu, "Approve")
	icon.Click(t, menu[0].ID) // does nothing
	icon.Click(t, yes.ID)
	traytest.Eventually(t, "a click arrives", func() bool { return got.joinKeys() == "yes 1" })

	// After another question has replaced the first one, a click on the old item has no effect.
	_, old := icon.Pixels(t)
	tr.Show(newView(NeedsYou, Item{Title: "Hob: one question"}, Item{Separator: true},
		Item{Title: "? other", Items: []Item{{Key: "yes 2", Title: "Approve"}}}, Item{Key: "quit", Title: "Quit"}))
	traytest.Eventually(t, "the menu changes", func() bool { _, ok := traytest.Find(icon.Menu(t), "? other"); return ok })
	traytest.Eventually(t, "the icon changes", func() bool { _, p := icon.Pixels(t); return !slices.Equal(p, old) })
	icon.Click(t, yes.ID)
	icon.Choose(t, "Quit")
	traytest.Eventually(t, "only the new item is accepted", func() bool { return got.joinKeys() == "yes 1,quit" })

	// The panel ends and restarts.
	panel.Leave(t)
	panel = traytest.NewPanel(t, conn)
	panel.Icon(t, 1).Choose(t, "Quit")
	traytest.Eventually(t, "a click arrives", func() bool { return got.joinKeys() == "yes 1,quit,quit" })
	stop()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// TestSessions checks a panel that starts after the tray, and a new session after the previous one
// has ended.
func TestSessions(t *testing.T) {
	for range 2 { // two sessions in one process
		bus := desktoptest.NewBus(t)
		tr, got, stop := startTray(t, bus)
		tr.Show(newView(Idle, Item{Key: "old", Title: "Old"}))
		tr.Show(newView(Paused, Item{Key: "quit", Title: "Quit"}))
		panel := traytest.NewPanel(t, bus.Conn(t))
		panel.Icon(t, 1).Choose(t, "Quit")
		traytest.Eventually(t, "a click arrives", func() bool { return got.joinKeys() == "quit" })
		bus.Stop() // while the icon is shown
		tr.Show(newView(Failing, Item{Key: "quit", Title: "Quit!"}))
		stop()
	}
}

func TestBus_WithoutASession(t *testing.T) {
	none := func(string) string { return "" }
	if _, err := session.Bus(none); err == nil {
		t.Error("a bus was found without a session")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := session.Bus(func(k string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[k] })
	if err != nil || at != "unix:path="+dir+"/bus" {
		t.Error(at, err)
	}
	if _, err := session.Bus(func(k string) string { return map[string]string{"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x"}[k] }); err == nil {
		t.Error("Bus accepts an address on the network")
	}
	tr := New(Options{Getenv: none})
	for range 100 { // no receiver reads the views
		tr.Show(newView(Idle))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr.Run(ctx)
	ended := make(chan struct{})
	close(ended)
	tr.Main(ended)
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\t c":              "a b c",
		"safe \u202egpj.exe":    "safe gpj.exe",
		"\x1b[31mred":           "[31mred",
		strings.Repeat("x", 80): strings.Repeat("x", 69) + "…",
		"bad \xff utf":          "bad ? utf",
	} {
		if got := TruncateLine(in, maxTitle); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
	v := View{Items: []Item{{Separator: true}, {Title: "\u200b", Key: "k"}, {Separator: true}, {Separator: true}, {Title: "x", Key: "lost", Items: []Item{{Separator: true}, {Title: "y", Items: []Item{{Title: "z", Items: []Item{{}}}}}}}, {Separator: true}}}.sanitized()
	if len(v.Items) != 3 || v.Items[0].Title != "…" || v.Items[2].Key != "" || len(v.Items[2].Items) != 1 || v.Items[2].Items[0].Items[0].Items != nil {
		t.Errorf("%+v", v)
	}
}
