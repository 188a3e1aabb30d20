package browser

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

type object = map[string]any

// settle sets up a new browser: it subscribes to its tabs, disables downloads, and verifies that it uses
// the proxy.
func (b *Browser) settle(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	for _, c := range []struct {
		method string
		params object
	}{
		{"Browser.setDownloadBehavior", object{"behavior": "deny", "eventsEnabled": true}},
		{"Target.setDiscoverTargets", object{"discover": true, "filter": []object{{"type": "page"}}}},
		{"Target.setAutoAttach", object{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": []object{{"type": "page"}}}},
	} {
		if err := p.conn.call(ctx, "", c.method, c.params, nil); err != nil {
			return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Remedy: "use a recent Chrome, Chromium, Edge or Brave", Err: err}
		}
	}
	t, err := b.first(ctx, p)
	if err != nil {
		return err
	}
	return b.greet(ctx, p, t)
}

// first waits for the first tab of a new browser, or opens one.
func (b *Browser) first(ctx context.Context, p *process) (*tab, error) {
	for range 20 {
		if list := b.pages(); len(list) > 0 {
			return list[0], list[0].await(ctx)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return b.blank(ctx, p)
}

// greet makes the browser request a page from the proxy with the password, which it then
// uses for all requests. A browser that does not send this request uses another proxy, set
// by a policy of this machine, so that Hob could not control its traffic.
func (b *Browser) greet(ctx context.Context, p *process, t *tab) error {
	if err := t.call(ctx, "Fetch.enable", object{"handleAuthRequests": true, "patterns": []object{{"urlPattern": "http://" + greeting + "/*"}}}, nil); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Err: err}
	}
	// The response has no content, so that no page load must be awaited.
	ask, cancel := context.WithTimeout(ctx, 10*time.Second)
	err := t.call(ask, "Page.navigate", object{"url": "http://" + greeting + "/"}, nil)
	cancel()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Err: err}
	}
	if !p.proxy.reached() {
		return &Error{
			Kind: NotStarted, Message: "the browser does not use Hob's proxy, so Hob could not control its traffic",
			Remedy: "a policy of this machine may set another proxy; set [browser] path to a browser without one",
		}
	}
	t.mu.Lock()
	t.fresh = true
	t.mu.Unlock()
	return t.call(ctx, "Fetch.disable", nil, nil)
}

// greeted answers the authentication requests of the greeting, and no others.
func (b *Browser) greeted(p *process, t *tab, e event) {
	var q struct {
		RequestID     string `json:"requestId"`
		AuthChallenge struct {
			Source string `json:"source"`
			Origin string `json:"origin"`
		} `json:"authChallenge"`
	}
	if json.Unmarshal(e.Params, &q) != nil {
		return
	}
	p.do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if e.Method == "Fetch.requestPaused" {
			_ = t.call(ctx, "Fetch.continueRequest", object{"requestId": q.RequestID}, nil) // greet checks the outcome
			return
		}
		answer := object{"response": "CancelAuth"}
		if q.AuthChallenge.Source == "Proxy" {
			answer = object{"response": "ProvideCredentials", "username": "hob", "password": p.proxy.secret}
		}
		_ = t.call(ctx, "Fetch.continueWithAuth", object{"requestId": q.RequestID, "authChallengeResponse": answer}, nil) // as above
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
