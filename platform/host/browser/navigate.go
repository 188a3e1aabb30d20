package browser

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/retry"
)

// Open opens an address in a new tab and makes the tab active. If the browser has ended
// unexpectedly, Open restarts it.
func (b *Browser) Open(ctx context.Context, address string) (Tab, error) {
	t, err := b.openTab(ctx, address)
	if errors.Is(err, errLost) && ctx.Err() == nil {
		return b.openTab(ctx, address)
	}
	return t, err
}

func (b *Browser) openTab(ctx context.Context, address string) (Tab, error) {
	p, done, err := b.acquireProcess(ctx, true)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.unusedTab(ctx, p)
	if err != nil {
		return Tab{}, err
	}
	release, err := t.acquireTab(ctx)
	if err != nil {
		return Tab{}, err
	}
	defer release()
	if err := t.navigateTo(ctx, address); err != nil {
		_ = p.conn.callCommand(ctx, "", "Target.closeTarget", jsonObject{"targetId": t.target}, nil) // if this fails, an empty tab remains
		return Tab{}, err
	}
	t.mu.Lock()
	t.own = true
	t.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.tabInfo(t), nil
}

// unusedTab returns the blank tab of a new browser, or a new tab. It never returns a tab that a
// page opened, because that page could navigate the tab at any time.
func (b *Browser) unusedTab(ctx context.Context, p *process) (*tab, error) {
	list := b.openTabs()
	for _, t := range list {
		t.mu.Lock()
		fresh := t.fresh && t.url == "about:blank" && t.ended == nil
		t.fresh, t.own = t.fresh && !fresh, t.own || fresh
		t.mu.Unlock()
		if fresh {
			return t, t.waitReady(ctx)
		}
	}
	if len(list) >= b.opt.MaxTabs {
		return nil, &Error{Kind: TooMany, Message: "the limit of open tabs is reached", Remedy: "close a tab that is not needed"}
	}
	t, err := b.newBlankTab(ctx, p)
	if err == nil {
		t.mu.Lock()
		t.own = true // opened by Hob
		t.mu.Unlock()
	}
	return t, err
}

// Navigate opens an address in a tab. An empty id selects the active tab.
func (b *Browser) Navigate(ctx context.Context, id, address string) (Tab, error) {
	_, done, err := b.acquireProcess(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.findTab(id)
	if err != nil {
		return Tab{}, err
	}
	if err := t.waitReady(ctx); err != nil {
		return Tab{}, err
	}
	release, err := t.acquireTab(ctx)
	if err != nil {
		return Tab{}, err
	}
	defer release()
	if err := t.navigateTo(ctx, address); err != nil {
		return Tab{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.tabInfo(t), nil
}

// navigateTo opens an address that the caller has checked. The caller has acquired the tab.
func (t *tab) navigateTo(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &Error{Kind: Refused, Message: "only http and https addresses can be opened"}
	}
	begin := time.Now()
	var went struct {
		LoaderID string `json:"loaderId"`
		Error    string `json:"errorText"`
		Download bool   `json:"isDownload"`
	}
	step, cancel := context.WithTimeout(ctx, t.b.limits.load+5*time.Second)
	err = t.callCommand(step, "Page.navigate", jsonObject{"url": address, "transitionType": "link"}, &went)
	cancel()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Unreachable, Message: u.Host + " did not answer in time"}
	case err != nil:
		return t.b.protocolError(err)
	case went.Download:
		return &Error{Kind: Refused, Message: "the address is a download, which Hob does not allow", Remedy: "open a page instead"}
	case went.Error != "":
		return t.unreachableError(begin, u.Hostname(), went.Error)
	}
	if went.LoaderID != "" {
		t.waitLoaded(ctx, went.LoaderID)
	}
	return t.checkLanding(ctx, begin)
}

// waitLoaded waits until a document is loaded and quiet, or until the time limit. If loader is "",
// it waits for the current document, even if that has just replaced another one.
func (t *tab) waitLoaded(ctx context.Context, loader string) {
	ctx, cancel := context.WithTimeout(ctx, t.b.limits.load)
	defer cancel()
	for {
		t.mu.Lock()
		loaded, quiet := t.loaded, t.quiet
		coming := loader != "" && t.loader != loader && !slices.Contains(t.before, loader)
		t.mu.Unlock()
		if coming { // the browser has announced the document, but the tab has not switched to it yet
			if retry.Sleep(ctx, 10*time.Millisecond) != nil {
				return
			}
			continue
		}
		select {
		case <-loaded:
		case <-t.gone:
			return
		case <-ctx.Done():
			return
		}
		calm := time.NewTimer(t.b.limits.quiet)
		select {
		case <-quiet:
		case <-calm.C:
		case <-t.gone:
		case <-ctx.Done():
		}
		calm.Stop()
		t.mu.Lock()
		moved := t.loaded != loaded
		t.mu.Unlock()
		if !moved {
			return
		}
	}
}

// checkLanding checks the address at which a navigation ended.
func (t *tab) checkLanding(ctx context.Context, begin time.Time) error {
	var at struct{ URL, Title string }
	if err := t.runOperation(ctx, "where", nil, &at); err != nil {
		return err
	}
	t.mu.Lock()
	t.url, t.title = at.URL, at.Title
	t.mu.Unlock()
	if !webPage(at.URL) {
		if why := t.p.proxy.refusedSince(begin, ""); why != nil { // the browser shows its own error page
			return t.leavePage(ctx, refusedBy(why))
		}
		return t.leavePage(ctx, &Error{Kind: Refused, Message: "the page leads to an address that is not http or https"})
	}
	return nil
}

// leavePage leaves a page that must not be shown.
func (t *tab) leavePage(ctx context.Context, why error) error {
	_ = t.callCommand(ctx, "Page.navigate", jsonObject{"url": "about:blank"}, nil) // the page shows nothing in either case
	return why
}

// unreachableError returns the error for an address that did not open.
func (t *tab) unreachableError(begin time.Time, host, said string) error {
	if why := t.p.proxy.refusedSince(begin, host); why != nil {
		return refusedBy(why)
	}
	if why := t.p.proxy.refusedSince(begin, ""); why != nil { // the proxy refused the target of a redirect
		return refusedBy(why)
	}
	what := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(said, "net::ERR_")), "_", " ")
	switch {
	case strings.HasPrefix(what, "cert "):
		return &Error{Kind: Unreachable, Message: host + " cannot be opened: its certificate is not valid (" + sanitizeLine(what, 100) + "), so it may be an impostor"}
	case strings.Contains(what, "auth credentials"):
		return &Error{Kind: Unreachable, Message: host + " cannot be opened: it requires HTTP authentication, which Hob does not answer", Remedy: "ask the user to sign in, in the browser's window"}
	}
	return &Error{Kind: Unreachable, Message: host + " cannot be opened: " + sanitizeLine(what, 100)}
}

// refusedBy returns the error for an address that the proxy refused.
func refusedBy(why error) error {
	e, ok := errors.AsType[*safehttp.Error](why)
	if !ok {
		return &Error{Kind: Unreachable, Message: sanitizeLine(why.Error(), 300), Quoted: true, Err: why}
	}
	kind := Unreachable
	if e.Refusal() {
		kind = Refused
	}
	return &Error{Kind: kind, Message: sanitizeLine(e.Message, 400), Remedy: e.Remedy, Quoted: true, Err: why}
}

// CloseTab closes a tab.
func (b *Browser) CloseTab(ctx context.Context, id string) (Tab, error) {
	p, done, err := b.acquireProcess(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.findTab(id)
	if err != nil {
		return Tab{}, err
	}
	shown := t.tabInfo(nil)
	if err := p.conn.callCommand(ctx, "", "Target.closeTarget", jsonObject{"targetId": t.target}, nil); err != nil {
		return Tab{}, b.protocolError(err)
	}
	select { // a dialog that asks whether to leave the page is answered automatically
	case <-t.gone:
	case <-p.conn.lost:
	case <-time.After(5 * time.Second):
		return Tab{}, &Error{Kind: Busy, Message: "the tab did not close"}
	case <-ctx.Done():
		return Tab{}, ctx.Err()
	}
	b.forgetTab(t.target, "")
	return shown, nil
}

// Switch makes a tab active and brings it to the front.
func (b *Browser) Switch(ctx context.Context, id string) (Tab, error) {
	p, done, err := b.acquireProcess(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.findTab(id)
	if err != nil {
		return Tab{}, err
	}
	if err := p.conn.callCommand(ctx, "", "Target.activateTarget", jsonObject{"targetId": t.target}, nil); err != nil {
		return Tab{}, b.protocolError(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.tabInfo(t), nil
}
