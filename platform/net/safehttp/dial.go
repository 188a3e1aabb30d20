package safehttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// dialer opens the connection of one request to one target.
type dialer struct {
	c         *Client
	t         *target
	connected atomic.Bool
	abroad    bool // this machine is refused, regardless of the configuration
}

// dialTarget is an address to which a connection may be made.
type dialTarget struct {
	to     netip.AddrPort
	inside bool // an internal address, which is dialed without the proxy
}

// dialContext ignores the address from the transport. It connects to an address of the target that
// passed the checks.
func (d *dialer) dialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	addrs, err := d.resolveTarget(ctx)
	if e, ok := errors.AsType[*Error](err); ok && d.c.proxy != nil && d.c.opt.ProxyResolves && (e.Kind == NotFound || e.Kind == Resolve) {
		return d.markConnected(d.throughProxy(ctx, net.JoinHostPort(d.t.host.name, fmt.Sprint(d.t.port))))
	}
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		var conn net.Conn
		if conn, err = d.markConnected(d.connectTo(ctx, a, len(addrs)-i)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d *dialer) markConnected(conn net.Conn, err error) (net.Conn, error) {
	if err == nil {
		d.connected.Store(true)
	}
	return conn, err
}

// resolveTarget returns the checked addresses of the target. If one address is not public, it
// rejects all of them, because no legitimate name has both kinds.
func (d *dialer) resolveTarget(ctx context.Context) ([]dialTarget, error) {
	addrs := []netip.Addr{d.t.host.addr}
	if !d.t.host.addr.IsValid() {
		var err error
		// The dot disables search domains.
		addrs, err = d.c.opt.Resolver.LookupNetIP(ctx, "ip", d.t.host.name+".")
		switch {
		case err != nil && d.t.host.isLoopback() && ctx.Err() == nil: // RFC 6761, section 6.3
			addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		case err != nil:
			return nil, d.resolveError(ctx, err)
		}
	}
	var out []dialTarget
	for _, a := range addrs {
		if a.Is4In6() && !d.t.host.addr.IsValid() {
			a = a.Unmap() // some resolvers return IPv4 addresses in this form
		}
		k, err := d.c.classOf(a)
		if d.abroad && !k.isPublic() && err == nil { // a private address may belong to this machine
			var mine bool
			if mine, err = d.c.isOwnAddr(a); mine || err != nil {
				k = class{thisMachine, true}
			}
		}
		if k.isPublic() || !(d.abroad && k.is == thisMachine) && d.c.permitsAddr(d.t, k, a) {
			out = append(out, dialTarget{netip.AddrPortFrom(a, d.t.port), !k.isPublic()})
			continue
		}
		e := privateAddrError(d.t.host.name, k)
		if !d.t.host.addr.IsValid() {
			e.Message = fmt.Sprintf("refused: %s resolves to %s, which is %s; requests to internal addresses are blocked", d.t.host.name, a, k.is)
		}
		e.Err = err
		return nil, e
	}
	if len(out) == 0 {
		return nil, &Error{Kind: NotFound, Host: d.t.host.name, Message: d.t.host.name + " has no address"}
	}
	return out, nil
}

func (d *dialer) resolveError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &Error{Kind: Resolve, Host: d.t.host.name, Err: err, Message: "cannot resolve host " + d.t.host.name, Remedy: "check the internet connection and retry"}
	if n, ok := errors.AsType[*net.DNSError](err); ok && n.IsNotFound {
		e.Kind, e.Message, e.Remedy = NotFound, "host not found: "+d.t.host.name, "check the spelling and the internet connection"
	}
	if d.c.proxy != nil {
		e.Message += ", so its address cannot be checked"
		e.Remedy = "if only your proxy can resolve names and you trust it to block requests into your network, run hob config set network.proxy_resolves true"
	}
	return e
}

// connectTo connects to one address, with a short timeout if other addresses
// remain.
func (d *dialer) connectTo(ctx context.Context, p dialTarget, left int) (net.Conn, error) {
	to := p.to
	if d.c.proxy != nil && !p.inside {
		return d.throughProxy(ctx, to.String())
	}
	wait := 10 * time.Second
	if left > 1 {
		wait = 3 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if d.c.opt.Dial != nil {
		return d.c.opt.Dial(ctx, to)
	}
	// check again at the last moment, because the socket must use the checked address
	nd := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if a, err := netip.ParseAddrPort(address); err != nil || a != to {
			return newRefusal(Internal, d.t.host.name, address+" is not the address that was checked", "")
		}
		return nil
	}}
	return nd.DialContext(ctx, "tcp", to.String())
}

// ParseProxy parses Options.Proxy; "" means no proxy.
func ParseProxy(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // no proxy is the usual case
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, &Error{Kind: BadOption, Message: "invalid proxy address; use one such as http://proxy.example.org:3128"}
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), fmt.Sprint(defaultPort(u.Scheme)))
	}
	return u, nil
}

// throughProxy sends CONNECT to the configured proxy (RFC 9110, section 9.3.6), for http as well as
// for https, so that the proxy uses the checked address.
func (d *dialer) throughProxy(ctx context.Context, to string) (net.Conn, error) {
	p := d.c.proxy
	broken := func(err error) error {
		return &Error{Kind: Proxy, Host: p.Hostname(), Message: "the proxy " + p.Host + " failed to connect: " + briefError(err), Remedy: "check [network] proxy", Err: err}
	}
	conn, err := d.toProxy(ctx, p)
	if err != nil {
		return nil, broken(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = connectThroughProxy(conn, p, to)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, broken(err)
	}
	return conn, nil
}

func (d *dialer) toProxy(ctx context.Context, p *url.URL) (net.Conn, error) {
	nd := &net.Dialer{Timeout: 10 * time.Second}
	if p.Scheme == "https" {
		td := &tls.Dialer{NetDialer: nd, Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.c.opt.RootCAs}}
		return td.DialContext(ctx, "tcp", p.Host)
	}
	return nd.DialContext(ctx, "tcp", p.Host)
}

// connectThroughProxy sends the CONNECT request. It reads the response byte by byte, so that it
// reads nothing that follows the response.
func connectThroughProxy(conn net.Conn, p *url.URL, to string) error {
	req := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"
	if p.User != nil {
		pass, _ := p.User.Password()
		req += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+pass)) + "\r\n"
	}
	if _, err := conn.Write([]byte(req + "\r\n")); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(oneByte{conn, new(int)}, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("unexpected status " + resp.Status)
	}
	return nil
}

// oneByte reads single bytes, so that it reads nothing after the header. It limits the length of
// the header.
type oneByte struct {
	net.Conn
	n *int
}

func (o oneByte) Read(b []byte) (int, error) {
	if *o.n++; *o.n > 16<<10 {
		return 0, errors.New("response is too long")
	}
	return o.Conn.Read(b[:1])
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok || strings.Contains(err.Error(), "tls: ")
}
