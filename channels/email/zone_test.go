package email

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"hob/platform/net/safehttp"
)

// zone contains the answers of name servers.
type zone struct {
	mu      sync.Mutex
	records map[string][]string
	down    bool
	broken  string // a name whose lookup fails
	asked   []string
}

func (z *zone) lookUpTXT(name string) (list []string, down bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	z.asked = append(z.asked, name)
	return z.records[name], z.down || name == z.broken
}

func (z *zone) setDown(down bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.down = down
}

func (z *zone) listQuestions() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.asked)
}

// LookupTXT implements dkimcheck.TXTResolver.
func (z *zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	list, down := z.lookUpTXT(name)
	if down {
		return nil, &safehttp.Error{Kind: safehttp.Resolve, Message: "the name servers do not answer"}
	}
	if list == nil {
		return nil, &safehttp.Error{Kind: safehttp.NotFound, Message: "nothing is published"}
	}
	return list, nil
}

// serveDNS answers DNS queries over UDP (RFC 1035) and returns a client that uses this server.
func (z *zone) serveDNS(t *testing.T) *safehttp.Client {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := z.answerQuery(buf[:n]); out != nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}
	c, err := safehttp.New(safehttp.Options{Resolver: &net.Resolver{PreferGo: true, Dial: dial}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (z *zone) answerQuery(in []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(in); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	list, down := z.lookUpTXT(q.Name.String())
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	switch {
	case down:
		out.RCode = dnsmessage.RCodeServerFailure
	case list == nil:
		out.RCode = dnsmessage.RCodeNameError
	}
	for _, s := range list {
		var parts []string
		for part := range slices.Chunk([]byte(s), 255) {
			parts = append(parts, string(part))
		}
		if !down {
			out.Answers = append(out.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET, TTL: 1}, Body: &dnsmessage.TXTResource{TXT: parts},
			})
		}
	}
	b, err := out.Pack()
	if err != nil {
		return nil
	}
	return b
}
