package safehttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// connectProxy is an HTTP proxy that connects every CONNECT request to the same address.
type connectProxy struct {
	ln   net.Listener
	to   string
	wg   sync.WaitGroup
	mu   sync.Mutex
	seen []string
	say  string
}

func newProxy(t *testing.T, to string) *connectProxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &connectProxy{ln: ln, to: to, say: "HTTP/1.1 200 Connection established\r\n\r\n"}
	p.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serveConn(conn) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); p.wg.Wait() })
	return p
}

func (p *connectProxy) serveConn(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.seen = append(p.seen, req.Method+" "+req.Host+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	_, _ = io.WriteString(conn, p.say)
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(out, br); _ = out.(*net.TCPConn).CloseWrite() })
	_, _ = io.Copy(conn, out)
	_ = conn.Close()
	wg.Wait()
}

// Hosts in the local network that the user allowed are reached without the proxy.
func TestProxy_NotForInternalHosts(t *testing.T) {
	n := newInternet(t, nil, answerText("hello"))
	p := newProxy(t, n.plain.Listener.Addr().String())
	c := n.newClient(Options{Proxy: "http://" + p.ln.Addr().String(), Allow: []string{"192.168.1.10:8080"}})
	r, err := c.Fetch(t.Context(), Request{URL: "http://192.168.1.10:8080/"})
	if err != nil || string(r.Body) != "hello" || len(p.seen) != 0 {
		t.Errorf("%+v, %v, the proxy saw %q", r, err, p.seen)
	}
}

func TestProxy(t *testing.T) {
	for _, c := range []struct {
		name     string
		answers  []string
		resolves bool
		refuse   bool
		kind     Kind
		seen     []string
	}{
		{"the address that was checked", []string{public}, false, false, 0, []string{"CONNECT " + public + ":80 Basic bWU6cHc="}},
		{"a private one", []string{"10.0.0.1"}, false, false, Internal, nil},
		{"a private one, though the proxy may resolve", []string{"10.0.0.1"}, true, false, Internal, nil},
		{"a name that only the proxy knows", nil, false, false, NotFound, nil},
		{"which the configuration allows", nil, true, false, 0, []string{"CONNECT example.com:80 Basic bWU6cHc="}},
		{"that refuses", []string{public}, false, true, Proxy, []string{"CONNECT " + public + ":80 Basic bWU6cHc="}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newInternet(t, map[string][]string{"example.com": c.answers}, answerText("hello"))
			p := newProxy(t, n.plain.Listener.Addr().String())
			if c.refuse {
				p.say = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
			}
			r, err := n.newClient(Options{Proxy: "http://me:pw@" + p.ln.Addr().String(), ProxyResolves: c.resolves}).Fetch(t.Context(), Request{URL: "http://example.com/"})
			if kindOf(err) != c.kind || err == nil && string(r.Body) != "hello" {
				t.Errorf("%+v, %v", r, err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if !slices.Equal(p.seen, c.seen) {
				t.Errorf("the proxy saw %q", p.seen)
			}
		})
	}
}
