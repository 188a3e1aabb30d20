package app

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/service"
	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/tray/traytest"
	"hob/templates"
)

// The menu shows the pending approval requests, and the owner's clicks take effect. Clicks that
// decide a request count only while no program started by Hob runs.
func TestTray(t *testing.T) {
	bus := desktoptest.NewBus(t)
	panel := traytest.NewPanel(t, bus.Conn(t))
	home, paths := bus.Home(t)
	var started atomic.Bool
	h := openWith(t, home, Options{Paths: paths, Tray: true, Quick: time.Nanosecond, Started: func() (bool, error) { return started.Load(), nil }},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[triggers.tidy]\naction = \"forget about the gate\"\n")
	if h.d.tray == nil {
		t.Fatal("the daemon has no tray")
	}
	icon := panel.Icon(t, 1)
	says := func(begins string) {
		t.Helper()
		traytest.Eventually(t, "the menu says "+begins, func() bool { _, ok := traytest.Find(icon.Menu(t), begins); return ok })
	}
	says("Hob: ready")
	doctor := func(want string) {
		t.Helper()
		if code, body := h.callAPI(http.MethodGet, "/api/v1/doctor?name=tray", nil); code != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("the doctor says %d %s, want %q", code, body, want)
		}
	}
	doctor("the panel shows the icon, and its menu responds")
	h.askHob("remember that the gate is green")
	if _, ok := traytest.Find(icon.Menu(t), "personal-assistant"); !ok {
		t.Error("the menu has no templates")
	}
	ask := func() {
		t.Helper()
		if code, body := h.callAPI(http.MethodPost, "/api/v1/triggers/tidy/fire", map[string]string{}); code >= 300 {
			t.Fatalf("%d %s", code, body)
		}
		says("Hob: 1 pending approval")
	}
	state := func() guard.ApprovalState {
		list, err := h.d.guard.Approvals(t.Context(), "", "", "", 1)
		failOnError(t, err)
		return list[0].State
	}
	ask()
	q, _ := traytest.Find(icon.Menu(t), "? ")
	labels := []string{}
	for _, l := range q.Lines {
		labels = append(labels, l.Label)
	}
	details, _ := traytest.Find(q.Lines, "Details")
	if text := strings.Join(labels, "\n"); !strings.HasPrefix(text, "Forget what is known about \"gate\" permanently\nIt deletes data that cannot be restored.") || strings.Contains(text, "{") || q.Lines[0].Enabled ||
		len(details.Lines) == 0 || !strings.HasPrefix(details.Lines[0].Label, "exactly: forget {") {
		t.Errorf("the question is %s, its details %+v", text, details)
	}
	started.Store(true)
	icon.Choose(t, "Approve")
	says("a program that I started is running")
	if state() != guard.Pending {
		t.Error("a click that another program could have made was accepted")
	}
	started.Store(false)
	icon.Choose(t, "Deny")
	says("Denied. I will not do this")
	if state() != guard.Denied {
		t.Error("the request was not denied")
	}
	ask()
	icon.Choose(t, "Approve")
	traytest.Eventually(t, "it is approved", func() bool { return state() == guard.Approved })
	if list, err := h.d.guard.Approvals(t.Context(), "", "", "", 1); err != nil || list[0].DecidedBy != service.TrayOrigin {
		t.Errorf("decided by %+v, %v", list, err)
	}

	icon.Choose(t, "housekeeper")
	says("Switch to housekeeper?")
	started.Store(true)
	icon.Choose(t, "Apply")
	says("a program that I started is running")
	if used, err := templates.InUse(paths.TemplateState()); err != nil || used.Name != "" {
		t.Errorf("somebody else could have switched to %q, %v", used.Name, err)
	}
	started.Store(false)
	icon.Choose(t, "Apply")
	says("The template housekeeper is in use")
	if used, err := templates.InUse(paths.TemplateState()); err != nil || used.Name != "housekeeper" {
		t.Errorf("the template in use is %q, %v", used.Name, err)
	}

	says("Recent notifications")
	icon.Choose(t, "Pause until tomorrow")
	says("Resume (paused until ")
	says("Hob: paused until tomorrow at 07:00")
	started.Store(true)
	icon.Choose(t, "Resume")
	says("a program that I started is running")
	if _, on, err := h.d.bus.Pause.Current(t.Context()); err != nil || !on {
		t.Error("a click that another program could have made ended the pause", err)
	}
	started.Store(false)
	icon.Choose(t, "Resume")
	says("Pause for 1 hour")
	icon.Choose(t, "Quiet for 2 hours")
	says("End quiet")
	icon.Choose(t, "End quiet")
	says("Quiet for 2 hours")
	icon.Choose(t, "Ask") // there is no desktop portal
	says("cannot open the browser")
	panel.Leave(t)
	doctor("no panel in this session shows icons")
	panel = traytest.NewPanel(t, bus.Conn(t))
	icon = panel.Icon(t, 1)
	says("Pause for 1 hour")
	icon.Choose(t, "Quit")
	select {
	case <-h.d.down.Done():
	case <-time.After(60 * time.Second):
		t.Error("Quit did not end the daemon")
	}
}
