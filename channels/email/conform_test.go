package email

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// platform adapts a mailbox to the suite: the suite's chat "c" is a thread with Ada.
type platform struct {
	*mailFixture
	channelstest.Stalls

	mu    sync.Mutex
	class []channels.Class
	down  bool
	open  []net.Conn
	n     int
	last  string
}

// threadChannel sends the suite's deliveries in a thread.
type threadChannel struct{ *Channel }

func (a threadChannel) replaceChat(d channels.Delivery) channels.Delivery {
	if d.Chat == "c" {
		d.Chat = chatOf(ada, hashOf("c"))
	}
	return d
}

func (a threadChannel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	return a.Channel.Send(ctx, a.replaceChat(d))
}

func (a threadChannel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	return a.Channel.Find(ctx, a.replaceChat(d))
}

func (p *platform) Arrived() (out []string) {
	seen := map[string]bool{}
	for _, m := range p.parsedMails() {
		if !seen[m.id] {
			out = append(out, m.plain)
		}
		seen[m.id] = true
	}
	return out
}

func (p *platform) Fail(c channels.Class, n int) bool {
	if c == channels.Later {
		return false // SMTP cannot request a time for the retry
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		p.class = append(p.class, c)
	}
	return true
}

// dialAddress connects, and fails as the suite requests, except for the connections of Run.
func (p *platform) dialAddress(ctx context.Context, addr string) (net.Conn, error) {
	p.mu.Lock()
	down := p.down
	var class *channels.Class
	if strings.HasSuffix(p.s.URL, addr) && len(p.class) > 0 {
		class, p.class = &p.class[0], p.class[1:]
	}
	p.mu.Unlock()
	if down {
		return nil, &net.DNSError{Err: "no such host", Name: "smtp.example.org", IsTemporary: true}
	}
	if err := p.Stalled(ctx); err != nil {
		return nil, err
	}
	if class != nil {
		switch *class {
		case channels.Unauthorized:
			return nil, fmt.Errorf("%w: simulated", pim.ErrSignIn)
		case channels.Permanent:
			return nil, fmt.Errorf("%w: simulated", pim.ErrRefused)
		}
		return nil, io.ErrUnexpectedEOF
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		p.mu.Lock()
		p.open = append(p.open, c)
		p.mu.Unlock()
	}
	return c, err
}

// Down implements channelstest.Outage.
func (p *platform) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// Up implements channelstest.Outage.
func (p *platform) Up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// Again implements channelstest.Repeater: it puts the last mail into the mailbox a second time.
func (p *platform) Again(context.Context) bool {
	p.put(p.last)
	return true
}

// Reopen implements channelstest.Reopener.
func (p *platform) Reopen(*testing.T) channels.Channel {
	return threadChannel{p.newChannel(p.channelConfig())}
}

// Secrets implements channelstest.Secrets.
func (p *platform) Secrets() []string { return []string{pimtest.Secret} }

// Rendered implements channelstest.Renderer: it lists content that a mail program would not only
// display.
func (p *platform) Rendered() (out []string) {
	for _, m := range p.parsedMails() {
		doc, err := html.Parse(strings.NewReader(m.html))
		if err != nil {
			return []string{err.Error()}
		}
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && !slices.Contains(shown, n.Data) {
				out = append(out, "element "+n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case n.Data == "a" && a.Key == "href" && regexp.MustCompile(`^(https?://|mailto:)`).MatchString(a.Val):
				case a.Key == "style", a.Key == "align", a.Key == "start", a.Key == "title", a.Key == "class", a.Key == "type", a.Key == "checked", a.Key == "disabled":
				default:
					out = append(out, a.Key+" "+a.Val)
				}
			}
		}
	}
	return out
}

// shown lists the elements that only structure or format text.
var shown = strings.Fields("html head body p br a b i u s em strong del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td div span sup sub")

func (p *platform) Say(_ context.Context, chat, sender, text string, group bool) bool {
	p.mu.Lock()
	p.n++
	n := p.n
	p.mu.Unlock()
	more := fmt.Sprintf("References: <%s@test.local>", chat)
	if group {
		more += "\nCc: others@example.org"
	}
	p.last = letterTo(fmt.Sprintf("say%d@test.local", n), sender+"@example.org", "Re: x", text, more)
	p.put(p.last)
	return true
}

func testConformance(t *testing.T, sv servers) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		w := sv.newFixture(t)
		p := &platform{mailFixture: w}
		w.runChannel(w.newChannel(w.channelConfig()))() // messages from before the first start are not received
		w.acc.Via = p.dialAddress
		return threadChannel{w.newChannel(w.channelConfig())}, p
	})
}
