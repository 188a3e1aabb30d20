package mcpserver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
)

// Limits of subscriptions to resources.
const (
	maxSubscribed = 100             // resources per client
	followEvery   = 3 * time.Second // interval between two comparisons of the versions
	followTimeout = 10 * time.Second
)

// subscribers holds the sessions that subscribed to a resource. program.mu guards them.
type subscribers struct {
	sessions []*mcp.ServerSession
	version  string
}

// subscribeSession records a subscription. The first one starts the comparison of versions.
func (p *program) subscribeSession(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	version, err := p.s.o.Backend.ClientResourceVersion(ctx, p.client, uri)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return mcp.ResourceNotFoundError(uri)
	case err != nil:
		p.s.o.Log.Warn("mcp: read the version of a resource", "client", p.client.Name, "err", err)
		return errors.New("Hob cannot read the resource now") //nolint:staticcheck // Hob is a name
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sub := p.subscribers[uri]
	switch {
	case sub == nil && len(p.subscribers) >= maxSubscribed:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many subscriptions of this client; unsubscribe from other resources first"}
	case sub == nil:
		sub = &subscribers{version: version}
		p.subscribers[uri] = sub
	}
	if !slices.Contains(sub.sessions, req.Session) {
		sub.sessions = append(sub.sessions, req.Session)
	}
	if !p.following && !p.s.closing.Load() {
		p.following = true
		p.s.work.Go(p.followResources)
	}
	return nil
}

// unsubscribeSession removes a subscription.
func (p *program) unsubscribeSession(_ context.Context, req *mcp.UnsubscribeRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sub := p.subscribers[req.Params.URI]; sub != nil {
		sub.sessions = slices.DeleteFunc(sub.sessions, func(s *mcp.ServerSession) bool { return s == req.Session })
	}
	return nil
}

// followResources notifies the subscribers of changes until there are none.
func (p *program) followResources() {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.s.closed:
			return
		case <-tick.C:
		}
		uris := p.subscribedURIs()
		if len(uris) == 0 {
			return
		}
		for uri, last := range uris {
			p.compareVersion(uri, last)
		}
	}
}

// subscribedURIs removes the subscriptions of ended sessions and returns the versions of the other
// resources. If there are none, the caller must return.
func (p *program) subscribedURIs() map[string]string {
	open := slices.Collect(p.mcp.Sessions())
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]string{}
	for uri, sub := range p.subscribers {
		sub.sessions = slices.DeleteFunc(sub.sessions, func(s *mcp.ServerSession) bool { return !slices.Contains(open, s) })
		if len(sub.sessions) == 0 {
			delete(p.subscribers, uri)
			continue
		}
		out[uri] = sub.version
	}
	p.following = len(out) > 0
	return out
}

// compareVersion notifies the subscribers if a resource changed. A resource that the client may no
// longer read counts as changed, once.
func (p *program) compareVersion(uri, last string) {
	ctx, cancel := context.WithTimeout(context.Background(), followTimeout)
	defer cancel()
	now, err := p.s.o.Backend.ClientResourceVersion(ctx, p.client, uri)
	if err != nil && !errors.Is(err, api.ErrNotFound) || now == last {
		return
	}
	p.mu.Lock()
	if sub := p.subscribers[uri]; sub != nil {
		sub.version = now
	}
	p.mu.Unlock()
	_ = p.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // always nil
}
