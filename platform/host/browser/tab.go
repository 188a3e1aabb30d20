package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// Tab is the current state of a tab. Title and URL are untrusted text from the page.
type Tab struct {
	ID     string `json:"id"` // such as "t3"; never reused
	Title  string `json:"title,omitempty"`
	URL    string `json:"url"`
	Active bool   `json:"active,omitempty"` // used if a call names no tab
	// Own is true if Hob opened the tab and has not typed or clicked in it since.
	Own     bool `json:"own,omitempty"`
	Crashed bool `json:"crashed,omitempty"`
}

// Web reports whether the tab shows an http or https page. Hob does not read other pages, such as
// the browser's own pages or local files.
func (t Tab) Web() bool { return webPage(t.URL) }

func webPage(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") || address == "about:blank"
}

// tab is a browser tab that this client is attached to.
type tab struct {
	b       *Browser
	p       *process
	id      string
	n       int // serial number of the tab
	target  string
	session string
	ready   chan struct{} // closed when commands can be sent
	gone    chan struct{} // closed when the tab has ended
	one     chan struct{} // semaphore of size 1 for calls

	mu      sync.Mutex
	title   string
	url     string
	own     bool
	fresh   bool // the blank tab of a new browser, which was not opened by a page
	crashed bool
	ended   error
	loader  string        // loader of the current document
	before  []string      // loaders of the most recent previous documents
	loaded  chan struct{} // closed when the document is loaded
	quiet   chan struct{} // closed when network activity is low
	world   int64         // context of Hob's scripts; 0 if there is none yet
	dialog  *dialog
	dialogs []string // text of the dialogs since the last call
	working int      // running calls
}

// newBlankTab opens a new tab.
func (b *Browser) newBlankTab(ctx context.Context, p *process) (*tab, error) {
	var made struct {
		TargetID string `json:"targetId"`
	}
	if err := p.conn.callCommand(ctx, "", "Target.createTarget", jsonObject{"url": "about:blank"}, &made); err != nil {
		return nil, b.protocolError(err)
	}
	for {
		b.mu.Lock()
		t := b.tabs[made.TargetID]
		b.mu.Unlock()
		if t != nil {
			return t, t.waitReady(ctx)
		}
		if err := retry.Sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, b.protocolError(err)
		}
	}
}

// waitReady waits until commands can be sent to the tab.
func (t *tab) waitReady(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-t.gone:
		return t.goneError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// markGone marks the tab as closed.
func (t *tab) markGone(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = why
		close(t.gone)
	}
}

func (t *tab) goneError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.crashed:
		return &Error{Kind: Crashed, Message: "the page of " + t.id + " crashed", Remedy: "open it again"}
	case errors.Is(t.ended, errLost):
		return &Error{Kind: Crashed, Message: "the browser has ended", Remedy: "try again: Hob will start a new browser without the previous tabs", Err: errLost}
	}
	return &Error{Kind: NoTab, Message: "the tab " + t.id + " was closed"}
}

// callCommand runs a command in the tab. It returns an error if the tab closes.
func (t *tab) callCommand(ctx context.Context, method string, params, out any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-t.gone:
			cancel(errGone)
		case <-stop:
		}
	}()
	err := t.p.conn.callCommand(ctx, t.session, method, params, out)
	if err != nil && errors.Is(context.Cause(ctx), errGone) {
		return t.goneError()
	}
	return err
}

var errGone = errors.New("tab is closed")

// followTab starts tracking a tab.
func (b *Browser) followTab(p *process, session string, info targetInfo) {
	b.mu.Lock()
	if b.proc != p || b.tabs[info.TargetID] != nil {
		b.mu.Unlock()
		return
	}
	b.count++
	t := &tab{
		b: b, p: p, id: fmt.Sprintf("t%d", b.count), n: b.count, target: info.TargetID, session: session, title: sanitizeLine(info.Title, 200), url: info.URL,
		ready: make(chan struct{}), gone: make(chan struct{}), one: make(chan struct{}, 1), loaded: make(chan struct{}), quiet: make(chan struct{}),
	}
	b.tabs[info.TargetID] = t
	many := len(b.tabs) > b.opt.MaxTabs
	b.mu.Unlock()
	p.runBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if many {
			_ = p.conn.callCommand(ctx, "", "Target.closeTarget", jsonObject{"targetId": info.TargetID}, nil) // if this fails, the tab stays open although MaxTabs is exceeded
			b.addWarning("a page tried to open more tabs than allowed; the extra tabs were closed")
			return
		}
		// A window opened by a page, and its opener, wait for the last of these commands despite
		// the settings above.
		for _, c := range []struct {
			method string
			params jsonObject
		}{{"Page.enable", nil}, {"Page.setLifecycleEventsEnabled", jsonObject{"enabled": true}}, {"Inspector.enable", nil}, {"Runtime.runIfWaitingForDebugger", nil}} {
			if err := t.callCommand(ctx, c.method, c.params, nil); err != nil {
				b.opt.Log.Debug("cannot control a tab", "tab", t.id, "err", err)
			}
		}
		close(t.ready)
	})
}

// openTabs returns the tabs in the order in which they were opened.
func (b *Browser) openTabs() []*tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]*tab, 0, len(b.tabs))
	for _, t := range b.tabs {
		out = append(out, t)
	}
	sorting.ByFunc(out, func(a, b *tab) int { return a.n - b.n })
	return out
}

// tabInfo returns the exported state of the tab.
func (t *tab) tabInfo(active *tab) Tab {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Tab{ID: t.id, Title: t.title, URL: truncateURL(t.url), Active: t == active, Own: t.own, Crashed: t.crashed}
}

// maxURL is the maximum length of a page's address, in bytes.
const maxURL = 2000

func truncateURL(address string) string {
	if len(address) > maxURL {
		return strings.ToValidUTF8(address[:maxURL], "") + "…"
	}
	return address
}

// Tabs lists the tabs. It does not start the browser.
func (b *Browser) Tabs(context.Context) []Tab {
	if !b.Running() {
		return nil
	}
	b.mu.Lock()
	active := b.active
	b.mu.Unlock()
	var out []Tab
	for _, t := range b.openTabs() {
		s := t.tabInfo(active)
		if s.isBlank() {
			continue
		}
		out = append(out, s)
	}
	return out
}

// isBlank reports whether nothing has been opened in the tab yet, as in the blank tab of a new
// browser.
func (t Tab) isBlank() bool { return t.URL == "about:blank" && !t.Active && !t.Own }

// Get returns a tab. An empty id selects the active tab.
func (b *Browser) Get(id string) (Tab, error) {
	t, err := b.findTab(id)
	if err != nil {
		return Tab{}, err
	}
	b.mu.Lock()
	active := b.active
	b.mu.Unlock()
	return t.tabInfo(active), nil
}

func (b *Browser) findTab(id string) (*tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proc != nil && !isConnLost(b.proc) {
		if id == "" && b.active != nil {
			return b.active, nil
		}
		var only *tab
		for _, t := range b.tabs {
			switch {
			case t.id == id:
				return t, nil
			case id == "" && !t.tabInfo(nil).isBlank():
				if only != nil {
					return nil, &Error{Kind: NoTab, Message: "several tabs are open and none is active", Remedy: "name one: browser_list_tabs lists them"}
				}
				only = t
			}
		}
		if only != nil { // the active tab was closed
			return only, nil
		}
	}
	if id == "" {
		return nil, &Error{Kind: NoTab, Message: "no tab is open", Remedy: "open one with browser_open_tab"}
	}
	return nil, &Error{Kind: NoTab, Message: fmt.Sprintf("tab %.20q not found", id), Remedy: "browser_list_tabs lists the open tabs"}
}

// targetInfo is the browser's description of a target.
type targetInfo struct {
	TargetID string `json:"targetId"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	URL      string `json:"url"`
}

// handleEvent handles an event of the browser. It must not block.
func (b *Browser) handleEvent(p *process, e cdpEvent) {
	if p == nil {
		return
	}
	var q struct {
		SessionID  string     `json:"sessionId"`
		TargetID   string     `json:"targetId"`
		TargetInfo targetInfo `json:"targetInfo"`
		URL        string     `json:"url"`
	}
	if e.Session != "" {
		if t := b.bySession(e.Session); t != nil {
			t.handleEvent(e)
		}
		return
	}
	if json.Unmarshal(e.Params, &q) != nil {
		return
	}
	switch e.Method {
	case "Target.attachedToTarget":
		if q.TargetInfo.Type == "page" {
			b.followTab(p, q.SessionID, q.TargetInfo)
		}
	case "Target.targetInfoChanged":
		if t := b.byTarget(q.TargetInfo.TargetID); t != nil {
			t.mu.Lock()
			t.title, t.url = sanitizeLine(q.TargetInfo.Title, 200), q.TargetInfo.URL
			t.mu.Unlock()
		}
	case "Target.targetCrashed":
		if t := b.byTarget(q.TargetID); t != nil {
			t.markCrashed()
		}
	case "Target.targetDestroyed", "Target.detachedFromTarget":
		b.forgetTab(q.TargetID, q.SessionID)
	case "Browser.downloadWillBegin":
		b.addWarning("a download was refused: " + sanitizeLine(truncateURL(q.URL), 300))
	}
}

func (b *Browser) bySession(session string) *tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tabs {
		if t.session == session {
			return t
		}
	}
	return nil
}

func (b *Browser) byTarget(target string) *tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tabs[target]
}

// forgetTab removes a closed tab.
func (b *Browser) forgetTab(target, session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, t := range b.tabs {
		if key == target || session != "" && t.session == session {
			t.markGone(errGone)
			delete(b.tabs, key)
			if b.active == t {
				b.active = nil
			}
		}
	}
}

// markCrashed ends all waits for the page. The tab stays open, but can only be closed.
func (t *tab) markCrashed() {
	t.mu.Lock()
	t.crashed = true
	t.mu.Unlock()
	t.markGone(errGone)
}

// protocolError converts an error of the protocol.
func (b *Browser) protocolError(err error) error {
	if errors.Is(err, errLost) {
		return &Error{Kind: Crashed, Message: "the browser has ended", Remedy: "try again: Hob will start a new browser without the previous tabs", Err: err}
	}
	return err
}
