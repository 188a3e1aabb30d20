// Package safehttptest simulates the internet in one process for tests. Names resolve to public
// addresses, and one handler serves all of them. The client's checks run unchanged; only the final
// connection goes to a server on loopback.
package safehttptest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/net/safehttp"
)

// Public is the address of names without a configured address.
const Public = "93.184.216.34"

// Internet serves plain and encrypted HTTP (for *.example.com and the names in certificate)
// behind every address. Its methods may be called concurrently.
type Internet struct {
	plain, safe *httptest.Server

	mu    sync.Mutex
	names map[string][]string
	texts map[string][]string // TXT records
	heard []*http.Request
	down  bool
	fails int // how many of the next connections fail
	conns []net.Conn
}

// New starts an internet that ends with the test.
func New(t testing.TB, h http.Handler) *Internet {
	t.Helper()
	n := &Internet{names: map[string][]string{}}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.heard = append(n.heard, r.Clone(context.WithoutCancel(r.Context())))
		n.mu.Unlock()
		h.ServeHTTP(w, r)
	})
	n.plain, n.safe = httptest.NewServer(serve), httptest.NewUnstartedServer(serve)
	n.safe.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that reject the server are expected
	n.safe.EnableHTTP2 = true                           // like nearly all servers
	n.safe.TLS = &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: tls.VersionTLS12}
	n.safe.StartTLS()
	t.Cleanup(n.plain.Close)
	t.Cleanup(n.safe.Close)
	return n
}

// Name sets the addresses of a name. Each answer is a list of addresses separated by spaces; the
// last answer repeats. A name with no addresses does not exist.
func (n *Internet) Name(name string, answers ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = append([]string{}, answers...)
}

// Text sets the TXT records of a name.
func (n *Internet) Text(name string, records ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.texts == nil {
		n.texts = map[string][]string{}
	}
	n.texts[name] = records
}

// LookupTXT returns the records that Text has set. While the internet is down, it fails.
func (n *Internet) LookupTXT(_ context.Context, name string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	switch list := n.texts[name]; {
	case n.down:
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	case len(list) == 0:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	default:
		return list, nil
	}
}

// Heard returns the received requests.
func (n *Internet) Heard() []*http.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*http.Request(nil), n.heard...)
}

// LookupNetIP implements safehttp.Resolver.
func (n *Internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.TrimSuffix(host, ".")
	answers, known := n.names[name]
	switch {
	case !known:
		answers = []string{Public}
	case len(answers) == 0:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	case len(answers) > 1:
		n.names[name] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range strings.Fields(answers[0]) {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return nil, err
		}
		out = append(out, ip)
	}
	return out, nil
}

// Options returns the client options for this internet.
func (n *Internet) Options() safehttp.Options {
	roots := x509.NewCertPool()
	roots.AddCert(n.safe.Certificate())
	return safehttp.Options{Resolver: n, RootCAs: roots, Dial: n.dialAddr}
}

func (n *Internet) dialAddr(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	at := n.plain.Listener.Addr().String()
	if to.Port() == 443 {
		at = n.safe.Listener.Addr().String()
	}
	if err := n.trackConn(nil); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err == nil {
		err = n.trackConn(conn)
	}
	return conn, err
}

// trackConn stores a connection, so that Down can close it. If conn is nil, it reserves an entry
// for a new connection.
func (n *Internet) trackConn(conn net.Conn) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.down && conn != nil:
		_ = conn.Close()
	case conn != nil:
		n.conns = append(n.conns, conn)
		return nil
	case n.fails > 0:
		n.fails--
	case !n.down:
		return nil
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}
}

// Down makes all hosts unreachable until Up and closes open connections.
func (n *Internet) Down() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

// Up ends an outage that Down started.
func (n *Internet) Up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// Fail makes the next connections fail.
func (n *Internet) Fail(connections int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails += connections
}

// Client returns a client for this internet.
func (n *Internet) Client(t testing.TB) *safehttp.Client {
	t.Helper()
	c, err := safehttp.New(n.Options())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Impatient returns a client whose requests time out at once unless they set a
// timeout.
func (n *Internet) Impatient(t testing.TB) *safehttp.Client {
	t.Helper()
	o := n.Options()
	o.Timeout = time.Nanosecond
	c, err := safehttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
