package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hob/autonomy/api"
	"hob/channels"
	"hob/channels/web/dashboard"
	"hob/channels/web/mcpserver"
)

// The limits of the API.
const (
	MaxBody = 16 << 20 // maximum bytes of a request
	MaxText = 10 << 20 // maximum bytes of text in one message

	headerTime = 10 * time.Second // time limit for sending the request header
	bodyTime   = time.Minute      // time limit for sending the request body
	writeTime  = time.Minute      // time limit for reading a response, or one event in a stream
	idleTime   = 2 * time.Minute
	drainTime  = 3 * time.Second // time limit for open requests after shutdown

	minToken = 32 // minimum characters

	wsaeaddrinuse = syscall.Errno(10048) // equivalent of EADDRINUSE on Windows
	wsaeacces     = syscall.Errno(10013) // Windows: the port is reserved, or another program uses it exclusively
)

var errShortToken = errors.New("web: the token is missing or shorter than 32 characters; delete the file HOB_HOME/token to get a new one")

// Options holds the options of a Server. Token, Backend and Log are required.
type Options struct {
	// Listen is host:port (default 127.0.0.1:7717; port 0 picks a free port). Any address except
	// loopback requires TLS and Password.
	Listen  string
	Token   string // at least 32 characters; the content of HOB_HOME/token
	Backend Backend
	Log     *slog.Logger
	Version string // default: the version of the Backend
	// Hosts lists additional host names of this server without a port, such as the name of a tunnel
	// or of the machine.
	Hosts    []string
	TLS      *tls.Config
	Password string
	// Channels lists the allowed values of X-Hob-Channel other than "web". They are pull channels
	// whose clients use this API (default "terminal").
	Channels []string
	// Peer identifies the process behind a connection from its two addresses. If it is nil, every
	// client is the owner. thorough identifies the program itself, which is slow.
	Peer func(client, server string, thorough bool) Peer
	// Decides reports whether a message may answer an approval request. Only for such messages does
	// the server identify the sending program. If it is nil, every message may.
	Decides func(text string) bool
	// Hooks maps names to the channels that receive posts to /hooks/NAME.
	Hooks map[string]channels.WebhookReceiver
	// Outage returns why nothing can be stored at present, or nil. During an outage, every request
	// that may change something is refused. If Outage is nil, there are no outages.
	Outage func() error
	// Protocols are the endpoints of other protocols. They authenticate their clients themselves.
	Protocols []Protocol
	// Ping is the interval between two pings in a stream (default 15 s).
	Ping time.Duration
	// Zone returns the user's time zone, in which the pages show times (default UTC).
	Zone func() *time.Location
}

// Protocol is an endpoint of another protocol, for programs that are not the owner's clients.
type Protocol struct {
	Pattern string // see http.ServeMux
	Handler http.Handler
	// FromHob also allows programs started by Hob, such as external agents.
	FromHob bool
}

// Server serves the API. It is a pull channel and implements channels.Channel.
type Server struct {
	opt     Options
	backend Backend
	log     *slog.Logger
	cred    atomic.Pointer[credential]
	mux     *http.ServeMux
	pages   *dashboard.Dashboard
	logouts logouts
	buffers buffers
	doors   loginGuard
	hooks   hooks
	active  activeRequests
	mcp     *mcpserver.Server

	pin       string                  // see Pin
	tokenFile string                  // set by ReplaceToken
	redact    func(secrets ...string) // set by ReplaceToken

	mu    sync.Mutex
	ln    net.Listener
	addr  string    // host:port to which the server is bound
	moved time.Time // when it bound an address other than the configured one
}

// New validates the options. It does not bind an address.
func New(o Options) (*Server, error) {
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:7717")
	o.Ping = cmp.Or(o.Ping, 15*time.Second)
	if o.Channels == nil {
		o.Channels = []string{"terminal"}
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case o.Backend == nil || o.Log == nil:
		return nil, errors.New("web: Options needs Backend and Log")
	case len(o.Token) < minToken:
		return nil, errShortToken
	case err != nil:
		return nil, fmt.Errorf(`web: listen = %q is not host:port; write "127.0.0.1:7717"`, o.Listen)
	case !isLoopback(host) && (o.TLS == nil || o.Password == ""):
		return nil, fmt.Errorf(`web: listen = %q is reachable from other machines, which needs TLS and a password; write "127.0.0.1:%s" or use an SSH tunnel`, o.Listen, port)
	}
	s := &Server{opt: o, backend: o.Backend, log: o.Log, addr: o.Listen}
	s.cred.Store(newCredential(o.Token))
	s.doors.init()
	s.hooks.init()
	s.mcp = mcpserver.New(mcpserver.Options{Backend: o.Backend, Version: s.buildVersion, Log: o.Log})
	if s.pages, err = s.newDashboard(); err != nil {
		return nil, err
	}
	s.mux = s.newMux()
	return s, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Listen binds the address. From then on connections are accepted, and Run answers them. The daemon
// reports readiness only after Listen. Further calls do nothing.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != nil {
		return nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.opt.Listen)
	if isAddressTaken(err) {
		if ln, err = s.listenElsewhere(ctx, &lc, err); err == nil {
			s.moved = time.Now()
		}
	}
	if err != nil {
		return fmt.Errorf(`web: listen on %s: %w; set another address: [web] listen = "127.0.0.1:7717"`, s.opt.Listen, err)
	}
	ln = &guardedListener{Listener: ln}
	if s.opt.TLS != nil {
		ln = tls.NewListener(ln, s.opt.TLS)
	}
	s.ln, s.addr = ln, ln.Addr().String()
	if !s.moved.IsZero() {
		s.log.Warn("address in use by another program, listening elsewhere", "wanted", s.opt.Listen, "address", s.addr)
	}
	return nil
}

// isAddressTaken reports whether another program uses the address.
func isAddressTaken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaeaddrinuse) || errors.Is(err, wsaeacces)
}

// laterPorts is the number of ports after the configured one that are tried before any free port, so
// that open pages and bookmarks usually find Hob again after a restart.
const laterPorts = 10

// listenElsewhere listens on another port of loopback, because the configured one is taken.
func (s *Server) listenElsewhere(ctx context.Context, lc *net.ListenConfig, taken error) (net.Listener, error) {
	host := "127.0.0.1"
	at, wanted, err := net.SplitHostPort(s.opt.Listen)
	if err == nil && isLoopback(at) {
		host = at
	}
	first, err := strconv.ParseUint(wanted, 10, 16)
	for port := first + 1; err == nil && port <= min(first+laterPorts, math.MaxUint16); port++ {
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.FormatUint(port, 10)))
		if !isAddressTaken(err) {
			return ln, err
		}
	}
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("%w; listening on a free port also failed: %w", taken, err)
	}
	return ln, nil
}

// Problems reports that the server listens elsewhere than configured.
func (s *Server) Problems() []api.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved.IsZero() {
		return nil
	}
	return []api.Problem{{
		Name: "port", Text: "another program uses " + s.opt.Listen + ", so Hob listens on " + s.addr, Since: s.moved,
		Remedy: "commands and `hob open` find the new address; stop the other program and restart Hob, or set another port: hob config set web.listen 127.0.0.1:7718",
	}}
}

// Addr returns the bound host:port. Before Listen, it returns the configured one.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// URL returns the address of the page.
func (s *Server) URL() string {
	scheme := "http"
	if s.opt.TLS != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(s.Addr())
	if a, e := netip.ParseAddr(host); err == nil && e == nil && a.IsUnspecified() && len(s.opt.Hosts) > 0 {
		return scheme + "://" + net.JoinHostPort(s.opt.Hosts[0], port)
	}
	return scheme + "://" + s.Addr()
}

// Pull implements channels.PullChannel.
func (s *Server) Pull() {}

// Send implements channels.Channel. It is never called on a pull channel.
func (s *Server) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, channels.Errorf(channels.Unsupported, "web: cannot push; clients fetch their messages")
}

// serverContextKey is the context key for the server's own context, which ends when requests should
// end.
type serverContextKey struct{}

// Run implements channels.Channel. It serves requests until ctx ends. Messages go to the Backend,
// which is also a Receiver, and not through the manager, because every API client is authenticated
// as the owner. When ctx ends, Run refuses new connections, notifies streams and waiting requests,
// and returns after all of them have finished.
func (s *Server) Run(ctx context.Context, _ channels.Receiver) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	ln := s.ln
	s.mu.Unlock()
	base, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), serverContextKey{}, ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConnection,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		s.mcp.Close()
		drain, stop := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		_ = srv.Shutdown(drain) // the error only means that some requests had to be aborted
		stop()
		err = <-served
	}
	cancel()
	_ = srv.Close()
	s.active.waitIdle()
	s.mu.Lock()
	s.ln = nil
	s.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("web: serve requests: %w", err)
}

// withServerLifetime returns a context that also ends when the server stops.
func withServerLifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if c, ok := ctx.Value(serverContextKey{}).(context.Context); ok {
		stop := context.AfterFunc(c, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

// isClosing reports whether the server, not the client, ended the request.
func isClosing(r *http.Request) bool {
	c, ok := r.Context().Value(serverContextKey{}).(context.Context)
	return ok && c.Err() != nil
}

// activeRequests counts open requests.
type activeRequests struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil if no call is waiting
}

func (a *activeRequests) addCount(d int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n += d
	if a.n == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

func (a *activeRequests) waitIdle() {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return
	}
	if a.idle == nil {
		a.idle = make(chan struct{})
	}
	c := a.idle
	a.mu.Unlock()
	<-c
}
