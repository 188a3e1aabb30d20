package pim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/emersion/go-sasl"

	"hob/platform/text/textnorm"
)

// The ways to sign in.
const (
	AuthPassword = "password"
	AuthToken    = "token" // the secret is an OAuth 2 access token (XOAUTH2, Bearer)
)

// Servers maps the key of a server kind to the account's server of that kind. The kind defines the
// format of the value.
type Servers map[string]string

// The configuration keys of server kinds that the core itself uses.
const (
	IMAP    = "imap"    // see ParseServer
	SMTP    = "smtp"    // see ParseServer
	CalDAV  = "caldav"  // see ParseURL
	CardDAV = "carddav" // see ParseURL
)

// Account is one of the user's accounts.
type Account struct {
	Name    string
	Servers Servers
	Address string
	User    string // user name for signing in; "" means Address
	Auth    string // AuthPassword ("") or AuthToken
	// CA is a PEM file with additional CA certificates for this account's
	// servers.
	CA string
	// Secret returns the password or token. It is called for each sign-in.
	Secret func(context.Context) (string, error)
	// Via replaces the network dialer. If it is nil, the network is used.
	Via func(ctx context.Context, addr string) (net.Conn, error)
}

// Server returns the server of a kind, or "" if the account has none.
func (a Account) Server(kind string) string { return a.Servers[kind] }

// With returns a copy of the account with another server of a kind.
func (a Account) With(kind, server string) Account {
	a.Servers = maps.Clone(a.Servers)
	if a.Servers == nil {
		a.Servers = Servers{}
	}
	a.Servers[kind] = server
	return a
}

// HasServer reports whether the account has a server of a kind, such as IMAP.
func (a Account) HasServer(kind string) bool {
	return a.Server(kind) != ""
}

// Errorf returns an error that names the account.
func (a Account) Errorf(format string, args ...any) error {
	return fmt.Errorf("account %s: %w", a.Name, fmt.Errorf(format, args...))
}

// Login returns the user name for sign-in.
func (a Account) Login() string {
	if a.User != "" {
		return a.User
	}
	return a.Address
}

// Server is a mail server.
type Server struct {
	Host string
	Port string
	// Implicit is true for TLS from the first byte. Otherwise the connection starts with STARTTLS.
	Implicit bool
}

// Addr returns host:port.
func (s Server) Addr() string { return net.JoinHostPort(s.Host, s.Port) }

// ParseServer parses "host", "host:port" or "imaps://host:port" (TLS from the start; the schemes
// without s use STARTTLS). Without a scheme, the ports 993 and 465 mean TLS from the start. The
// default port is 993 for IMAP (143 for imap://) and 587 for SMTP.
func ParseServer(protocol, s string) (Server, error) {
	bad := fmt.Errorf(`%q is not a valid server name; use one such as "%s.example.org" or "%[2]s.example.org:%s"`, s, protocol, standardPort(protocol, false))
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "", s
	} else if scheme != protocol && scheme != protocol+"s" {
		return Server{}, bad
	}
	host, port := rest, ""
	if h, p, err := net.SplitHostPort(rest); err == nil {
		host, port = h, p
	} else if strings.Contains(rest, ":") && !validHost(rest) {
		return Server{}, bad
	}
	if !validHost(host) {
		return Server{}, bad
	}
	if port == "" {
		port = standardPort(protocol, scheme == protocol)
		if scheme == SMTP+"s" {
			port = "465"
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Server{}, bad
	}
	implicit := scheme == protocol+"s" || scheme == "" && (port == "993" || port == "465")
	return Server{Host: host, Port: port, Implicit: implicit}, nil
}

// detectWait is the time limit for finding out when a server starts TLS.
const detectWait = 5 * time.Second

// completeScheme returns the mail server of a protocol. If it has an unusual port and no scheme,
// the server is asked whether TLS starts with the first byte: a server that expects STARTTLS greets
// in clear text. The password is sent later, and only over TLS in both cases.
func (a Account) completeScheme(ctx context.Context, protocol string) string {
	given := a.Server(protocol)
	s, err := ParseServer(protocol, given)
	if err != nil || s.Implicit || strings.Contains(given, "://") || slices.Contains([]string{"25", "143", "587"}, s.Port) {
		return given
	}
	conf, err := a.TLS(s.Host)
	if err != nil {
		return given
	}
	ctx, cancel := context.WithTimeout(ctx, detectWait)
	defer cancel()
	raw, err := a.Dial(ctx, s.Addr())
	if err != nil {
		return given
	}
	defer func() { _ = raw.Close() }()
	err = tls.Client(raw, conf).HandshakeContext(ctx)
	if _, bad := errors.AsType[*tls.CertificateVerificationError](err); err == nil || bad {
		return protocol + "s://" + s.Addr()
	}
	return given
}

func standardPort(protocol string, startTLS bool) string {
	switch {
	case protocol == SMTP:
		return "587"
	case startTLS:
		return "143"
	}
	return "993"
}

func validHost(h string) bool {
	if _, err := netip.ParseAddr(h); err == nil {
		return true
	}
	odd := func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return h != "" && len(h) <= 253 && !strings.ContainsFunc(h, odd)
}

// ParseURL parses the address of a CalDAV server, which must use https, or http on this machine. A
// host without a scheme means https.
func ParseURL(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || !validHost(u.Hostname()) || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf(`%q is not a valid address; use one such as "https://dav.example.org/"`, s)
	case u.User != nil:
		return nil, errors.New("the address must not contain a user name or password; set user and password instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the address must not contain a query or fragment")
	case u.Scheme == "http" && !ThisMachine(u.Hostname()):
		return nil, fmt.Errorf("%q would send the password unencrypted; use https", s)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// ThisMachine reports whether a host is a loopback host.
func ThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// maxCA is the maximum size of the file with CA certificates, in bytes.
const maxCA = 1 << 20

// TLS returns the TLS configuration for one of the account's hosts. Certificates
// are always verified.
func (a Account) TLS(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if a.CA == "" {
		return c, nil
	}
	fi, err := os.Stat(a.CA)
	if err == nil && (fi.Size() > maxCA || !fi.Mode().IsRegular()) {
		err = errors.New("not a certificate file")
	}
	var pem []byte
	if err == nil {
		pem, err = os.ReadFile(a.CA)
	}
	if err != nil {
		return nil, a.Errorf("read the CA file (ca): %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, a.Errorf("%s (ca) contains no PEM certificate", a.CA)
	}
	c.RootCAs = pool
	return c, nil
}

// Timeout and keep-alive interval of a connection.
const (
	dialWait  = 20 * time.Second
	keepAlive = 2 * time.Minute
)

// Dial connects to a host of the account, with a deadline.
func (a Account) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if a.Via != nil {
		return a.Via(ctx, addr)
	}
	d := net.Dialer{Timeout: dialWait, KeepAlive: keepAlive}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, a.Errorf("%w", err)
	}
	return c, nil
}

// MailServer returns the mail server of a protocol (IMAP or SMTP), with the TLS configuration and
// the secret for it. Callers should connect afterwards, because the user may have to unlock the
// secret.
func (a Account) MailServer(ctx context.Context, protocol string) (s Server, conf *tls.Config, secret string, err error) {
	if a.Server(protocol) == "" {
		return s, nil, "", a.Errorf("%w: %s is not set", ErrNoServer, protocol)
	}
	if s, err = ParseServer(protocol, a.Server(protocol)); err != nil {
		return s, nil, "", a.Errorf("%s: %w", protocol, err)
	}
	if conf, err = a.TLS(s.Host); err != nil {
		return s, nil, "", err
	}
	secret, err = a.Password(ctx)
	return s, conf, secret, err
}

// Password returns the secret, or an error that states why it is missing.
func (a Account) Password(ctx context.Context) (string, error) {
	if a.Secret == nil {
		return "", a.Errorf("%w: no password is set; run hob config set accounts.%s.password", ErrSignIn, a.Name)
	}
	s, err := a.Secret(ctx)
	if err != nil {
		return "", a.Errorf("read the password: %w", err)
	}
	return s, nil
}

// SanitizeLine sanitizes untrusted text to one line of at most n characters.
func SanitizeLine(s string, n int) string {
	return textnorm.Ellipsize(strings.Join(strings.FieldsFunc(SanitizeText(s), unicode.IsSpace), " "), n)
}

// SanitizeText removes invalid UTF-8, bidi controls, and control characters except tabs and line
// breaks.
func SanitizeText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}

// Bounded is a connection that returns at most the number of bytes that the last call to Allow
// specified. It fails if the server sends more.
type Bounded struct {
	net.Conn
	left atomic.Int64
}

// Bound wraps c. The connection may first return n bytes.
func Bound(c net.Conn, n int64) *Bounded {
	b := &Bounded{Conn: c}
	b.left.Store(n)
	return b
}

// Allow allows the next n bytes, counted from now.
func (b *Bounded) Allow(n int64) { b.left.Store(n) }

// Read implements net.Conn.
func (b *Bounded) Read(p []byte) (int, error) {
	left := b.left.Load()
	if left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), left)])
	b.left.Add(int64(-n))
	return n, err
}

// XOAuth2 returns a SASL client that signs in with an OAuth 2 access token, in the form that Google
// and Microsoft require (https://developers.google.com/gmail/imap/xoauth2-protocol).
func XOAuth2(user, token string) sasl.Client { return &xoauth2{user: user, token: token} }

type xoauth2 struct {
	user, token string
	told        bool
}

// Start implements sasl.Client.
func (x *xoauth2) Start() (string, []byte, error) {
	return "XOAUTH2", fmt.Appendf(nil, "user=%s\x01auth=Bearer %s\x01\x01", x.user, x.token), nil
}

// Next implements sasl.Client. A challenge contains the reason why the server refused the sign-in.
// An empty response makes the server send its final error.
func (x *xoauth2) Next([]byte) ([]byte, error) {
	if x.told {
		return nil, errors.New("xoauth2: unexpected second challenge from the server")
	}
	x.told = true
	return []byte{}, nil
}
