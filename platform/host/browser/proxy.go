package browser

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Network opens the connections; *safehttp.Client implements it.
type Network interface {
	Connect(ctx context.Context, scheme, hostport string) (net.Conn, error)
}

// Nowhere is a Network that opens no connections. It is used to test whether a browser starts.
type Nowhere struct{}

// Connect implements Network.
func (Nowhere) Connect(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("browser has no network access")
}

// Limits of the proxy.
const (
	maxConnections = 400
	maxRefusals    = 50
	idleFor        = 10 * time.Minute // timeout of an idle tunnel
)

// proxy is the browser's HTTP proxy on loopback (RFC 9110, sections 7.6 and 9.3.6). It requires a
// password, so that only the browser can use it, and opens connections through a Network. It does
// not decrypt encrypted traffic.
type proxy struct {
	network Network
	secret  string
	listen  net.Listener
	server  *http.Server
	work    sync.WaitGroup
	slots   chan struct{}
	ctx     context.Context //nolint:containedctx // ends the tunnels, which outlive their requests
	cancel  context.CancelFunc

	mu      sync.Mutex
	greeted bool
	refused []refusedAddress // the most recently refused addresses
}

// refusedAddress is an address that the proxy refused to connect to.
type refusedAddress struct {
	at   time.Time
	host string
	err  error
}

// greeting is the host name that a new browser requests to prove that it uses the proxy.
const greeting = "hob.invalid"

func openProxy(network Network) (*proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{network: network, secret: rand.Text(), listen: l, slots: make(chan struct{}, maxConnections)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, BaseContext: func(net.Listener) context.Context { return p.ctx }, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 256 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	p.work.Go(func() { _ = p.server.Serve(l) }) // until close
	return p, nil
}

func (p *proxy) listenAddress() string { return p.listen.Addr().String() }

func (p *proxy) close() {
	p.cancel()
	_ = p.server.Close()
	p.work.Wait()
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.isAuthorized(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="hob"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.serveTunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host == greeting:
		p.mu.Lock()
		p.greeted = true
		p.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Scheme == "http":
		p.forwardRequest(w, r)
	default: // the request is for a web server and not for a proxy
		w.WriteHeader(http.StatusBadRequest)
	}
}

// isAuthorized reports whether a request contains the password (RFC 7617).
func (p *proxy) isAuthorized(r *http.Request) bool {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("hob:"+p.secret))
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(want)) == 1
}

// hasGreeted reports whether the browser requested the greeting from the proxy.
func (p *proxy) hasGreeted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.greeted
}

// refusedSince returns the reason why host was refused since at, or nil if it was not refused. If
// host is "", it considers the last refused host.
func (p *proxy) refusedSince(at time.Time, host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.refused) - 1; i >= 0; i-- {
		if r := p.refused[i]; (host == "" || r.host == host) && !r.at.Before(at) {
			return r.err
		}
	}
	return nil
}

// failRequest ends a request for which no connection was opened and nothing was sent. A plain HTTP
// request gets no response, because the browser would show a response as a page of this host.
func (p *proxy) failRequest(w http.ResponseWriter, r *http.Request, host string, err error) {
	if r.Context().Err() == nil { // otherwise the browser canceled the request
		p.mu.Lock()
		p.refused = append(p.refused, refusedAddress{time.Now(), host, err})
		p.refused = p.refused[max(0, len(p.refused)-maxRefusals):]
		p.mu.Unlock()
	}
	if r.Method != http.MethodConnect {
		panic(http.ErrAbortHandler) // the server closes the connection without a response
	}
	w.WriteHeader(http.StatusBadGateway)
}

// writeBrokenError responds that a connection broke. A response is necessary, because the browser
// repeats a request without a response.
func (p *proxy) writeBrokenError(w http.ResponseWriter, err error) {
	http.Error(w, sanitizeLine(err.Error(), 500), http.StatusBadGateway)
}

func (p *proxy) serveTunnel(w http.ResponseWriter, r *http.Request) {
	scheme := "https"
	if _, port, _ := net.SplitHostPort(r.Host); port == "80" { // WebSocket without TLS
		scheme = "http"
	}
	out, err := p.network.Connect(r.Context(), scheme, r.Host)
	if err != nil {
		p.failRequest(w, r, hostOf(r.Host), err)
		return
	}
	defer out.Close() //nolint:errcheck // closing ends the connection; errors do not matter
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	in, rw, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer in.Close() //nolint:errcheck // closing ends the connection; errors do not matter
	stop := context.AfterFunc(p.ctx, func() { _, _ = in.Close(), out.Close() })
	defer stop()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyConn(out, in, rw.Reader) })
	both.Go(func() { copyConn(in, out, out) })
	both.Wait()
}

// copyConn copies until one side closes or the connection is idle for too long.
func copyConn(to, from net.Conn, r io.Reader) {
	b := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Now().Add(idleFor)) // if the connection is closed, the read below fails
		n, err := r.Read(b)
		if n > 0 {
			_ = to.SetWriteDeadline(time.Now().Add(idleFor))
			if _, werr := to.Write(b[:n]); werr != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// hopByHopHeaders lists the headers that apply to one connection only (RFC 9110, section 7.6.1).
func hopByHopHeaders() []string {
	return []string{"Connection", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
}

// forwardRequest sends a plain HTTP request over a new connection.
func (p *proxy) forwardRequest(w http.ResponseWriter, r *http.Request) {
	host := r.URL.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(r.URL.Hostname(), "80")
	}
	conn, err := p.network.Connect(r.Context(), "http", host)
	if err != nil {
		p.failRequest(w, r, r.URL.Hostname(), err)
		return
	}
	defer conn.Close() //nolint:errcheck // closing ends the connection; errors do not matter
	stop := context.AfterFunc(r.Context(), func() { _ = conn.Close() })
	defer stop()
	stopped := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	defer stopped()
	out := r.Clone(r.Context())
	for _, h := range hopByHopHeaders() {
		out.Header.Del(h)
	}
	out.Close = true
	_ = conn.SetDeadline(time.Now().Add(idleFor))
	if err := out.Write(conn); err != nil {
		p.writeBrokenError(w, err)
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 1<<40)), out)
	if err != nil {
		p.writeBrokenError(w, err)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	for _, h := range hopByHopHeaders() {
		w.Header().Del(h)
	}
	w.WriteHeader(resp.StatusCode)
	copyOut(w, resp.Body, conn)
}

// copyOut streams a body.
func copyOut(w http.ResponseWriter, body io.Reader, conn net.Conn) {
	flush := http.NewResponseController(w)
	b := make([]byte, 32<<10)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(idleFor))
		n, err := body.Read(b)
		if n > 0 {
			if _, werr := w.Write(b[:n]); werr != nil {
				return
			}
			_ = flush.Flush()
		}
		if err != nil {
			return
		}
	}
}

func hostOf(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return hostport
}
