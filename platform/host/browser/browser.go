// Package browser controls a Chromium-based browser (Chrome, Chromium, Edge or Brave) through the
// Chrome DevTools Protocol, with a separate profile for Hob. Chrome allows no remote control of the
// default profile, and the model must not see the user's pages. In the browser window the user
// signs in to the sites that Hob may use.
//
// All network traffic goes through a proxy of this package (proxy.go), which connects only to
// public addresses. Commands are sent through a pipe, so that no other process can send commands.
// Pages are untrusted: messages have size limits, calls have deadlines, dialogs are answered
// automatically, and page.js runs in an isolated world, separate from the page's scripts.
//
// The package has its own client instead of chromedp, which only the tests use, because chromedp
// keeps complete DOM trees, unlimited logs, and messages of any size. The package applies no
// policy: the guard decides what may be opened, clicked and run.
package browser

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/platform/host/system"
)

// Options are the options of New. Profile and Network are required.
type Options struct {
	// Profile is the folder of the browser's profile. It is used only by Hob.
	Profile string
	// Network opens all connections of the browser.
	Network Network
	// Path is the path of the browser's program. If it is "", New searches for an installed
	// browser.
	Path string
	// Headless hides the browser window. It is always set if there is no display.
	Headless bool
	// Idle is the time after which an unused browser is closed (default 15 minutes).
	Idle time.Duration
	// MaxTabs limits the tabs, including those that pages open (default 20).
	MaxTabs int
	Log     *slog.Logger
}

// Browser is the single browser of a home. The first call that needs it starts it. Its
// methods may be called concurrently; calls for the same tab run one at a time.
type Browser struct {
	opt Options
	// one serializes starting and stopping the browser.
	one chan struct{}
	// reading serializes the assignment of element handles, so that they are unique.
	reading chan struct{}
	limits  limits

	mu     sync.Mutex
	proc   *process
	tabs   map[string]*tab // keyed by target id
	active *tab
	count  int // number of tabs opened since the start, so that handles are unique
	used   time.Time
	busy   int
	closed bool
	notes  []string // events outside of calls, such as refused downloads
	// handles is the highest element handle assigned so far. known maps handles to tabs.
	handles int
	known   map[string]seenElement
}

// New checks the options. It starts no browser.
func New(opt Options) (*Browser, error) {
	if opt.Profile == "" || opt.Network == nil {
		return nil, errors.New("browser: a profile and a network are required")
	}
	opt.Idle = cmp.Or(opt.Idle, 15*time.Minute)
	opt.MaxTabs = cmp.Or(opt.MaxTabs, 20)
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Browser{opt: opt, one: make(chan struct{}, 1), reading: make(chan struct{}, 1), limits: defaultLimits(), tabs: map[string]*tab{}}, nil
}

// Find returns the browser that would be started.
func (b *Browser) Find() (Found, error) {
	home, _ := os.UserHomeDir() // with an empty home, fewer locations are searched
	return findBrowser(b.opt.Path, runtime.GOOS, home, os.Getenv, exec.LookPath)
}

// Headless reports whether the browser will have no window.
func (b *Browser) Headless() bool {
	return b.opt.Headless || lacksDisplay(runtime.GOOS, os.Getenv)
}

// RunsUnsandboxed reports whether the browser runs without its sandbox, because Chromium refuses to
// use the sandbox for root.
func (b *Browser) RunsUnsandboxed() bool { return runsAsRoot() }

// TestStart starts the browser without a window or network and with a temporary profile, and then
// stops it. It returns an error if the browser cannot start.
func (b *Browser) TestStart(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "hob-browser-")
	if err != nil {
		return &Error{Kind: NotStarted, Message: "cannot create a temporary profile: " + err.Error(), Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	other, err := New(Options{Profile: dir, Network: Nowhere{}, Path: b.opt.Path, Headless: true})
	if err != nil {
		return err
	}
	defer other.Close()
	_, done, err := other.acquireProcess(ctx, true)
	if err == nil {
		done()
	}
	return err
}

// Run stops the browser after it has been idle, and when ctx ends.
func (b *Browser) Run(ctx context.Context) error {
	tick := time.NewTicker(min(b.opt.Idle/2+1, 30*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			b.Close()
			return nil
		case <-tick.C:
			b.stopWhenIdle(ctx)
		}
	}
}

// Close stops the browser permanently.
func (b *Browser) Close() {
	b.one <- struct{}{}
	defer func() { <-b.one }()
	b.mu.Lock()
	b.closed = true
	p := b.takeProcess()
	b.mu.Unlock()
	if p != nil {
		p.stopProcess(5 * time.Second)
	}
}

// takeProcess detaches and returns the running browser. The caller holds b.mu.
func (b *Browser) takeProcess() *process {
	p := b.proc
	b.proc, b.active = nil, nil
	for _, t := range b.tabs {
		t.markGone(errLost)
	}
	b.tabs = map[string]*tab{}
	return p
}

// stopWhenIdle stops the browser if no call is running and no tab has the keyboard focus.
func (b *Browser) stopWhenIdle(ctx context.Context) {
	b.mu.Lock()
	p := b.proc
	lazy := p != nil && b.busy == 0 && time.Since(b.used).Round(0) >= b.opt.Idle
	b.mu.Unlock()
	if p == nil {
		return
	}
	if isConnLost(p) || lazy && !(!p.headless && b.hasFocusedTab(ctx)) {
		b.retireProcess(p)
	}
}

func isConnLost(p *process) bool {
	select {
	case <-p.conn.lost:
		return true
	default:
		return false
	}
}

// retireProcess stops p if it is still the current browser.
func (b *Browser) retireProcess(p *process) {
	b.one <- struct{}{}
	defer func() { <-b.one }()
	b.mu.Lock()
	mine := b.proc == p && (b.busy == 0 || isConnLost(p))
	if mine {
		b.takeProcess()
	}
	b.mu.Unlock()
	if mine {
		p.stopProcess(5 * time.Second)
	}
}

// hasFocusedTab reports whether a tab has the keyboard focus, which means that a user may be
// reading it.
func (b *Browser) hasFocusedTab(ctx context.Context) bool {
	for _, t := range b.openTabs() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		var has bool
		err := t.runOperation(ctx, "focused", nil, &has)
		cancel()
		if err == nil && has {
			return true
		}
	}
	return false
}

// Running reports whether a browser is running.
func (b *Browser) Running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.proc != nil && !isConnLost(b.proc)
}

// Pid returns the process id of the running browser, or 0 if none is running or b is nil.
func (b *Browser) Pid() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proc == nil || isConnLost(b.proc) {
		return 0
	}
	return b.proc.tree.Pid()
}

// SandboxedPid returns Pid if the browser runs in its sandbox, which confines pages to their tabs.
// Otherwise it returns 0.
func (b *Browser) SandboxedPid() int {
	if runsAsRoot() {
		return 0
	}
	return b.Pid()
}

// Shows reports whether the running browser is the program with this name (on macOS, the name of
// its app).
func (b *Browser) Shows(name string) bool {
	found, err := b.Find()
	return b.Running() && (err != nil || strings.Contains(found.Path, name+".app/"))
}

// acquireProcess reserves the browser for one call. If starting is set, it starts the browser if
// necessary. The caller must call the returned function at the end.
func (b *Browser) acquireProcess(ctx context.Context, starting bool) (*process, func(), error) {
	select {
	case b.one <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-b.one }()
	b.mu.Lock()
	p, closed := b.proc, b.closed
	var dead *process
	if p != nil && isConnLost(p) {
		dead, p = b.takeProcess(), nil
	}
	b.mu.Unlock()
	if dead != nil {
		b.opt.Log.Warn("browser ended unexpectedly", "said", dead.stderrTail())
		dead.stopProcess(0)
	}
	if p == nil {
		if closed {
			return nil, nil, errLost
		}
		if !starting {
			return nil, nil, &Error{Kind: NoTab, Message: "no tab is open", Remedy: "open one with browser_open_tab"}
		}
		var err error
		if p, err = b.startProcess(ctx); err != nil {
			return nil, nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy++
	b.used = time.Now()
	return p, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.busy--
		b.used = time.Now()
	}, nil
}

// startProcess starts a browser. The caller holds b.one.
func (b *Browser) startProcess(ctx context.Context) (_ *process, err error) {
	found, err := b.Find()
	if err != nil {
		return nil, err
	}
	if err := b.prepareProfile(); err != nil {
		return nil, err
	}
	if runsAsRoot() {
		b.opt.Log.Warn("the browser runs without its sandbox, because Hob runs as root: do not open untrusted pages")
	}
	px, err := openProxy(b.opt.Network)
	if err != nil {
		return nil, &Error{Kind: NotStarted, Message: "cannot open the browser's proxy: " + err.Error(), Err: err}
	}
	headless := b.Headless()
	var running atomic.Pointer[process] // no events arrive before setUpProcess subscribes
	p, err := startBrowser(ctx, found, browserFlags(b.opt.Profile, px.listenAddress(), headless, runsAsRoot(), runtime.GOOS), b.stubProgramDir(), func(e cdpEvent) {
		b.handleEvent(running.Load(), e)
	})
	if err != nil {
		px.close()
		return nil, err
	}
	p.proxy, p.headless = px, headless
	b.mu.Lock()
	b.proc = p
	b.mu.Unlock()
	running.Store(p)
	system.EndReporters(p.tree.Pid())
	if err := b.setUpProcess(ctx, p); err != nil {
		b.mu.Lock()
		b.takeProcess()
		b.mu.Unlock()
		p.stopProcess(0)
		return nil, err
	}
	return p, nil
}

// prepareProfile creates the profile folder.
func (b *Browser) prepareProfile() error {
	if err := os.MkdirAll(b.opt.Profile, 0o700); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot create the browser profile: " + err.Error(), Err: err}
	}
	if err := os.Chmod(b.opt.Profile, 0o700); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot make the browser profile private: " + err.Error(), Err: err}
	}
	if dir := b.stubProgramDir(); dir != "" {
		if err := writeStubPrograms(dir); err != nil {
			return &Error{Kind: NotStarted, Message: "cannot create the browser profile: " + err.Error(), Err: err}
		}
	}
	prefs := filepath.Join(b.opt.Profile, "Default", "Preferences")
	if _, err := os.Stat(prefs); err == nil {
		return nil
	}
	// These settings have no command-line switch. They disable predictions, the password manager
	// and other features that contact servers or store data.
	const first = `{"webrtc":{"ip_handling_policy":"disable_non_proxied_udp","multiple_routes_enabled":false,"nonproxied_udp_enabled":false},` +
		`"net":{"network_prediction_options":2},"credentials_enable_service":false,"profile":{"password_manager_enabled":false},` +
		`"search":{"suggest_enabled":false},"history":{"saving_disabled":true},"alternate_error_pages":{"enabled":false},"safebrowsing":{"enabled":false},"signin":{"allowed":false}}`
	if err := os.MkdirAll(filepath.Dir(prefs), 0o700); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot create the browser profile: " + err.Error(), Err: err}
	}
	if err := os.WriteFile(prefs, []byte(first), 0o600); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot create the browser profile: " + err.Error(), Err: err}
	}
	return nil
}

// stubProgramDir returns a folder with programs that do nothing. The browser finds them instead of
// the helper programs (xdg-utils) that pages could make it start, for example by a mailto link. The
// result is "" on systems that start helpers in another way.
func (b *Browser) stubProgramDir() string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return ""
	}
	return filepath.Join(b.opt.Profile, "nothing")
}

func writeStubPrograms(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"xdg-open", "xdg-email", "xdg-settings", "xdg-mime"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil { //nolint:gosec // the file must be executable
			return err
		}
	}
	return nil
}

// addWarning adds a message to the result of the next call.
func (b *Browser) addWarning(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, s)
	b.notes = b.notes[max(0, len(b.notes)-10):]
}

// Notes returns and clears the recorded events outside of calls, such as a refused download.
func (b *Browser) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notes
	b.notes = nil
	return n
}
