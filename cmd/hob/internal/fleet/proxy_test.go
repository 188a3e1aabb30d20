//go:build unix

package fleet

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between an instance and the database, so that a test can cut the instance off.
type proxy struct {
	addr, target string
	delay        time.Duration // of all bytes, in each direction
	wg           sync.WaitGroup

	mu      sync.Mutex
	open    chan struct{} // closed while bytes pass
	refuses bool
	conns   map[net.Conn]bool
}

// newProxy passes the connections of ln on to the target.
func newProxy(t *testing.T, ln net.Listener, target string, delay time.Duration) *proxy {
	t.Helper()
	p := &proxy{delay: delay, addr: ln.Addr().String(), target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.open)
	p.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serveConn(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		p.restoreBytes()
		p.dropConns()
		p.wg.Wait()
	})
	return p
}

// holdBytes stops all bytes. They arrive late, after restore, as over a network that lost packets.
func (p *proxy) holdBytes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// refuseConns breaks all connections and accepts no new ones.
func (p *proxy) refuseConns() {
	p.mu.Lock()
	p.refuses = true
	p.mu.Unlock()
	p.dropConns()
}

// restoreBytes lets bytes pass again.
func (p *proxy) restoreBytes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = false
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func (p *proxy) dropConns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// addConn registers a connection, or returns false if the proxy refuses it.
func (p *proxy) addConn(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) serveConn(c net.Conn) {
	defer c.Close()
	if !p.addConn(c) {
		return
	}
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer s.Close()
	if !p.addConn(s) {
		return
	}
	p.wg.Go(func() { p.copyBytes(s, c) })
	p.copyBytes(c, s)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	delete(p.conns, s)
}

// copyBytes copies until one side ends, and then ends the other one.
func (p *proxy) copyBytes(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		<-open
		if n > 0 {
			time.Sleep(p.delay)
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
