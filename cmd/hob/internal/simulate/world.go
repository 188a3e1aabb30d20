package simulate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log" //nolint:depguard // http.Server.ErrorLog requires a *log.Logger
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
)

// world simulates Hob's environment. Its servers run in this process and use pipes as connections,
// because time stops in a bubble that waits for a socket.
type world struct {
	p      *play
	trust  testAuthority
	web    *playedPages
	script *scriptedModel
	lines  []*pipeListener // listeners to close at the end

	mu    sync.Mutex
	boxes map[string]*postbox       // keyed by account
	cals  map[string]*calendar      // keyed by account
	rooms map[string]*playedChannel // channels that are simulated
	unfit map[string]error          // channels whose section is invalid
}

func newWorld(p *play) (*world, error) {
	w := &world{p: p, boxes: map[string]*postbox{}, cals: map[string]*calendar{}, rooms: map[string]*playedChannel{}, unfit: map[string]error{}}
	var err error
	if w.trust, err = newTrust(); err != nil {
		return nil, err
	}
	if err := system.WriteFile(w.authoritiesFile(), w.trust.pem); err != nil {
		return nil, err
	}
	w.web, w.script = newPages(p.o.Script), &scriptedModel{answers: p.o.Script.Answers}
	return w, nil
}

func (w *world) authoritiesFile() string { return filepath.Join(w.p.o.Dir, "authorities.pem") }

func (w *world) closeLines() {
	for _, l := range w.lines {
		l.stopServing()
	}
}

// serveLine runs an HTTP server on a new pipeListener.
func (w *world) serveLine(h http.Handler, safe bool) *pipeListener {
	l := newLine()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	on := net.Listener(l)
	if safe {
		on = tls.NewListener(l, w.trust.serverConfig("http/1.1"))
	}
	l.serveUntilStop(func() { _ = srv.Serve(on) }, srv.Close)
	w.lines = append(w.lines, l)
	return l
}

// playedNetwork connects to the simulated web.
func (w *world) playedNetwork() safehttp.Options {
	plain, safe := w.serveLine(w.web, false), w.serveLine(w.web, true)
	return safehttp.Options{
		Resolver: resolver{}, RootCAs: w.trust.pool,
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			if to.Port() == 80 || w.web.plain[to.Port()] {
				return plain.dialPipe(ctx)
			}
			return safe.dialPipe(ctx)
		},
	}
}

// resolver resolves every name to the same address.
type resolver struct{}

// public is the address to which all names resolve.
const public = "93.184.216.34"

// LookupNetIP implements safehttp.Resolver.
func (resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(public)}, nil
}

// fakeSecret returns a placeholder, because the real value is not needed. It resolves only the keys
// of the configured models, and only if the simulation uses them.
func (w *world) fakeSecret(ctx context.Context, ref string) (string, error) {
	if w.p.o.Model == Configured {
		for _, pr := range w.p.conf.Providers {
			if pr.APIKey == ref {
				return w.p.o.Secret(ctx, ref)
			}
		}
	}
	return "played-" + ref, nil
}

// reachAccount redirects the servers of an account to the servers in this process.
func (w *world) reachAccount(a pim.Account) pim.Account {
	a.CA, a.Auth = w.authoritiesFile(), pim.AuthPassword
	a.Secret = func(context.Context) (string, error) { return password, nil }
	if a.Server(pim.IMAP) != "" {
		a = a.With(pim.IMAP, "imaps://"+imapHost+":993")
	}
	if a.Server(pim.CalDAV) != "" {
		a = a.With(pim.CalDAV, "https://"+davHost+"/")
	}
	name, user := a.Name, a.Login()
	a.Via = func(ctx context.Context, addr string) (net.Conn, error) {
		switch addr {
		case imapHost + ":993":
			return w.accountPostbox(name, user).line.dialPipe(ctx)
		case davHost + ":443":
			return w.accountCalendar(name).line.dialPipe(ctx)
		}
		return nil, errors.New("this server is not simulated")
	}
	return a
}

// The names of the simulated servers.
const (
	imapHost = "imap.invalid"
	davHost  = "calendar.invalid"
	password = "played"
)

// pipeListener is a listener whose connections are in-process pipes.
type pipeListener struct {
	calls chan net.Conn
	over  chan struct{}
	once  sync.Once
	end   func() error
	wg    sync.WaitGroup
}

func newLine() *pipeListener {
	return &pipeListener{calls: make(chan net.Conn), over: make(chan struct{})}
}

// serveUntilStop runs serve in the background until stopServing calls end.
func (l *pipeListener) serveUntilStop(serve func(), end func() error) {
	l.end = end
	l.wg.Go(serve)
}

func (l *pipeListener) stopServing() {
	_ = l.Close()
	_ = l.end()
	l.wg.Wait()
}

func (l *pipeListener) dialPipe(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.calls <- there:
		return here, nil
	case <-l.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(public), Port: 443} }

// testAuthority is a certificate authority that is trusted only in the simulated environment.
type testAuthority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
	pool *x509.CertPool
	made *sync.Map // certificates, keyed by name
}

func newTrust() (t testAuthority, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return t, err
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, SubjectKeyId: []byte{1}, NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return t, err
	}
	t.key, t.made = key, &sync.Map{}
	if t.cert, err = x509.ParseCertificate(der); err != nil {
		return t, err
	}
	t.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	t.pool = x509.NewCertPool()
	t.pool.AddCert(t.cert)
	return t, nil
}

// serverConfig returns a TLS configuration that accepts every server name.
func (t testAuthority) serverConfig(protos ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519}, NextProtos: protos, SessionTicketsDisabled: true,
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := h.ServerName
			if name == "" {
				name = public
			}
			return t.certificateFor(name)
		},
	}
}

func (t testAuthority) certificateFor(name string) (*tls.Certificate, error) {
	if c, ok := t.made.Load(name); ok {
		return c.(*tls.Certificate), nil //nolint:forcetypeassert // the function above returns only this type
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: t.cert.NotBefore, NotAfter: t.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		tmpl.IPAddresses = []net.IP{ip}
	} else {
		tmpl.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, t.cert, t.key.Public(), t.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, t.cert.Raw}, PrivateKey: t.key}
	t.made.Store(name, c)
	return c, nil
}

// putFile writes one of the user's files with the current simulated time.
func (w *world) putFile(path string, body []byte) error {
	at, err := w.p.inHome(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(at, body, 0o600); err != nil {
		return err
	}
	defer w.notifyWatchers(at)
	return os.Chtimes(at, time.Now(), time.Now()) // the file system would use the real time
}

// notifyWatchers sends the notification that the system would send.
func (w *world) notifyWatchers(path string) {
	for dir := w.p.users; ; {
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return
		}
		first, _, _ := strings.Cut(rel, string(filepath.Separator))
		dir = filepath.Join(dir, first)
		for _, notify := range w.p.notify { // notify is empty before Hob starts
			notify(dir)
		}
	}
}
