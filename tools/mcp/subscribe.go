package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/retry"
	"hob/watchers"
)

// Limits of subscriptions. Resources beyond maxSubscriptions are only read at the watchers' intervals.
const (
	maxSubscriptions = 100 // subscriptions per server
	subscribeTimeout = 10 * time.Second
	announceDelay    = time.Second     // time to collect further announcements
	renewDelay       = 5 * time.Second // wait before a lost subscription is renewed
)

// subscription is the subscription to a watched resource. server.mu guards it.
type subscription struct {
	on      *session // the connection with the subscription; nil if it must be created or renewed
	stream  int      // number of its stream (revision 2026-07-28 over HTTP)
	pending bool     // an announcement is about to be passed on
}

// CheckServer implements watchers.Resources.
func (m *Manager) CheckServer(name string) error {
	_, err := m.findServer(m.life, name)
	return err
}

// WatchResource implements watchers.Resources.
func (m *Manager) WatchResource(ctx context.Context, name, uri string) (watchers.Resource, error) {
	s, err := m.findServer(ctx, name)
	if err != nil {
		return watchers.Resource{}, err
	}
	ses, err := s.connectServer(ctx)
	if rests, ok := err.(*pausedError); ok { //nolint:errorlint // connectServer returns it unwrapped
		return watchers.Resource{}, watchers.Later(time.Now().Add(rests.left), err)
	} else if err != nil {
		return watchers.Resource{}, fmt.Errorf("MCP server %s: %w", name, err)
	}
	if caps := ses.InitializeResult().Capabilities; caps == nil || caps.Resources == nil {
		return watchers.Resource{}, fmt.Errorf("the MCP server %s offers no resources; see: hob mcp test %s", name, name)
	}
	s.subscribeTo(ctx, ses, uri) // before the first reading, so that no change is missed
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout.Duration)
	defer cancel()
	r, err := ses.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	switch {
	case err != nil:
		return watchers.Resource{}, fmt.Errorf("MCP server %s: read the resource: %w", name, err)
	case r.NeedsInput():
		return watchers.Resource{}, fmt.Errorf("MCP server %s: %w", name, errAsks)
	}
	return digestContents(r.Contents), nil
}

// digestContents converts the contents of a resource to its text, size and digest.
func digestContents(contents []*mcp.ResourceContents) (out watchers.Resource) {
	sum := sha256.New()
	var text strings.Builder
	for _, c := range contents {
		if c == nil {
			continue
		}
		for _, part := range []string{c.URI, c.MIMEType, c.Text, string(c.Blob)} {
			fmt.Fprintf(sum, "%d:%s", len(part), part)
		}
		out.Size += len(c.Text) + len(c.Blob)
		switch room := watchers.MaxResourceText - text.Len(); {
		case room <= 0:
		case len(c.Blob) > 0:
			fmt.Fprintf(&text, "(%d KB of %s)\n", len(c.Blob)>>10, cutText(c.MIMEType, 100))
		default:
			text.WriteString(cutText(c.Text, room) + "\n")
		}
	}
	out.Text, out.Digest = cutText(strings.TrimSuffix(text.String(), "\n"), watchers.MaxResourceText), hex.EncodeToString(sum.Sum(nil))
	return out
}

// subscribeTo subscribes to a resource unless the connection already has a subscription to it. A
// failure only means that changes are found later.
func (s *server) subscribeTo(ctx context.Context, ses *session, uri string) {
	s.mu.Lock()
	sub, ok := s.subscribed[uri]
	if !ok && len(s.subscribed) < maxSubscriptions {
		sub, ok = &subscription{}, true
		s.subscribed[uri] = sub
	}
	if !ok || sub.on == ses {
		s.mu.Unlock()
		return
	}
	renews := sub.stream > 0
	sub.on = ses
	s.mu.Unlock()
	if !ses.InitializeResult().Capabilities.Resources.Subscribe {
		return
	}
	done := make(chan error, 1)
	s.m.work.Go(func() { // a listening request of revision 2026-07-28 ignores ctx
		ctx, cancel := context.WithTimeout(s.m.life, subscribeTimeout)
		defer cancel()
		if renews { // the SDK does not know that the stream ended
			_ = ses.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) // fails if there is no subscription
		}
		done <- ses.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	})
	ctx, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.logs.addLine(fmt.Sprintf("subscribe to %s: %v", cutText(uri, 200), err))
		s.mu.Lock()
		if sub.on == ses {
			sub.on = nil // the next reading tries again
		}
		s.mu.Unlock()
	}
}

// announceUpdate passes an announcement of the server to the watchers if a watched resource, or a
// part of one, has changed.
func (s *server) announceUpdate(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for watched, sub := range s.subscribed {
		if (uri == watched || strings.HasPrefix(uri, strings.TrimSuffix(watched, "/")+"/")) && !sub.pending {
			sub.pending = true
			s.m.work.Go(func() { s.passOn(watched, sub, announceDelay) })
		}
	}
}

// passOn makes the watchers of a resource poll it. If no watcher is left, it ends the subscription.
func (s *server) passOn(uri string, sub *subscription, delay time.Duration) {
	if retry.Sleep(s.m.life, delay) != nil {
		return
	}
	topic := watchers.ResourceTopic(s.cfg.Name, uri)
	watched := s.m.opt.Watched != nil && s.m.opt.Watched(topic)
	s.mu.Lock()
	sub.pending = false
	ses := sub.on
	if !watched && s.subscribed[uri] == sub {
		delete(s.subscribed, uri)
	}
	s.mu.Unlock()
	switch {
	case watched:
		s.m.opt.Changed(topic)
	case ses != nil:
		ctx, cancel := context.WithTimeout(s.m.life, subscribeTimeout)
		defer cancel()
		_ = ses.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) // the connection may have ended
	}
}

// renewSubscriptions makes the watchers read their resources after the connection, or the stream of
// one subscription, ended. This also renews the subscriptions and finds changes since the last
// reading.
func (s *server) renewSubscriptions(delay time.Duration, lost func(*subscription) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri, sub := range s.subscribed {
		if lost(sub) {
			sub.on = nil
			s.m.work.Go(func() { s.passOn(uri, sub, delay) })
		}
	}
}

// watchedURIs lists the watched resources.
func (s *server) watchedURIs() []string {
	s.mu.Lock()
	all := slices.Sorted(maps.Keys(s.subscribed))
	s.mu.Unlock()
	return slices.DeleteFunc(all, func(uri string) bool {
		return s.m.opt.Watched == nil || !s.m.opt.Watched(watchers.ResourceTopic(s.cfg.Name, uri))
	})
}

// listenBody is the body of a response that announces changes. The SDK does not report the end of
// the body.
type listenBody struct {
	io.ReadCloser
	ended func()
}

// Close implements io.Closer.
func (b *listenBody) Close() error {
	b.ended()
	return b.ReadCloser.Close()
}

// followListen watches the response to a request of revision 2026-07-28 that subscribes to
// resources.
func (s *server) followListen(r *http.Request, resp *http.Response) {
	if r.Header.Get("Mcp-Method") != "subscriptions/listen" || r.GetBody == nil {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return
	}
	defer body.Close()
	var listen struct {
		Params mcp.SubscriptionsListenParams `json:"params"`
	}
	if json.NewDecoder(body).Decode(&listen) != nil || listen.Params.Notifications == nil {
		return
	}
	for _, uri := range listen.Params.Notifications.ResourceSubscriptions {
		s.mu.Lock()
		sub := s.subscribed[uri]
		if sub == nil {
			s.mu.Unlock()
			continue
		}
		sub.stream++
		stream := sub.stream
		s.mu.Unlock()
		resp.Body = &listenBody{resp.Body, func() {
			s.renewSubscriptions(renewDelay, func(x *subscription) bool { return x == sub && x.stream == stream && x.on != nil })
		}}
	}
}
