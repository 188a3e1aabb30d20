package safehttp

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// allowedTarget is an address inside the user's network that the user allowed.
type allowedTarget struct {
	host string     // as in a canonical URL, without brackets
	addr netip.Addr // set if the host is an IP address
	port uint16
}

// ParseAllow validates one entry of Options.Allow, which is a host and a port. Multicast and
// broadcast addresses cannot be allowed, and neither can metadata services, because they return
// credentials.
func ParseAllow(s string) error {
	_, err := parseAllow(s)
	return err
}

func parseAllow(s string) (allowedTarget, error) {
	bad := func() (allowedTarget, error) {
		return allowedTarget{}, &Error{Kind: BadOption, Host: s, Message: strconv.Quote(s) + " is not HOST:PORT", Remedy: `write "192.168.1.10:8080" or "nas.local:443"`}
	}
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 {
		return bad()
	}
	h, kind := parseHost(host)
	if strings.Contains(host, ":") {
		h, kind = parseHost("[" + host + "]")
	}
	if kind != "" {
		return bad()
	}
	if h.addr.IsValid() && classifyAddr(h.addr).never {
		return allowedTarget{}, &Error{Kind: BadOption, Host: s, Message: s + " is " + classifyAddr(h.addr).is + ", which cannot be allowed"}
	}
	return allowedTarget{h.name, h.addr, uint16(n)}, nil
}

// isPermitted reports whether the configuration allows exactly this host and port.
func (c *Client) isPermitted(h host, port uint16) bool {
	for _, a := range c.allow {
		if a.port == port && a.host == h.name && a.addr == h.addr {
			return true
		}
	}
	return false
}

// permitsAddr reports whether the configuration allows a connection to a non-public address: the
// address itself is listed, or a listed name resolves to it. "localhost" may resolve only to this
// machine.
func (c *Client) permitsAddr(t *target, k class, a netip.Addr) bool {
	switch {
	case k.never || !c.isPermitted(t.host, t.port):
		return false
	case t.host.addr.IsValid():
		return t.host.addr == a
	case t.host.isLoopback():
		return a.IsLoopback()
	}
	return true
}

// Named returns a client for an address that the user configured, such as a webhook URL. The client
// may also reach this machine, and the local network if the address contains an IP address in it.
// Internal host names must still be in Allow, because the DNS server controls the addresses to
// which they resolve.
func (c *Client) Named(address string) (*Client, error) {
	t, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	own := *c
	if t.host.isLoopback() || t.host.addr.IsValid() && !classifyAddr(t.host.addr).never {
		own.allow = append(own.allow[:len(own.allow):len(own.allow)], allowedTarget{t.host.name, t.host.addr, t.port})
	}
	_, err = own.parseTarget(address)
	return &own, err
}

// Inside reports whether the text of an address shows that its host is internal. The address must
// have passed Check.
func Inside(u *url.URL) bool {
	t, err := parseURL(u.String())
	return err == nil && (t.host.isInternal() || t.host.addr.IsValid() && !classifyAddr(t.host.addr).isPublic())
}

// Loopback reports whether the host of an address is this machine. See Inside.
func Loopback(u *url.URL) bool {
	t, err := parseURL(u.String())
	return err == nil && (t.host.isLoopback() || t.host.addr.IsLoopback())
}
