package web

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// Connection limits. All programs on this machine share one address, so a limit per address for
// this machine would let any of them lock the owner out.
const (
	maxConns     = 256
	maxConnsFrom = 32 // connections per address outside this machine
)

// guardedListener is a listener with a limited number of connections. If there are too many, it
// closes the oldest unauthenticated one, or the new one if all are authenticated.
type guardedListener struct {
	net.Listener

	mu   sync.Mutex
	open []*guardedConn // oldest first
}

type guardedConn struct {
	net.Conn
	from   string
	owner  *guardedListener
	once   sync.Once
	proven bool // guarded by owner.mu
}

// Accept implements net.Listener.
func (g *guardedListener) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	in := &guardedConn{Conn: c, from: networkOf(c.RemoteAddr()), owner: g}
	for _, old := range g.admitConn(in) {
		_ = old.Close() // the client will notice that the connection ended
	}
	return in, nil
}

// admitConn adds a connection and returns the connections to close, possibly including the new one.
func (g *guardedListener) admitConn(in *guardedConn) (out []*guardedConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, in)
	if in.from != "" {
		out = append(out, excessConns(g.open, maxConnsFrom, func(c *guardedConn) bool { return c.from == in.from })...)
	}
	return append(out, excessConns(g.open, maxConns, func(*guardedConn) bool { return true })...)
}

// excessConns returns the connection to close if more than most connections satisfy fits.
func excessConns(open []*guardedConn, most int, fits func(*guardedConn) bool) []*guardedConn {
	var first, last *guardedConn
	n := 0
	for _, c := range open {
		if !fits(c) {
			continue
		}
		n++
		last = c
		if first == nil && !c.proven {
			first = c
		}
	}
	if n <= most {
		return nil
	}
	if first == nil {
		first = last
	}
	return []*guardedConn{first}
}

// Close implements net.Conn.
func (c *guardedConn) Close() error {
	c.once.Do(func() {
		c.owner.mu.Lock()
		defer c.owner.mu.Unlock()
		for i, o := range c.owner.open {
			if o == c {
				c.owner.open = append(c.owner.open[:i], c.owner.open[i+1:]...)
				break
			}
		}
	})
	return c.Conn.Close()
}

// markProven marks a connection as authenticated by the owner.
func markProven(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if g, ok := c.(*guardedConn); ok {
		g.owner.mu.Lock()
		defer g.owner.mu.Unlock()
		g.proven = true
	}
}

// networkOf returns the address prefix used for limits, or "" for this machine. An IPv6 address is
// reduced to its /64, because one host may own all of it.
func networkOf(a net.Addr) string {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	return networkOfAddr(ap.Addr())
}

func networkOfAddr(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.IsLoopback() {
		return ""
	}
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
