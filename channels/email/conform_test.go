package email

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/pim"
)

// platform is a mailbox in the form that the suite knows: its chat "c" is a thread with
// Ada.
type platform struct {
	*world

	mu    sync.Mutex
	class []channels.Class
	stall chan struct{}
	n     int
}

// at puts a delivery of the suite's into a thread.
type at struct{ *Channel }

func (a at) to(d channels.Delivery) channels.Delivery {
	if d.Chat == "c" {
		d.Chat = chatOf(ada, hashOf("c"))
	}
	return d
}

func (a at) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	return a.Channel.Send(ctx, a.to(d))
}

func (a at) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	return a.Channel.Find(ctx, a.to(d))
}

func (p *platform) Arrived() (out []string) {
	seen := map[string]bool{}
	for _, m := range p.mails() {
		if !seen[m.id] {
			out = append(out, m.plain)
		}
		seen[m.id] = true
	}
	return out
}

func (p *platform) Fail(c channels.Class, n int) bool {
	if c == channels.Later {
		return false // SMTP names no time
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		p.class = append(p.class, c)
	}
	return true
}

func (p *platform) Stall() func() {
	c := make(chan struct{})
	p.mu.Lock()
	p.stall = c
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.stall = nil
		p.mu.Unlock()
		close(c)
	})
}

// secret gives the password, and the suite's failures.
func (p *platform) secret(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.class) == 0 {
		return "secret", nil
	}
	c := p.class[0]
	p.class = p.class[1:]
	switch c {
	case channels.Unauthorised:
		return "wrong", nil
	case channels.Permanent:
		return "", fmt.Errorf("%w: as the test wants it", pim.ErrRefused)
	}
	return "", io.ErrUnexpectedEOF
}

func (p *platform) via(ctx context.Context, addr string) (net.Conn, error) {
	p.mu.Lock()
	stall := p.stall
	p.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func (p *platform) Say(_ context.Context, chat, sender, text string, group bool) bool {
	p.mu.Lock()
	p.n++
	n := p.n
	p.mu.Unlock()
	more := fmt.Sprintf("References: <%s@test.local>", chat)
	if group {
		more += "\nCc: others@example.org"
	}
	p.put(letterTo(fmt.Sprintf("say%d@test.local", n), sender+"@example.org", "Re: x", text, more))
	return true
}

func testConformance(t *testing.T, sv servers) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		w := sv.world(t)
		p := &platform{world: w}
		w.run(w.channel(w.config()))() // what comes from now on is new
		w.acc.Secret, w.acc.Via = p.secret, p.via
		return at{w.channel(w.config())}, p
	})
}
