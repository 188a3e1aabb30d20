package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/web"
)

// webhookSite is a webhook channel whose proof is a word in a header.
type webhookSite struct {
	mu    sync.Mutex
	posts []channels.WebhookRequest
	says  channels.WebhookResponse
}

func (p *webhookSite) Hook(_ context.Context, post channels.WebhookRequest) channels.WebhookResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	if post.Header.Get("X-Proof") != "right" {
		return channels.WebhookResponse{Status: http.StatusUnauthorized}
	}
	p.posts = append(p.posts, post)
	return p.says
}

func (p *webhookSite) listPosts() []channels.WebhookRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]channels.WebhookRequest(nil), p.posts...)
}

func withHooks(t *testing.T, change func(*web.Options)) (*serverFixture, *webhookSite) {
	t.Helper()
	p := &webhookSite{says: channels.WebhookResponse{Status: http.StatusAccepted, Body: map[string]string{"event": "e1"}}}
	return newServerFixture(t, func(o *web.Options) {
		o.Hooks = map[string]channels.WebhookReceiver{"porch": p}
		if change != nil {
			change(o)
		}
	}), p
}

func TestHooks(t *testing.T) {
	h, p := withHooks(t, nil)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
	}{
		{"without a token", "POST", "/hooks/porch", "x", []string{"Authorization", "", "X-Proof", "right"}, 202},
		{"by the name of a tunnel", "POST", "/hooks/porch", "x", []string{"Host", "tunnel.example.org", "X-Proof", "right"}, 202},
		{"without a proof", "POST", "/hooks/porch", "x", nil, 401},
		{"no such channel", "POST", "/hooks/none", "x", []string{"X-Proof", "right"}, 401},
		{"no such channel, by another name", "POST", "/hooks/none", "x", []string{"Host", "tunnel.example.org"}, 401},
		{"read", "GET", "/hooks/porch", "", nil, 405},
		{"read by another name", "GET", "/hooks/porch", "", []string{"Host", "tunnel.example.org"}, 421},
		{"anything else by another name", "GET", "/api/v1/sessions", "", []string{"Host", "tunnel.example.org"}, 421},
		{"out of the path", "POST", "/hooks/../api/v1/manage/stop", "", []string{"Host", "tunnel.example.org"}, 421},
		{"a page of another site", "POST", "/hooks/porch", "x", []string{"Origin", "https://evil.example", "X-Proof", "right"}, 403},
		{"a megabyte", "POST", "/hooks/porch", strings.Repeat("x", 1<<20), []string{"X-Proof", "right"}, 202},
		{"more", "POST", "/hooks/porch", strings.Repeat("x", 1<<20+1), []string{"X-Proof", "right"}, 413},
	} {
		if r := h.sendRequest(t, c.method, c.path, c.body, c.header...); r.code != c.want {
			t.Errorf("%s: %d %.200s", c.name, r.code, r.body)
		}
	}
	if n := len(p.listPosts()); n != 3 || p.listPosts()[0].Unknown || string(p.listPosts()[0].Body) != "x" {
		t.Errorf("%d arrived", n)
	}
	for _, c := range []struct {
		says channels.WebhookResponse
		want string
	}{
		{channels.WebhookResponse{Status: 400, Error: "text is empty"}, `"code":"invalid","message":"text is empty"`},
		{channels.WebhookResponse{Status: 403, Error: "not let in"}, `"code":"denied"`},
		{channels.WebhookResponse{Status: 409, Error: "used for another text"}, `"code":"conflict"`},
		{channels.WebhookResponse{Status: 503}, `"code":"not_ready","message":"service unavailable"`},
	} {
		p.mu.Lock()
		p.says = c.says
		p.mu.Unlock()
		if r := h.sendRequest(t, "POST", "/hooks/porch", "x", "X-Proof", "right"); r.code != c.says.Status || !strings.Contains(r.body, c.want) {
			t.Errorf("%+v: %d %s", c.says, r.code, r.body)
		}
	}
	for _, path := range []string{"/hooks/porch", "/hooks/none"} {
		if r := h.sendRequest(t, "POST", path, "x", "X-Hob-Signature", "v1=00"); r.code != 401 || !strings.Contains(r.body, "timestamp.key.body") {
			t.Errorf("%s with a signature in another format: %d %s, want 401 with the remedy", path, r.code, r.body)
		}
	}
}

// TestHooks_RejectProgramsStartedByHob checks that posts from programs that Hob started are rejected, and that
// unknown senders are reported to the channel.
func TestHooks_RejectProgramsStartedByHob(t *testing.T) {
	for who, want := range map[web.Peer]int{web.PeerOwner: 202, web.PeerOther: 202, web.PeerUnknown: 202, web.PeerHob: 403} {
		h, p := withHooks(t, func(o *web.Options) {
			o.Listen = "127.0.0.1:0"
			o.Peer = func(_, _ string, _ bool) web.Peer { return who }
		})
		end := serveUntilEnd(t, h)
		status := postRight(t, h)
		end()
		if status != want || want == 202 && p.listPosts()[0].Unknown != (who != web.PeerOwner) {
			t.Errorf("%v: %d", who, status)
		}
	}
}

// serveUntilEnd lets a server listen until end.
func serveUntilEnd(t *testing.T, h *serverFixture) (end func()) {
	t.Helper()
	if err := h.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, nil) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// postRight posts with a valid proof and returns the status.
func postRight(t *testing.T, h *serverFixture) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Server.URL()+"/hooks/porch", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Proof", "right")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestHooks_SlowSendersBlockNoOthers checks that any number of slow senders cannot block other senders.
func TestHooks_SlowSendersBlockNoOthers(t *testing.T) {
	h, p := withHooks(t, func(o *web.Options) {
		o.Listen = "127.0.0.1:0"
		o.Peer = func(_, _ string, _ bool) web.Peer { return web.PeerOther }
	})
	defer serveUntilEnd(t, h)()
	address := strings.TrimPrefix(h.Server.URL(), "http://")
	var d net.Dialer
	for i := range 100 {
		conn, err := d.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "POST /hooks/porch HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 12) // part of "HTTP/1.1 100 Continue": the server waits for the body
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(conn, b); err != nil || string(b) != "HTTP/1.1 100" {
			t.Fatalf("%d: %q, %v", i, b, err)
		}
	}
	if status := postRight(t, h); status != http.StatusAccepted || len(p.listPosts()) != 1 {
		t.Errorf("status %d", status)
	}
}

// TestHooks_HaveLimits checks that posts with invalid proofs are slowed down without affecting posts
// with valid proofs or the owner's login, and that posts with valid proofs have a rate limit.
func TestHooks_HaveLimits(t *testing.T) {
	h, _ := withHooks(t, func(o *web.Options) { o.Password = "correct horse battery" })
	last := 0
	for range 40 {
		last = h.sendRequest(t, "POST", "/hooks/porch", "x").code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("status after 40 invalid proofs: %d", last)
	}
	if r := h.sendRequest(t, "POST", "/login", "password=wrong", "Authorization", "", "Content-Type", "application/x-www-form-urlencoded"); r.code == http.StatusTooManyRequests {
		t.Error("the owner's login is slowed down")
	}
	for i := range 121 {
		if r := h.sendRequest(t, "POST", "/hooks/porch", "x", "X-Proof", "right"); (r.code == http.StatusTooManyRequests) != (i == 120) {
			t.Fatalf("post %d: %d", i, r.code)
		}
	}
}
