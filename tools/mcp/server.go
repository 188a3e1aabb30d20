package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/config"
	"hob/platform/retry"
	"hob/tools"
)

// The time limits of a connection.
const (
	modernTimeout  = 20 * time.Second // limit for connecting with the newest protocol revision; then Hob tries the former revision
	connectTimeout = time.Minute      // npx may first download the program
	listTimeout    = 30 * time.Second
	staleAfter     = 10 * time.Minute // a list of tools is read again before a call
	steadyAfter    = time.Minute      // a connection of at least this duration resets the backoff
	maxPages       = 50
)

// restarts is the backoff of a server that fails.
var restarts = retry.Backoff{First: time.Second, Max: 5 * time.Minute, Jitter: 0.25} //nolint:gochecknoglobals // a constant

// server is one configured server.
type server struct {
	m    *Manager
	cfg  config.MCPServer
	logs logRing

	listing sync.Mutex // held while the tools are listed

	mu         sync.Mutex
	pins       map[string]*pin
	refused    map[string]string // reasons why tools of the server are not used, keyed by name
	session    *session          // nil if there is no connection
	connecting chan struct{}     // closed when the attempt has ended; nil if there is none
	stopped    bool
	login      *login   // the last login, or nil
	scopes     []string // scopes for which a call was refused; the next login requests them
	failures   int
	retryAt    time.Time
	cause      error // why there is no connection
	progress   map[string]func(fraction float64, note string)
	prompts    []tools.Prompt           // the prompts that serve as skills
	questions  map[string]*question     // questions that wait for an answer, keyed by id; nil if the server never asked
	subscribed map[string]*subscription // subscriptions to watched resources, keyed by URI
}

// session is one connection.
type session struct {
	*mcp.ClientSession
	process *process // nil for a URL
	// reload reads the OpenAPI document again and returns the reasons why operations cannot be
	// used, keyed by name. It is nil for an MCP server.
	reload func(ctx context.Context) (skipped map[string]string, err error)
	since  time.Time
	done   chan struct{} // closed when the session has ended

	mu     sync.Mutex
	stale  bool // the server announced a change of its tools
	listed time.Time
	rounds []*callRound // rounds of the calls in progress
}

func newServer(m *Manager, c config.MCPServer) *server {
	return &server{m: m, cfg: c, pins: map[string]*pin{}, refused: map[string]string{}, progress: map[string]func(float64, string){}, subscribed: map[string]*subscription{}}
}

// sourceName returns the name of the server in the catalog.
func (s *server) sourceName() string { return "mcp:" + s.cfg.Name }

// isKnown reports whether the tools of the server were seen before.
func (s *server) isKnown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pins) > 0
}

// errDisabled is the cause of a server with enabled = false.
var errDisabled = errors.New("disabled; set enabled = true")

// connectServer returns the connection to the server, and starts it if necessary. A server that failed
// is started again only after a pause.
func (s *server) connectServer(ctx context.Context) (*session, error) {
	s.mu.Lock()
	switch now := time.Now(); {
	case !s.cfg.Enabled:
		s.mu.Unlock()
		return nil, errDisabled
	case s.stopped:
		err := s.cause
		s.mu.Unlock()
		return nil, err
	case s.session != nil:
		defer s.mu.Unlock()
		return s.session, nil
	case s.connecting == nil && now.Before(s.retryAt):
		defer s.mu.Unlock()
		return nil, &pausedError{s.cause, s.retryAt.Sub(now).Round(time.Second)}
	case s.connecting == nil:
		s.connecting = make(chan struct{})
		s.m.work.Go(s.runAttempt)
	}
	attempt := s.connecting
	s.mu.Unlock()
	select {
	case <-attempt:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil, s.cause
	}
	return s.session, nil
}

// pausedError is returned during the pause after a failure.
type pausedError struct {
	cause error
	left  time.Duration
}

func (e *pausedError) Error() string {
	return fmt.Sprintf("%v (next attempt in %v)", e.cause, max(e.left, time.Second))
}

func (e *pausedError) Unwrap() error { return e.cause }

// forgetFailures ends the pause after a failure, so that the next connection attempt starts
// immediately.
func (s *server) forgetFailures() {
	s.mu.Lock()
	s.failures, s.retryAt = 0, time.Time{}
	s.mu.Unlock()
}

// runAttempt makes one attempt to connect and then waits for the end of the connection.
func (s *server) runAttempt() {
	ses, err := s.dialServer(s.m.life)
	if err == nil {
		if err = s.listTools(s.m.life, ses); err != nil {
			s.hangUp(ses)
		}
	}
	s.mu.Lock()
	if s.stopped && err == nil {
		err = s.cause
		s.mu.Unlock()
		s.hangUp(ses)
		s.mu.Lock()
	}
	close(s.connecting)
	s.connecting = nil
	if err != nil {
		s.failLocked(err)
		s.mu.Unlock()
		s.logs.addLine("not connected: " + err.Error())
		return
	}
	s.session, s.cause = ses, nil
	s.mu.Unlock()
	err = ses.Wait()
	s.hangUp(ses)
	err = s.explainEnd(ses, err)
	s.mu.Lock()
	s.session = nil
	if time.Since(ses.since) > steadyAfter {
		s.failures = 0
	}
	s.failLocked(err)
	rests := time.Until(s.retryAt)
	s.mu.Unlock()
	close(ses.done)
	s.logs.addLine(err.Error())
	s.renewSubscriptions(rests+announceDelay, func(*subscription) bool { return true })
}

// failLocked records a failure. The caller holds s.mu.
func (s *server) failLocked(err error) {
	if s.stopped {
		return
	}
	s.failures++
	s.cause, s.retryAt = err, time.Now().Add(restarts.Delay(s.failures))
}

// hangUp closes a connection and ends its program.
func (s *server) hangUp(ses *session) {
	closed := make(chan struct{})
	go func() { // closing can block if the server does not react, but must not delay the end of the program
		defer close(closed)
		_ = ses.Close() // the connection is closed in any case
	}()
	if ses.process != nil {
		ses.process.endProgram()
	}
	select {
	case <-closed:
	case <-time.After(closePatience):
	}
}

// stopServer ends the connection permanently.
func (s *server) stopServer(cause error) {
	s.mu.Lock()
	s.stopped, s.cause = true, cause
	ses := s.session
	s.mu.Unlock()
	if ses != nil {
		s.hangUp(ses)
	}
}

// dialServer connects with the newest protocol revision. If the server does not answer, it tries
// the former revision.
func (s *server) dialServer(ctx context.Context) (*session, error) {
	ses, err := s.dialRevision(ctx, "", modernTimeout, nil)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		ses, err = s.dialRevision(ctx, former, connectTimeout, nil)
	}
	return ses, err
}

// former is the last revision that starts with a handshake.
const former = "2025-11-25"

// dialRevision connects once. If handler is nil, it uses the stored login.
func (s *server) dialRevision(ctx context.Context, revision string, limit time.Duration, handler auth.OAuthHandler) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ses := &session{since: time.Now(), done: make(chan struct{})}
	transport, seen, err := s.openTransport(ctx, ses, handler)
	if err != nil {
		return nil, err
	}
	ses.ClientSession, err = s.newClient(ses).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		return ses, nil
	}
	if ses.process != nil {
		ses.process.endProgram()
	}
	if handler != nil && ctx.Err() == nil {
		return nil, err // an error of the login
	}
	return nil, s.explainConnect(ses, seen, err)
}

// newClient returns the client of one connection. It supports neither sampling nor roots.
func (s *server) newClient(ses *session) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "hob", Title: "Hob", Version: s.m.opt.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return s.answerElicitation(ses, r.Params), nil
		},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // see resumeCalls
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			ses.mu.Lock()
			was := ses.stale
			ses.stale = true
			ses.mu.Unlock()
			if !was {
				s.m.work.Go(func() { s.refreshTools(ses) })
			}
		},
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { s.announceUpdate(r.Params.URI) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { s.reportProgress(r.Params) },
	})
	c.AddSendingMiddleware(resumeCalls)
	return c
}

// refreshTools lists the tools again after the server announced a change.
func (s *server) refreshTools(ses *session) {
	if err := retry.Sleep(s.m.life, time.Second); err != nil { // a server may announce many changes
		return
	}
	if err := s.updateTools(s.m.life, ses); err != nil {
		s.logs.addLine("list tools: " + err.Error())
	}
}

// updateTools lists the tools again if the list is old or the server announced a change.
func (s *server) updateTools(ctx context.Context, ses *session) error {
	ses.mu.Lock()
	fresh := !ses.stale && time.Since(ses.listed) < staleAfter
	ses.mu.Unlock()
	if fresh {
		return nil
	}
	return s.listTools(ctx, ses)
}

// listTools reads the list of tools and compares it with the pins.
func (s *server) listTools(ctx context.Context, ses *session) error {
	s.listing.Lock()
	defer s.listing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	ses.mu.Lock()
	ses.stale, ses.listed = false, time.Now() // a change during the listing makes the list stale again
	ses.mu.Unlock()
	var skipped map[string]string
	if ses.reload != nil {
		var err error
		if skipped, err = ses.reload(ctx); err != nil {
			return err
		}
	}
	var all []*mcp.Tool
	if caps := ses.InitializeResult().Capabilities; caps != nil && caps.Tools != nil {
		cursor := ""
		for range maxPages {
			page, err := ses.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if login, ok := errors.AsType[*loginError](err); ok {
				return login
			} else if err != nil {
				return fmt.Errorf("list tools: %w", err)
			}
			all = append(all, page.Tools...)
			if cursor = page.NextCursor; cursor == "" || len(all) > maxTools {
				break
			}
		}
	}
	s.listPrompts(ctx, ses)
	specs, refused := readSpecs(all)
	specs = append(specs, addedSpecs(ses.InitializeResult().Capabilities, specs)...)
	maps.Copy(refused, skipped)
	s.mu.Lock()
	s.refused = refused
	s.mu.Unlock()
	return s.recordTools(ctx, specs)
}

// readSpecs checks the server's tool declarations. It returns the usable tools, and the reasons why
// other tools are unusable, keyed by name.
func readSpecs(all []*mcp.Tool) (specs []toolSpec, refused map[string]string) {
	refused = map[string]string{}
	names := map[string]bool{}
	for _, t := range all {
		schema, err := json.Marshal(t.InputSchema)
		output, outputErr := json.Marshal(t.OutputSchema)
		key := tools.Confusable(t.Name)
		var object struct {
			Type string `json:"type"`
		}
		why := ""
		switch {
		case !validTool(t.Name):
			why = "its name contains characters other than letters, digits, _, - and ., or is too long"
		case key == tools.Confusable(answerName):
			why = "its name is reserved for answers to the server's questions"
		case names[key]:
			why = "its name equals or resembles the name of another tool of the server"
		case len(specs) == maxTools:
			why = fmt.Sprintf("the server offers more than %d tools", maxTools)
		case err != nil || outputErr != nil || json.Unmarshal(schema, &object) != nil || object.Type != "object":
			why = "its schema is invalid: it must describe an object"
		case len(schema) > maxSchema || len(output) > maxSchema:
			why = fmt.Sprintf("its schema is larger than %d KB", maxSchema>>10)
		}
		if why != "" {
			refused[cutText(t.Name, 64)] = why
			continue
		}
		names[key] = true
		spec := toolSpec{Name: t.Name, Title: cutText(t.Title, 200), Description: cutText(t.Description, maxDescription), Schema: schema}
		if t.OutputSchema != nil {
			spec.Output = output
		}
		specs = append(specs, spec)
	}
	return specs, refused
}

func validTool(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	})
}

// publishTools adds the known tools to the catalog.
func (s *server) publishTools() {
	var list []tools.Tool
	s.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		if p := s.pins[name]; !p.gone && s.cfg.Enabled && !s.stopped {
			list = append(list, newTool(s, p))
		}
	}
	// Add the tool even without an open question: an answer may come after a restart of Hob, when
	// the question is lost.
	if s.cfg.Document == "" && len(list) > 0 {
		list = append(list, newAnswerTool(s))
	}
	s.mu.Unlock()
	if err := s.m.opt.Catalog.SetForeign(s.sourceName(), list); err != nil {
		s.logs.addLine(err.Error())
		s.m.opt.Log.Error("tools of an MCP server not added", "server", s.cfg.Name, "err", err)
	}
}

// pinOf returns the pin of a tool.
func (s *server) pinOf(tool string) *pin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pins[tool]
}

// explainConnect returns the error of a failed attempt with its remedy.
func (s *server) explainConnect(ses *session, seen *seenStatus, err error) error {
	key := "mcp.servers." + s.cfg.Name
	if login, ok := errors.AsType[*loginError](err); ok {
		return login
	}
	if ses.process != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the program does not answer: %w; check its arguments and see: hob mcp logs %s", err, s.cfg.Name)
		}
		return s.explainEnd(ses, err)
	}
	switch status := seen.lastStatus(); {
	case status == http.StatusUnauthorized && s.cfg.Headers["Authorization"] != "":
		return &loginError{fmt.Sprintf("the server rejects the token (HTTP 401); renew the value of %s.headers.Authorization", key)}
	case status == http.StatusUnauthorized:
		return &loginError{fmt.Sprintf("the server requires a login (HTTP 401); run: hob mcp login %s", s.cfg.Name)}
	case status >= 300 && status < 400:
		return fmt.Errorf("the server redirects to another address (HTTP %d); set %s.url to the final address", status, key)
	case status >= 400:
		return fmt.Errorf("no MCP server answers at the address (HTTP %d); check %s.url", status, key)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the server does not answer: %w; check %s.url and the network", err, key)
	}
	return fmt.Errorf("connect: %w; check %s.url", err, key)
}

// loginError means that the server requires a token or rejected the token.
type loginError struct{ text string }

func (e *loginError) Error() string { return e.text }

// explainEnd describes why a connection ended.
func (s *server) explainEnd(ses *session, err error) error {
	if ses.process == nil {
		return fmt.Errorf("the connection ended: %w", errors.Join(err, errEnded))
	}
	return fmt.Errorf("%s; see: hob mcp logs %s", ses.process.describeEnd(err), s.cfg.Name)
}

var errEnded = errors.New("closed by the server")
