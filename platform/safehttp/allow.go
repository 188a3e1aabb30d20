package safehttp

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// allowed is one address inside the owner's network that the owner named.
type allowed struct {
	host string     // as in a canonical URL, without brackets
	addr netip.Addr // when the host is an address
	port uint16
}

// ParseAllow validates one entry of Options.Allow: a host and a port. Multicast
// and broadcast addresses and metadata services, which return credentials, cannot
// be allowed.
func ParseAllow(s string) error {
	_, err := parseAllow(s)
	return err
}

func parseAllow(s string) (allowed, error) {
	bad := func() (allowed, error) {
		return allowed{}, &Error{Kind: BadOption, Host: s, Message: strconv.Quote(s) + " is not HOST:PORT", Remedy: `write "192.168.1.10:8080" or "nas.local:443"`}
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
	if h.addr.IsValid() && classify(h.addr).never {
		return allowed{}, &Error{Kind: BadOption, Host: s, Message: s + " is " + classify(h.addr).is + ", which cannot be allowed"}
	}
	return allowed{h.name, h.addr, uint16(n)}, nil
}

// permits reports whether the owner named exactly this host and port.
func (c *Client) permits(h host, port uint16) bool {
	for _, a := range c.allow {
		if a.port == port && a.host == h.name && a.addr == h.addr {
			return true
		}
	}
	return false
}

// permitsAddr reports whether the configuration allows a connection to a
// non-public address: the address itself is listed, or a listed name resolves to
// it. "localhost" may only resolve to this machine.
func (c *Client) permitsAddr(t *target, k class, a netip.Addr) bool {
	switch {
	case k.never || !c.permits(t.host, t.port):
		return false
	case t.host.addr.IsValid():
		return t.host.addr == a
	case t.host.loopback():
		return a.IsLoopback()
	}
	return true
}

// Named returns a client for an address that the user configured, such as a
// webhook url. It may also reach the local network if the address names an IP
// address there, or this machine. Internal host names must still be in Allow,
// because the DNS server controls where they resolve.
func (c *Client) Named(address string) (*Client, error) {
	t, err := parse(address)
	if err != nil {
		return nil, err
	}
	own := *c
	if t.host.loopback() || t.host.addr.IsValid() && !classify(t.host.addr).never {
		own.allow = append(own.allow[:len(own.allow):len(own.allow)], allowed{t.host.name, t.host.addr, t.port})
	}
	_, err = own.target(address)
	return &own, err
}

// Inside reports whether the host of an address is internal by its text, and
// Loopback whether it is this machine. The address must have passed Check.
func Inside(u *url.URL) bool {
	t, err := parse(u.String())
	return err == nil && (t.host.internal() || t.host.addr.IsValid() && !classify(t.host.addr).public())
}

// Loopback is documented at Inside.
func Loopback(u *url.URL) bool {
	t, err := parse(u.String())
	return err == nil && (t.host.loopback() || t.host.addr.IsLoopback())
}
