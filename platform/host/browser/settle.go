package browser

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hob/platform/retry"
)

type jsonObject = map[string]any

// setUpProcess sets up a new browser: it subscribes to the browser's tabs, disables downloads, and
// verifies that the browser uses the proxy.
func (b *Browser) setUpProcess(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	for _, c := range []struct {
		method string
		params jsonObject
	}{
		{"Browser.setDownloadBehavior", jsonObject{"behavior": "deny", "eventsEnabled": true}},
		{"Target.setDiscoverTargets", jsonObject{"discover": true, "filter": []jsonObject{{"type": "page"}}}},
		{"Target.setAutoAttach", jsonObject{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": []jsonObject{{"type": "page"}}}},
	} {
		if err := p.conn.callCommand(ctx, "", c.method, c.params, nil); err != nil {
			return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Remedy: "use a recent Chrome, Chromium, Edge or Brave", Err: err}
		}
	}
	t, err := b.firstTab(ctx, p)
	if err != nil {
		return err
	}
	return b.authenticateProxy(ctx, p, t)
}

// firstTab waits for the first tab of a new browser, or opens one.
func (b *Browser) firstTab(ctx context.Context, p *process) (*tab, error) {
	for range 20 {
		if list := b.openTabs(); len(list) > 0 {
			return list[0], list[0].waitReady(ctx)
		}
		if err := retry.Sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return b.newBlankTab(ctx, p)
}

// authenticateProxy makes the browser request a page from the proxy with the password. The browser
// then uses the password for all requests. A browser that does not send this request uses another
// proxy, set by a policy on this machine, so that Hob cannot control its traffic.
func (b *Browser) authenticateProxy(ctx context.Context, p *process, t *tab) error {
	if err := t.callCommand(ctx, "Fetch.enable", jsonObject{"handleAuthRequests": true, "patterns": []jsonObject{{"urlPattern": "http://" + greeting + "/*"}}}, nil); err != nil {
		return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Err: err}
	}
	// the response has no content, so it is not necessary to wait for a page to load
	ask, cancel := context.WithTimeout(ctx, 10*time.Second)
	err := t.callCommand(ask, "Page.navigate", jsonObject{"url": "http://" + greeting + "/"}, nil)
	cancel()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: NotStarted, Message: "cannot control the browser: " + err.Error(), Err: err}
	}
	if !p.proxy.hasGreeted() {
		return &Error{
			Kind: NotStarted, Message: "the browser does not use Hob's proxy, so Hob cannot control its traffic",
			Remedy: "a policy on this machine may set another proxy; set [browser] path to a browser without such a policy",
		}
	}
	t.mu.Lock()
	t.fresh = true
	t.mu.Unlock()
	return t.callCommand(ctx, "Fetch.disable", nil, nil)
}

// answerGreeting answers only the authentication requests for the greeting.
func (b *Browser) answerGreeting(p *process, t *tab, e cdpEvent) {
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
	p.runBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if e.Method == "Fetch.requestPaused" {
			_ = t.callCommand(ctx, "Fetch.continueRequest", jsonObject{"requestId": q.RequestID}, nil) // authenticateProxy checks the outcome
			return
		}
		answer := jsonObject{"response": "CancelAuth"}
		if q.AuthChallenge.Source == "Proxy" {
			answer = jsonObject{"response": "ProvideCredentials", "username": "hob", "password": p.proxy.secret}
		}
		_ = t.callCommand(ctx, "Fetch.continueWithAuth", jsonObject{"requestId": q.RequestID, "authChallengeResponse": answer}, nil) // authenticateProxy checks the outcome
	})
}
