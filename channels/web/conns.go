package web

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// How many connections there may be. All programs of this machine come from one
// address, so that no bound for one address holds there: it would shut the owner
// out with whoever fills it.
const (
	maxConns     = 256
	maxConnsFrom = 32 // of one address that is not this machine's own
)

// guarded is a listener with a bounded number of connections. When there are too
// many, the oldest that has proven nothing gives way.
type guarded struct {
	net.Listener

	mu   sync.Mutex
	open []*guardedConn // oldest first
}

type guardedConn struct {
	net.Conn
	from   string
	owner  *guarded
	once   sync.Once
	proven bool // under owner.mu
}

// Accept implements net.Listener.
func (g *guarded) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	in := &guardedConn{Conn: c, from: networkOf(c.RemoteAddr()), owner: g}
	for _, old := range g.admit(in) {
		_ = old.Close() // its other end notices
	}
	return in, nil
}

// admit takes a connection in and returns those that have to go, perhaps the
// very one.
func (g *guarded) admit(in *guardedConn) (out []*guardedConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, in)
	if in.from != "" {
		out = append(out, excess(g.open, maxConnsFrom, func(c *guardedConn) bool { return c.from == in.from })...)
	}
	return append(out, excess(g.open, maxConns, func(*guardedConn) bool { return true })...)
}

// excess names the connection that has to go when more than a number fit.
func excess(open []*guardedConn, most int, fits func(*guardedConn) bool) []*guardedConn {
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

// prove marks a connection as the owner's.
func prove(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if g, ok := c.(*guardedConn); ok {
		g.owner.mu.Lock()
		defer g.owner.mu.Unlock()
		g.proven = true
	}
}

// networkOf is the address from which limits count, "" for this machine: an
// IPv6 address stands for its whole /64, of which one host may have all.
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
