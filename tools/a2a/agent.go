package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"hob/platform/net/safehttp"
	"hob/tools"
)

// Limits of an agent's responses.
const (
	maxCard     = 256 << 10
	maxResponse = 8 << 20
	cardTime    = 20 * time.Second
	requestTime = time.Minute
)

const cardPath = "/.well-known/agent-card.json"

// Errors of an agent's HTTP server.
var (
	errUnauthorized = errors.New("the agent rejected the token")
	errRedirect     = errors.New("the agent redirects to another address")
)

// Connection is a connection to an agent whose card was read.
type Connection struct {
	*a2aclient.Client

	// Card is the agent's card. Its texts are untrusted.
	Card *a2a.AgentCard
}

// Connect reads the card of a configured agent. It uses only the addresses in the card that are on
// the configured host, so that a card cannot direct a task or the token elsewhere.
func (c *Client) Connect(ctx context.Context, name string) (*Connection, error) {
	g, err := c.findAgent(name)
	if err != nil {
		return nil, err
	}
	network, err := c.o.Network.Named(g.URL)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	token := ""
	if g.Token != "" {
		if token, err = c.o.Secret(ctx, g.Token); err != nil {
			return nil, fmt.Errorf("agent %s: token: %w", name, err)
		}
	}
	home, err := url.Parse(g.URL)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	client := safehttp.NewStreamingClient(&transport{network: &safehttp.Transport{Client: network, MaxBody: maxResponse}, token: token})
	card, err := readCard(ctx, client, home)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	usable := *card
	if usable.SupportedInterfaces, err = usableInterfaces(card, home); err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	conn, err := a2aclient.NewFromCard(ctx, &usable, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(client), a2aclient.WithRESTTransport(client))
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	return &Connection{Client: conn, Card: card}, nil
}

// readCard reads the card without the token.
func readCard(ctx context.Context, client *http.Client, home *url.URL) (*a2a.AgentCard, error) {
	ctx, cancel := context.WithTimeout(ctx, cardTime)
	defer cancel()
	address := strings.TrimSuffix(home.String(), "/")
	if !strings.HasSuffix(address, cardPath) {
		address += cardPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the agent card: %w", bareError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the agent card: %s answered with status %d; check the url of the agent", home.Host, resp.StatusCode)
	}
	var card a2a.AgentCard
	d := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxCard))
	if err := d.Decode(&card); err != nil {
		return nil, fmt.Errorf("read the agent card: not a valid card of A2A 1.0; check the url of the agent")
	}
	return &card, nil
}

// bareError removes the URL that http.Client adds to errors.
func bareError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// usableInterfaces returns the interfaces of A2A 1.x on the configured host.
func usableInterfaces(card *a2a.AgentCard, home *url.URL) (out []*a2a.AgentInterface, err error) {
	elsewhere := ""
	for _, f := range card.SupportedInterfaces {
		if f == nil || f.ProtocolBinding != a2a.TransportProtocolJSONRPC && f.ProtocolBinding != a2a.TransportProtocolHTTPJSON || !strings.HasPrefix(string(f.ProtocolVersion), "1.") {
			continue
		}
		u, err := url.Parse(f.URL)
		switch {
		case err != nil:
		case u.Scheme == home.Scheme && strings.EqualFold(u.Host, home.Host) && u.User == nil:
			out = append(out, f)
		default:
			elsewhere = u.Host
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case elsewhere != "":
		return nil, fmt.Errorf("the card points to another host, %q; if you trust this host, use it in the url of the agent", elsewhere)
	}
	return nil, errors.New("the agent offers neither JSON-RPC nor REST of A2A 1.0")
}

// transport sends requests through safehttp. It adds the token to all requests except the request
// for the card.
type transport struct {
	network *safehttp.Transport
	token   string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" && !strings.HasSuffix(r.URL.Path, cardPath) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := t.network.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		err = fmt.Errorf("%w (status %d); check the token of the agent", errUnauthorized, status)
	case status >= 300 && status < 400:
		err = fmt.Errorf("%w (status %d), which Hob does not follow; set the url of the agent to the final address", errRedirect, status)
	default:
		return resp, nil
	}
	_ = resp.Body.Close() // the body of an error is not needed
	return nil, err
}

// Test reads the card of an agent and checks its token with a request that has no effect.
func (c *Client) Test(ctx context.Context, name string) (*Connection, error) {
	conn, err := c.Connect(ctx, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err = conn.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.NewTaskID()})
	if err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
		return nil, fmt.Errorf("agent %s: %w", name, bareError(err))
	}
	return conn, nil
}

// answerText returns the text of a task's answer, at most maxText bytes. It names files but does
// not fetch them.
func answerText(t *a2a.Task) string {
	var parts []string
	for _, a := range t.Artifacts {
		if a != nil {
			parts = append(parts, partsText(a.Parts))
		}
	}
	if len(parts) == 0 || t.Status.State != a2a.TaskStateCompleted {
		if t.Status.Message != nil {
			parts = append(parts, partsText(t.Status.Message.Parts))
		}
	}
	text := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if text == "" {
		for i := len(t.History) - 1; i >= 0; i-- {
			if m := t.History[i]; m != nil && m.Role == a2a.MessageRoleAgent {
				text = strings.TrimSpace(partsText(m.Parts))
				break
			}
		}
	}
	return cutText(text)
}

func partsText(parts a2a.ContentParts) string {
	var out []string
	for _, p := range parts {
		if p == nil {
			continue
		}
		switch v := p.Content.(type) {
		case a2a.Text:
			out = append(out, string(v))
		case a2a.Data:
			if b, err := json.Marshal(v.Value); err == nil {
				out = append(out, string(b))
			}
		case a2a.URL:
			out = append(out, fmt.Sprintf("[file %s at %s]", p.Filename, string(v)))
		case a2a.Raw:
			out = append(out, fmt.Sprintf("[file %s, %s, %d bytes; not kept]", p.Filename, p.MediaType, len(v)))
		}
	}
	return strings.Join(out, "\n")
}

// cutText cuts text to maxText bytes at a rune boundary.
func cutText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "\n[the rest was cut off]"
}

// failedCall is the error of a call for the model.
type failedCall struct {
	code    tools.Code
	text    string
	outside bool
}

func (f *failedCall) Error() string { return f.text }
