// Package mcpserver implements Hob's MCP server (https://modelcontextprotocol.io) for external
// programs, on one HTTP path. Requests of revision 2026-07-28 are stateless; those of revision
// 2025-11-25 and earlier have a session. A program gets the tools that the configuration and its
// token allow, tasks and notes as resources, and skills as prompts.
//
// The server acts as the program, never as the user: api.ClientCalls checks each call, and no
// message of a program can approve one. Package web authenticates the program and checks Host,
// Origin and sizes before it calls ServeClient.
package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
)

// Limits for one client. One program with a broken loop must not use up the machine.
const (
	maxSessions   = 32 // sessions; a further one ends the oldest
	sessionIdle   = 10 * time.Minute
	sessionLife   = 24 * time.Hour // without a request; a subscriber may send none
	maxInProgress = 64             // requests at once, besides one stream per session
	perMinute     = 1200           // requests
	burst         = 400            // requests
	recheckEvery  = 15 * time.Second
)

// statelessRevision is the first revision without sessions.
const statelessRevision = "2026-07-28"

// Options holds the options of New. All are required.
type Options struct {
	Backend api.ClientCalls
	Version func() string
	Log     *slog.Logger
}

// Server serves all clients. Its methods may be called concurrently.
type Server struct {
	o       Options
	closing atomic.Bool
	closed  chan struct{} // closed by Close
	work    sync.WaitGroup

	mu      sync.Mutex
	clients map[string]*program // keyed by client id
}

// New returns a server. It does no I/O.
func New(o Options) *Server {
	return &Server{o: o, closed: make(chan struct{}), clients: map[string]*program{}}
}

// program is the server's state for one client. Sessions belong to it, so that no other client can
// use them.
type program struct {
	s         *Server
	mcp       *mcp.Server
	stateful  *mcp.StreamableHTTPHandler
	stateless *mcp.StreamableHTTPHandler

	mu      sync.Mutex
	client  api.Client
	tools   []api.Tool
	prompts []api.SkillPrompt
	open    int       // requests in progress
	left    float64   // requests that may start now
	at      time.Time // when left was computed

	// subscribers holds the sessions that subscribed to a resource, and its last version, by URI.
	subscribers map[string]*subscribers
	following   bool // whether followResources runs
}

// Close ends all sessions. Calls that wait for the user stay open.
func (s *Server) Close() {
	if !s.closing.Swap(true) {
		close(s.closed)
	}
	s.mu.Lock()
	all := s.clients
	s.clients = map[string]*program{}
	s.mu.Unlock()
	for _, p := range all {
		p.endSessions()
	}
	s.work.Wait()
}

// endSessions ends the sessions of a client.
func (p *program) endSessions() {
	for ss := range p.mcp.Sessions() {
		_ = ss.Close() // the program may be gone
	}
}

// forgetClient ends the sessions of a client whose token is no longer valid.
func (s *Server) forgetClient(c api.Client) {
	s.mu.Lock()
	p := s.clients[c.ID]
	delete(s.clients, c.ID)
	s.mu.Unlock()
	if p != nil {
		p.endSessions()
	}
}

// Request is one authenticated HTTP request.
type Request struct {
	Client api.Client
	// Body is the complete body; the reader of the request is already consumed.
	Body []byte
	// IsValid reports whether the client's token is still valid. Long requests end when it is not.
	IsValid func(ctx context.Context) bool
}

// ServeClient serves a request of an authenticated client. r.Body is req.Body.
func (s *Server) ServeClient(w http.ResponseWriter, r *http.Request, req Request) {
	if s.closing.Load() {
		http.Error(w, "Hob is stopping", http.StatusServiceUnavailable)
		return
	}
	p := s.programOf(req.Client)
	if wait := p.admitRequest(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests from this client; send them more slowly", http.StatusTooManyRequests)
		return
	}
	if r.Method == http.MethodGet { // limited by the number of sessions
		p.endRequest()
	} else {
		defer p.endRequest()
	}
	if err := p.refreshLists(r.Context()); err != nil {
		s.o.Log.Warn("mcp: list tools and prompts", "client", req.Client.Name, "err", err)
		http.Error(w, "Hob cannot list its tools now", http.StatusInternalServerError)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer s.watchToken(ctx, req, cancel)()
	r = r.WithContext(ctx)
	if isStateless(r.Header, req.Body) {
		p.stateless.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
		p.endOldSessions()
	}
	p.stateful.ServeHTTP(w, r)
}

// watchToken ends a long request, and the sessions of its client, when the token becomes invalid.
func (s *Server) watchToken(ctx context.Context, req Request, cancel func()) (stop func()) {
	t := time.NewTicker(recheckEvery)
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				return
			case <-t.C:
				if !req.IsValid(ctx) && ctx.Err() == nil {
					s.forgetClient(req.Client)
					cancel()
					return
				}
			}
		}
	}()
	return func() {
		t.Stop()
		close(ended)
		<-done
	}
}

// isStateless reports whether a request belongs to a revision without sessions, according to its
// header or, if that is missing, its body.
func isStateless(h http.Header, body []byte) bool {
	if v := h.Get("Mcp-Protocol-Version"); v != "" {
		return v >= statelessRevision
	}
	var m struct {
		Params struct {
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	return json.Unmarshal(body, &m) == nil && m.Params.Meta.Version >= statelessRevision
}

// freeIdlePrograms removes the state of clients that sent no request for some time and have no
// session, for example because their token was revoked or their turn ended. The caller must hold
// s.mu.
func (s *Server) freeIdlePrograms(now time.Time) {
	for id, p := range s.clients {
		if p.isIdle(now) {
			delete(s.clients, id)
		}
	}
}

// isIdle reports whether nothing of the program's state is in use.
func (p *program) isIdle(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open > 0 || now.Sub(p.at) < sessionIdle {
		return false
	}
	for range p.mcp.Sessions() {
		return false
	}
	return true
}

// programOf returns the state of a client.
func (s *Server) programOf(c api.Client) *program {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.clients[c.ID]; ok {
		return p
	}
	s.freeIdlePrograms(time.Now())
	p := &program{s: s, client: c, left: burst, at: time.Now(), subscribers: map[string]*subscribers{}}
	p.mcp = mcp.NewServer(&mcp.Implementation{Name: "hob", Title: "Hob", Version: s.o.Version()}, p.serverOptions())
	addFixtures(p.mcp)
	get := func(*http.Request) *mcp.Server { return p.mcp }
	common := mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler), SessionTimeout: sessionLife, DisableLocalhostProtection: true} // web checks Host
	p.stateful = mcp.NewStreamableHTTPHandler(get, &common)
	without := common
	without.Stateless, without.PropagateRequestCancellation = true, true
	p.stateless = mcp.NewStreamableHTTPHandler(get, &without)
	s.clients[c.ID] = p
	return p
}

// admitRequest counts a request. It returns how long the client must wait if there are too many.
func (p *program) admitRequest(now time.Time) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = min(burst, p.left+now.Sub(p.at).Minutes()*perMinute)
	p.at = now
	if p.left < 1 || p.open >= maxInProgress {
		return time.Second
	}
	p.left--
	p.open++
	return 0
}

func (p *program) endRequest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// endOldSessions makes room for a new session. Many clients never end theirs.
func (p *program) endOldSessions() {
	open := slices.Collect(p.mcp.Sessions())
	for _, ss := range open[:max(0, len(open)-maxSessions+1)] {
		_ = ss.Close()
	}
}

// refreshLists updates the tools and prompts that the client sees. Sessions are notified of changes.
func (p *program) refreshLists(ctx context.Context) error {
	p.mu.Lock()
	client := p.client
	p.mu.Unlock()
	tools, err := p.s.o.Backend.ClientTools(ctx, client)
	if err != nil {
		return err
	}
	prompts, err := p.s.o.Backend.ClientPrompts(ctx, client)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if client.Kind != "session" {
		p.replaceResources(tools)
	}
	p.replaceTools(tools)
	p.replacePrompts(prompts)
	return nil
}

// replaceTools registers the changes of the list of tools. The caller must hold p.mu.
func (p *program) replaceTools(now []api.Tool) {
	for _, old := range p.tools {
		if !slices.ContainsFunc(now, func(t api.Tool) bool { return t.Name == old.Name }) {
			p.mcp.RemoveTools(old.Name)
		}
	}
	for _, t := range now {
		same := func(old api.Tool) bool {
			return old.Name == t.Name && old.Description == t.Description && string(old.Schema) == string(t.Schema)
		}
		if !slices.ContainsFunc(p.tools, same) {
			p.addTool(t)
		}
	}
	p.tools = now
}

// replacePrompts registers the changes of the list of skills. The caller must hold p.mu.
func (p *program) replacePrompts(now []api.SkillPrompt) {
	for _, old := range p.prompts {
		if !slices.ContainsFunc(now, func(k api.SkillPrompt) bool { return k.Name == old.Name }) {
			p.mcp.RemovePrompts(old.Name)
		}
	}
	for _, k := range now {
		if !slices.Contains(p.prompts, k) {
			p.mcp.AddPrompt(&mcp.Prompt{Name: k.Name, Description: k.Description}, p.getPrompt)
		}
	}
	p.prompts = now
}
