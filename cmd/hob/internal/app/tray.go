package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/host/desktop"
	"hob/platform/host/tray"
	"hob/templates"
)

const (
	// trayOrigin is the channel name of actions in the tray menu.
	trayOrigin = "tray"
	// traySettle is the debounce time of menu updates.
	traySettle = 200 * time.Millisecond
	// trayAgain is how often the menu is rebuilt while Hob works, and while it is idle.
	trayAgain, trayRests = time.Second, time.Minute
	// traySays is how long the result of a click stays in the menu.
	traySays = time.Minute
	// trayWait is the time limit for the effect of a click.
	trayWait = 15 * time.Second

	trayNotices   = 5
	trayQuestions = 5
)

// trayMenu keeps the tray's icon and menu as the daemon is.
type trayMenu struct {
	d    *App
	tray *tray.Tray
	note *desktop.NotificationClient
	poke chan struct{}
	// decides: a click may approve requests, because this system can detect programs started by
	// Hob.
	decides bool

	mu     sync.Mutex
	failed bool   // the last turn ended in an error
	said   string // the result of the last click
	saidAt time.Time
	asked  map[string]bool // requests whose end a goroutine waits for
	shown  []string        // the requests in the menu, and since when at their position
	moved  time.Time
}

// openTray creates the tray. It shows nothing before Run.
func (d *App) openTray(context.Context) error {
	c := d.opt.Config.Tray
	if !d.opt.Tray || d.opt.InProcess || d.opt.Play != nil || c.Enabled == "off" {
		return nil
	}
	m := &trayMenu{d: d, poke: make(chan struct{}, 1), asked: map[string]bool{}}
	_, err := buttons{d}.hasNoSubprocess()
	m.decides = !errors.Is(err, errors.ErrUnsupported)
	m.tray = tray.New(tray.Options{On: m.handleClick, Look: tray.Look(c.Icons), Name: d.opt.Config.Agent.Name, Trust: buttons{d}.Trusted, Log: d.opt.Log})
	m.note = desktop.New(desktop.Options{App: d.opt.Config.Agent.Name, Trust: buttons{d}.Trusted})
	d.tray = m
	return nil
}

// Main does what the tray needs of the process's main thread until ended is closed.
// The goroutine of func main calls it.
func (d *App) Main(ended <-chan struct{}) {
	if d.tray == nil {
		<-ended
		return
	}
	d.tray.tray.Main(ended)
}

// runTray shows the tray until ctx ends.
func (m *trayMenu) runTray(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { m.tray.Run(ctx) })
	wg.Go(func() { _ = m.note.Run(ctx, func(desktop.Event) {}) })
	feed := m.d.bus.Feed.Follow()
	defer feed.Close()
	for {
		wait := trayRests
		v, err := m.buildView(ctx, &wg)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			m.d.opt.Log.Warn("cannot build the tray menu", "err", err)
		default:
			m.tray.Show(v)
		}
		if v.State == tray.Thinking {
			wait = trayAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-feed.C():
			m.noteTurnEnd(e)
		case <-m.poke:
		case <-time.After(wait):
			continue
		}
		m.waitQuiet(ctx, feed)
	}
}

// waitQuiet waits briefly, to combine events.
func (m *trayMenu) waitQuiet(ctx context.Context, feed *bus.Subscription) {
	timer := time.NewTimer(traySettle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case e := <-feed.C():
			m.noteTurnEnd(e)
		}
	}
}

// noteTurnEnd notes how turns end.
func (m *trayMenu) noteTurnEnd(e bus.LiveEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Type {
	case "error":
		m.failed = true
	case "message_end":
		m.failed = false
	}
}

func (m *trayMenu) requestRefresh() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// buildView returns the icon and the menu for the current state.
func (m *trayMenu) buildView(ctx context.Context, wg *sync.WaitGroup) (v tray.View, err error) {
	d := m.d
	open, err := d.guard.Approvals(ctx, guard.Pending, "", "", 100)
	if err != nil {
		return v, err
	}
	m.watchApprovals(ctx, wg, open)
	until, paused, err := d.bus.Pause.Current(ctx)
	if err != nil {
		return v, err
	}
	quiet, _, still, err := d.notices.Quiet(ctx)
	if err != nil {
		return v, err
	}
	told, err := d.lastTold(ctx)
	if err != nil {
		return v, err
	}
	var line string
	v.State, line = m.iconState(len(open), paused, until)
	v.Tooltip = d.opt.Config.Agent.Name + ": " + line
	v.Items = append(v.Items, tray.Item{Title: v.Tooltip})
	if said := m.lastClickResult(); said != "" {
		v.Items = append(v.Items, tray.Item{Title: said})
	}
	v.Items = append(v.Items, tray.Item{Separator: true})
	v.Items = append(v.Items, questionItems(open, m.decides)...)
	v.Items = append(v.Items, tray.Item{Separator: true}, tray.Item{Key: "ask", Title: "Ask…"}, tray.Item{Key: "dashboard", Title: "Dashboard"})
	if len(told) > 0 {
		v.Items = append(v.Items, tray.Item{Title: "Recent notifications", Items: noticeItems(told)})
	}
	v.Items = append(v.Items, templateItems(templates.Registry{Dir: d.opt.Paths.TemplatesDir()}, d.opt.Paths.TemplateState())...)
	v.Items = append(v.Items, tray.Item{Separator: true})
	v.Items = append(v.Items, pauseItems(m.decides, paused, m.formatClock(until, until.Before(bus.EndlessPause())), still, m.formatClock(quiet, true))...)
	v.Items = append(v.Items, tray.Item{Separator: true}, tray.Item{Key: "quit", Title: "Quit"})
	return v, nil
}

// iconState returns the icon's state and its description.
func (m *trayMenu) iconState(open int, paused bool, until time.Time) (tray.State, string) {
	m.mu.Lock()
	failed := m.failed
	m.mu.Unlock()
	i := slices.IndexFunc(m.d.channels.Status(), func(h channels.Health) bool { return h.State == "stopped" })
	switch {
	case open == 1:
		return tray.NeedsYou, "1 pending approval"
	case open > 1:
		return tray.NeedsYou, fmt.Sprintf("%d pending approvals", open)
	case i >= 0:
		return tray.Failing, "the channel " + m.d.channels.Status()[i].Name + " has stopped"
	case failed:
		return tray.Failing, "the last answer failed"
	case m.d.loop.Running() > 0:
		return tray.Thinking, "working"
	case paused:
		return tray.Paused, "paused " + m.d.loop.PauseText(until)
	}
	return tray.Idle, "ready"
}

// watchApprovals rebuilds the menu when a request is answered, here or elsewhere, and records when the
// shown ones change.
func (m *trayMenu) watchApprovals(ctx context.Context, wg *sync.WaitGroup, open []guard.Approval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, a := range open[:min(len(open), trayQuestions)] {
		ids = append(ids, a.ID)
	}
	if !slices.Equal(ids, m.shown) {
		m.shown, m.moved = ids, time.Now()
	}
	for _, a := range open {
		if m.asked[a.ID] {
			continue
		}
		m.asked[a.ID] = true
		wg.Go(func() {
			_, _ = m.d.guard.Wait(ctx, a.ID) // whatever the result
			m.mu.Lock()
			delete(m.asked, a.ID)
			m.mu.Unlock()
			m.requestRefresh()
		})
	}
}

// shownSince returns when a request got its position in the menu, where all move up when one is
// answered. A missing request has ended, which the caller reports.
func (m *trayMenu) shownSince(question string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(m.shown, question):
		return m.moved
	case m.asked[question]: // the positions have changed
		return time.Now()
	}
	return time.Time{}
}

// lastClickResult returns the result of the last click.
func (m *trayMenu) lastClickResult() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.saidAt) > traySays {
		return ""
	}
	return m.said
}

func (m *trayMenu) formatClock(t time.Time, ends bool) string {
	if !ends || t.IsZero() {
		return ""
	}
	t = t.In(m.d.zone())
	if time.Until(t) > 12*time.Hour {
		return t.Format("Mon 15:04")
	}
	return t.Format("15:04")
}

// lastTold returns the newest sent notifications.
func (d *App) lastTold(ctx context.Context) ([]bus.Delivery, error) {
	list, err := d.bus.Outbox.Deliveries(ctx, "", "", "", 60)
	list = slices.DeleteFunc(list, func(x bus.Delivery) bool {
		return x.Kind != channels.Notice || strings.TrimSpace(x.Text) == ""
	})
	return list[:min(len(list), trayNotices)], err
}
