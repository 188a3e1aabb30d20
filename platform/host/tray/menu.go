package tray

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/desktop"
)

const (
	// menuSettle is the debounce time of menu updates.
	menuSettle = 200 * time.Millisecond
	// menuBusy and menuIdle are the intervals at which the menu is rebuilt while Hob is working and
	// while it is idle.
	menuBusy, menuIdle = time.Second, time.Minute
	// resultShown is the time for which the result of a click is shown in the menu.
	resultShown = time.Minute
	// clickTimeout is the time limit of the action that a click starts.
	clickTimeout = 15 * time.Second
)

// Question is an open approval request: what Hob wants to do, the consequence and the cause, and the
// lines of the details.
type Question struct {
	ID, Session           string
	Sentence, Explanation string
	Details               []string
}

// Notice is a notification that was sent.
type Notice struct{ ID, Session, Text string }

// Template is a template that the menu lists. Used is true for the template in use.
type Template struct {
	Name string
	Used bool
}

// Status is the state of the assistant that the menu shows. Times are in the user's zone.
type Status struct {
	Questions []Question
	// Problem is an error that the user should know about, such as a stopped channel; "" if there
	// is none.
	Problem string
	Working bool
	Paused  bool
	// PauseText describes the end of the pause in words. PausedUntil is zero for a pause without an
	// end.
	PauseText   string
	PausedUntil time.Time
	Quiet       bool
	QuietUntil  time.Time
	Notices     []Notice
	Templates   []Template
}

// Change is an event of the assistant.
type Change uint8

// The changes.
const (
	Updated   Change = iota // something in Status changed
	TurnEnded               // a turn ended without an error
	TurnFailed
)

// Assistant is the assistant that the menu shows and controls. It returns text for the user. The
// methods may be called concurrently.
type Assistant interface {
	Status(ctx context.Context) (Status, error)
	// Follow returns a function that calls on for each change since Follow was called, and that
	// returns when ctx ends.
	Follow(ctx context.Context, on func(Change)) (run func())
	// WaitAnswered returns when a question is no longer open, or when ctx ends.
	WaitAnswered(ctx context.Context, question string)
	// Answer approves or denies a question that has been visible since the time shown.
	Answer(ctx context.Context, question string, shown time.Time, yes bool) (string, error)
	Pause(ctx context.Context, until string) (string, error)
	Resume(ctx context.Context) error
	// SetQuiet mutes notifications until a time. "off" ends the mute.
	SetQuiet(ctx context.Context, until string) (string, error)
	// Page returns a link to a conversation, or to the dashboard if session is "". The link signs
	// the user in. If last is set, it selects the last conversation.
	Page(ctx context.Context, session string, last bool) (string, error)
	// PreviewTemplate returns what a template would change, one change per line.
	PreviewTemplate(ctx context.Context, name string) ([]string, error)
	// SwitchTemplate applies a template whose preview has been visible since the time shown. It
	// fails if the changes would be different from the preview.
	SwitchTemplate(ctx context.Context, name string, preview []string, shown time.Time) (string, error)
	Quit(ctx context.Context)
}

// MenuOptions configure a Menu.
type MenuOptions struct {
	Assistant Assistant
	// Decides is true if a click may approve requests, because this system can detect programs that
	// could click in the user's place.
	Decides bool
	Name    string
	Look    Look
	Trust   func(pid int) error
	Log     *slog.Logger
}

// Menu keeps the icon and its menu up to date, and handles clicks.
type Menu struct {
	o    MenuOptions
	tray *Tray
	note *desktop.NotificationClient
	poke chan struct{}

	mu     sync.Mutex
	failed bool   // the last turn ended in an error
	said   string // the result of the last click
	saidAt time.Time
	asked  map[string]bool // requests whose answers a goroutine is waiting for
	shown  []string        // the requests in the menu
	moved  time.Time       // time of the last change of shown

	preview *templatePreview // the template that the user may switch to, or nil
}

// NewMenu returns a menu. It shows nothing before Run.
func NewMenu(o MenuOptions) *Menu {
	m := &Menu{o: o, poke: make(chan struct{}, 1), asked: map[string]bool{}}
	m.tray = New(Options{On: m.handleClick, Look: o.Look, Name: o.Name, Trust: o.Trust, Log: o.Log})
	m.note = desktop.New(desktop.Options{App: o.Name, Trust: o.Trust})
	return m
}

// Main runs the part of the tray that needs the process's main thread, until ended is closed. The
// goroutine of func main must call it. For a nil menu it only waits.
func (m *Menu) Main(ended <-chan struct{}) {
	if m == nil {
		<-ended
		return
	}
	m.tray.Main(ended)
}

// Run shows the tray until ctx ends, and returns nil.
func (m *Menu) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { m.tray.Run(ctx) })
	wg.Go(func() { _ = m.note.Run(ctx, func(desktop.Event) {}) })
	wg.Go(m.o.Assistant.Follow(ctx, m.noteChange))
	for {
		wait := menuIdle
		v, err := m.buildView(ctx, &wg)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			m.o.Log.Warn("cannot build the tray menu", "err", err)
		default:
			m.tray.Show(v)
		}
		if v.State == Thinking {
			wait = menuBusy
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.poke:
		case <-time.After(wait):
			continue
		}
		select { // combine changes
		case <-ctx.Done():
			return nil
		case <-time.After(menuSettle):
		}
		select {
		case <-m.poke:
		default:
		}
	}
}

// noteChange records whether the last turn failed, and requests a refresh.
func (m *Menu) noteChange(c Change) {
	m.mu.Lock()
	switch c {
	case TurnFailed:
		m.failed = true
	case TurnEnded:
		m.failed = false
	case Updated:
	}
	m.mu.Unlock()
	m.requestRefresh()
}

func (m *Menu) requestRefresh() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// buildView returns the icon and the menu for the current state.
func (m *Menu) buildView(ctx context.Context, wg *sync.WaitGroup) (v View, err error) {
	s, err := m.o.Assistant.Status(ctx)
	if err != nil {
		return v, err
	}
	m.watchQuestions(ctx, wg, s.Questions)
	var line string
	v.State, line = m.iconState(s)
	v.Tooltip = m.o.Name + ": " + line
	v.Items = append(v.Items, Item{Title: v.Tooltip})
	if said := m.lastClickResult(); said != "" {
		v.Items = append(v.Items, Item{Title: said})
	}
	v.Items = append(v.Items, Item{Separator: true})
	v.Items = append(v.Items, questionItems(s.Questions, m.o.Decides)...)
	v.Items = append(v.Items, m.previewItems()...)
	v.Items = append(v.Items, Item{Separator: true}, Item{Key: "ask", Title: "Ask…"}, Item{Key: "dashboard", Title: "Dashboard"})
	if len(s.Notices) > 0 {
		v.Items = append(v.Items, Item{Title: "Recent notifications", Items: noticeItems(s.Notices)})
	}
	v.Items = append(v.Items, templateItems(s.Templates)...)
	v.Items = append(v.Items, Item{Separator: true})
	v.Items = append(v.Items, pauseItems(m.o.Decides, s.Paused, FormatClock(s.PausedUntil), s.Quiet, FormatClock(s.QuietUntil))...)
	v.Items = append(v.Items, Item{Separator: true}, Item{Key: "quit", Title: "Quit"})
	return v, nil
}

// iconState returns the icon's state and its description.
func (m *Menu) iconState(s Status) (State, string) {
	m.mu.Lock()
	failed := m.failed
	m.mu.Unlock()
	switch open := len(s.Questions); {
	case open == 1:
		return NeedsYou, "1 pending approval"
	case open > 1:
		return NeedsYou, fmt.Sprintf("%d pending approvals", open)
	case s.Problem != "":
		return Failing, s.Problem
	case failed:
		return Failing, "the last answer failed"
	case s.Working:
		return Thinking, "working"
	case s.Paused:
		return Paused, "paused " + s.PauseText
	}
	return Idle, "ready"
}

// watchQuestions rebuilds the menu when a request is answered in the menu or elsewhere. It records
// when the shown requests change.
func (m *Menu) watchQuestions(ctx context.Context, wg *sync.WaitGroup, open []Question) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, a := range open[:min(len(open), shownQuestions)] {
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
			m.o.Assistant.WaitAnswered(ctx, a.ID)
			m.mu.Lock()
			delete(m.asked, a.ID)
			m.mu.Unlock()
			m.requestRefresh()
		})
	}
}

// shownSince returns the time when a request reached its position in the menu. When another request
// is answered, later requests move up and their times restart. The zero time means that the request
// has ended, which the caller reports.
func (m *Menu) shownSince(question string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(m.shown, question):
		return m.moved
	case m.asked[question]: // the request is open, but the shown menu does not contain it
		return time.Now()
	}
	return time.Time{}
}

// lastClickResult returns the result of the last click.
func (m *Menu) lastClickResult() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.saidAt) > resultShown {
		return ""
	}
	return m.said
}

// handleClick runs the action of a menu item.
func (m *Menu) handleClick(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, clickTimeout)
	defer cancel()
	verb, rest, _ := strings.Cut(key, " ")
	said, err := m.runAction(ctx, verb, rest)
	if err != nil {
		m.o.Log.Warn("tray click ignored", "what", verb, "err", err)
		m.showResult(ctx, "Action failed", err.Error())
	} else if said != "" {
		m.showResult(ctx, m.o.Name, said)
	}
	m.requestRefresh()
}

func (m *Menu) runAction(ctx context.Context, verb, rest string) (string, error) {
	switch verb {
	case "yes", "no":
		return m.o.Assistant.Answer(ctx, rest, m.shownSince(rest), verb == "yes")
	case "pause":
		return m.o.Assistant.Pause(ctx, rest)
	case "resume":
		return "", m.o.Assistant.Resume(ctx)
	case "quiet":
		return m.o.Assistant.SetQuiet(ctx, rest)
	case "ask":
		return "", m.openPage(ctx, "", true)
	case "open":
		session, _, _ := strings.Cut(rest, " ")
		return "", m.openPage(ctx, session, false)
	case "dashboard":
		return "", m.openPage(ctx, "", false)
	case "template":
		return m.previewTemplate(ctx, rest)
	case "switch":
		return m.switchTemplate(ctx, rest)
	case "keep":
		m.setPreview(nil)
	case "quit":
		m.o.Assistant.Quit(ctx)
	}
	return "", nil
}

// openPage opens the page in the user's browser with a link that signs in once. Only the desktop
// receives the link.
func (m *Menu) openPage(ctx context.Context, session string, last bool) error {
	link, err := m.o.Assistant.Page(ctx, session, last)
	if err != nil {
		return err
	}
	if err := m.note.Open(ctx, link); err != nil {
		return fmt.Errorf("cannot open the browser: %w; run: hob open", err)
	}
	return nil
}

// showResult shows the result of a click: in the menu, and in a notification if possible.
func (m *Menu) showResult(ctx context.Context, title, text string) {
	m.mu.Lock()
	m.said, m.saidAt = text, time.Now()
	m.mu.Unlock()
	n := desktop.Notification{ID: "tray", Title: title, Body: text, Urgency: desktop.Low, Transient: true}
	if err := m.note.Notify(ctx, n); err != nil {
		m.o.Log.Debug("cannot show the result of a click", "err", err)
	}
}
