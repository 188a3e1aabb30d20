package browser

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/safehttp"
)

// Open opens an address in a new tab and makes that tab active. If the browser turns out
// to have ended, Open restarts it.
func (b *Browser) Open(ctx context.Context, address string) (Tab, error) {
	t, err := b.open(ctx, address)
	if errors.Is(err, errLost) && ctx.Err() == nil {
		return b.open(ctx, address)
	}
	return t, err
}

func (b *Browser) open(ctx context.Context, address string) (Tab, error) {
	p, done, err := b.use(ctx, true)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.unused(ctx, p)
	if err != nil {
		return Tab{}, err
	}
	release, err := t.hold(ctx)
	if err != nil {
		return Tab{}, err
	}
	defer release()
	if err := t.navigate(ctx, address); err != nil {
		_ = p.conn.call(ctx, "", "Target.closeTarget", object{"targetId": t.target}, nil) // it shows nothing
		return Tab{}, err
	}
	t.mu.Lock()
	t.own = true
	t.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.shown(t), nil
}

// unused returns the blank tab of a new browser, or a new tab. It never returns a tab that
// a page has opened, because that page could navigate it at any time.
func (b *Browser) unused(ctx context.Context, p *process) (*tab, error) {
	list := b.pages()
	for _, t := range list {
		t.mu.Lock()
		fresh := t.fresh && t.url == "about:blank" && t.ended == nil
		t.fresh, t.own = t.fresh && !fresh, t.own || fresh
		t.mu.Unlock()
		if fresh {
			return t, t.await(ctx)
		}
	}
	if len(list) >= b.opt.MaxTabs {
		return nil, &Error{Kind: TooMany, Message: "the limit of open tabs is reached", Remedy: "close a tab that is not needed"}
	}
	t, err := b.blank(ctx, p)
	if err == nil {
		t.mu.Lock()
		t.own = true // opened by Hob
		t.mu.Unlock()
	}
	return t, err
}

// Navigate opens an address in a tab; "" is the active one.
func (b *Browser) Navigate(ctx context.Context, id, address string) (Tab, error) {
	_, done, err := b.use(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.tab(id)
	if err != nil {
		return Tab{}, err
	}
	if err := t.await(ctx); err != nil {
		return Tab{}, err
	}
	release, err := t.hold(ctx)
	if err != nil {
		return Tab{}, err
	}
	defer release()
	if err := t.navigate(ctx, address); err != nil {
		return Tab{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.shown(t), nil
}

// navigate opens an address that its caller has checked; the caller holds the tab.
func (t *tab) navigate(ctx context.Context, address string) error {
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
	err = t.call(step, "Page.navigate", object{"url": address, "transitionType": "link"}, &went)
	cancel()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Unreachable, Message: u.Host + " did not answer in time"}
	case err != nil:
		return t.b.failed(err)
	case went.Download:
		return &Error{Kind: Refused, Message: "the address is a download, which Hob does not allow", Remedy: "open a page instead"}
	case went.Error != "":
		return t.unreached(begin, u.Hostname(), went.Error)
	}
	if went.LoaderID != "" {
		t.wait(ctx, went.LoaderID)
	}
	return t.landed(ctx, begin)
}

// wait waits until a document is loaded and quiet, or the time limit. "" means the current
// document, which another one may already have replaced.
func (t *tab) wait(ctx context.Context, loader string) {
	ctx, cancel := context.WithTimeout(ctx, t.b.limits.load)
	defer cancel()
	for {
		t.mu.Lock()
		loaded, quiet := t.loaded, t.quiet
		coming := loader != "" && t.loader != loader && !slices.Contains(t.before, loader)
		t.mu.Unlock()
		if coming { // the browser reported the document, the page has not yet
			if sleep(ctx, 10*time.Millisecond) != nil {
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

// landed checks where a navigation ended.
func (t *tab) landed(ctx context.Context, begin time.Time) error {
	var at struct{ URL, Title string }
	if err := t.run(ctx, "where", nil, &at); err != nil {
		return err
	}
	t.mu.Lock()
	t.url, t.title = at.URL, at.Title
	t.mu.Unlock()
	if !webPage(at.URL) {
		if why := t.p.proxy.refusedSince(begin, ""); why != nil { // the browser shows its own error page
			return t.away(ctx, refusedBy(why))
		}
		return t.away(ctx, &Error{Kind: Refused, Message: "the page leads to an address that is not http or https"})
	}
	return nil
}

// away leaves a page that must not be shown.
func (t *tab) away(ctx context.Context, why error) error {
	_ = t.call(ctx, "Page.navigate", object{"url": "about:blank"}, nil) // there is nothing on it in any case
	return why
}

// unreached returns the error for an address that did not open.
func (t *tab) unreached(begin time.Time, host, said string) error {
	if why := t.p.proxy.refusedSince(begin, host); why != nil {
		return refusedBy(why)
	}
	if why := t.p.proxy.refusedSince(begin, ""); why != nil { // where it was redirected to
		return refusedBy(why)
	}
	what := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(said, "net::ERR_")), "_", " ")
	switch {
	case strings.HasPrefix(what, "cert "):
		return &Error{Kind: Unreachable, Message: host + " cannot be opened: its certificate is not valid (" + clean(what, 100) + "), so it may be an impostor"}
	case strings.Contains(what, "auth credentials"):
		return &Error{Kind: Unreachable, Message: host + " cannot be opened: it requires HTTP authentication, which Hob does not answer", Remedy: "ask the user to sign in, in the browser's window"}
	}
	return &Error{Kind: Unreachable, Message: host + " cannot be opened: " + clean(what, 100)}
}

// refusedBy returns the error of an address that the proxy refused.
func refusedBy(why error) error {
	e, ok := errors.AsType[*safehttp.Error](why)
	if !ok {
		return &Error{Kind: Unreachable, Message: clean(why.Error(), 300), Quoted: true, Err: why}
	}
	kind := Unreachable
	if e.Refusal() {
		kind = Refused
	}
	return &Error{Kind: kind, Message: clean(e.Message, 400), Remedy: e.Remedy, Quoted: true, Err: why}
}

// CloseTab closes a tab.
func (b *Browser) CloseTab(ctx context.Context, id string) (Tab, error) {
	p, done, err := b.use(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.tab(id)
	if err != nil {
		return Tab{}, err
	}
	shown := t.shown(nil)
	if err := p.conn.call(ctx, "", "Target.closeTarget", object{"targetId": t.target}, nil); err != nil {
		return Tab{}, b.failed(err)
	}
	select { // a dialog that asks whether to leave is answered
	case <-t.gone:
	case <-p.conn.lost:
	case <-time.After(5 * time.Second):
		return Tab{}, &Error{Kind: Busy, Message: "the tab did not close"}
	case <-ctx.Done():
		return Tab{}, ctx.Err()
	}
	b.forget(t.target, "")
	return shown, nil
}

// Switch makes a tab active and brings it to the front.
func (b *Browser) Switch(ctx context.Context, id string) (Tab, error) {
	p, done, err := b.use(ctx, false)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	t, err := b.tab(id)
	if err != nil {
		return Tab{}, err
	}
	if err := p.conn.call(ctx, "", "Target.activateTarget", object{"targetId": t.target}, nil); err != nil {
		return Tab{}, b.failed(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.shown(t), nil
}
