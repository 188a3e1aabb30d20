package slack

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
)

// envelope is one message on the socket (docs.slack.dev/apis/events-api/using-socket-mode,
// "Receiving events"). A resent envelope has retry_attempt set; the message inside identifies it as
// a duplicate.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
	Reason  string          `json:"reason"` // reason for a disconnect
	Attempt int             `json:"retry_attempt"`
	Open    int             `json:"num_connections"` // in a hello: number of the app's connections, including this one
}

// frame is a message from one of the sockets, or the error that ended it.
type frame struct {
	from *socket
	env  envelope
	err  error
}

// socket is one connection. Slack allows several concurrent ones.
type socket struct {
	conn    *websocket.Conn
	silence time.Duration
	open    int         // number of the app's connections when this one was opened
	leaving atomic.Bool // whether the socket is read only until its deadline
	mu      sync.Mutex  // serializes writes to the connection
}

const (
	maxEnvelope = 4 << 20
	writeWait   = 5 * time.Second
	helloWait   = 20 * time.Second
	// drain is how long a connection is still read after Slack announced that it will close it.
	drain = 15 * time.Second
)

// ackEnvelope acknowledges an envelope. Slack expects this within 3 s and resends unacknowledged
// envelopes (docs.slack.dev/apis/events-api, "Responding to events" and "Retries").
func (s *socket) ackEnvelope(id string, payload any) error {
	if id == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	return s.conn.WriteJSON(struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{id, payload})
}

// socketURL requests a URL for a socket. The URL works once and only for a short time
// (docs.slack.dev/reference/methods/apps.connections.open).
func (c *Channel) socketURL(ctx context.Context) (string, error) {
	var out struct {
		URL string `json:"url"`
	}
	if _, err := c.callAPI(ctx, c.app, "apps.connections.open", nil, &out); err != nil {
		if errorCode(err) == "missing_scope" {
			return "", channels.Errorf(channels.Unauthorized, "slack: the app token lacks the scope connections:write; create one with it under Basic Information, App-Level Tokens, and set it: hob channel add slack")
		}
		return "", err
	}
	if !c.isSlackHost(out.URL) {
		return "", errors.New("slack: apps.connections.open returned an address that is not a Slack host")
	}
	return out.URL, nil
}

// dialSocket opens a socket and waits for Slack's hello message.
func (c *Channel) dialSocket(ctx context.Context) (*socket, error) {
	address, err := c.socketURL(ctx)
	if err != nil {
		return nil, err
	}
	scheme := "https"
	if u, err := url.Parse(address); err == nil && u.Scheme == "ws" {
		scheme = "http"
	}
	ctx, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	d := websocket.Dialer{
		NetDialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			return c.net.Connect(ctx, scheme, hostport)
		},
		TLSClientConfig:  &tls.Config{MinVersion: tls.VersionTLS12},
		HandshakeTimeout: helloWait,
	}
	conn, resp, err := d.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // the body is not used
	}
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, fmt.Errorf("slack: open a socket: Slack answered %d", resp.StatusCode)
		}
		return nil, fmt.Errorf("slack: open a socket: %w", withoutAddress(err))
	}
	s := &socket{conn: conn, silence: c.at.Silence}
	conn.SetReadLimit(maxEnvelope)
	if err := s.awaitHello(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.startDeadline()
	return s, nil
}

// withoutAddress removes the URL from an error, because the URL contains a ticket.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// awaitHello waits for the first envelope, which confirms the connection.
func (s *socket) awaitHello(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	at, _ := ctx.Deadline()
	if err := s.conn.SetReadDeadline(at); err != nil {
		return fmt.Errorf("slack: open a socket: %w", err)
	}
	var env envelope
	if err := s.conn.ReadJSON(&env); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New("slack: open a socket: the connection ended before Slack said hello")
	}
	switch env.Type {
	case "hello":
		s.open = env.Open
		return nil
	case "disconnect":
		return disconnectError(env.Reason)
	}
	return errors.New("slack: open a socket: Slack did not say hello")
}

// startDeadline closes the connection if Slack stops sending pings, because a dead socket reports
// no error and looks idle.
func (s *socket) startDeadline() {
	s.extendDeadline()
	s.conn.SetPingHandler(func(data string) error {
		s.extendDeadline()
		err := s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeWait))
		if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
			return err
		}
		return nil
	})
}

func (s *socket) extendDeadline() {
	if !s.leaving.Load() {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.silence))
	}
}

// startLeaving makes the connection end after drain at the latest.
func (s *socket) startLeaving() {
	s.leaving.Store(true)
	_ = s.conn.SetReadDeadline(time.Now().Add(drain))
}

// readFrames forwards the frames until the connection ends.
func (s *socket) readFrames(ctx context.Context, to chan<- frame) {
	for {
		var f frame
		_, raw, err := s.conn.ReadMessage()
		switch {
		case err != nil:
			f = frame{from: s, err: fmt.Errorf("slack: the socket ended: %w", withoutAddress(err))}
		default:
			s.extendDeadline()
			f.from = s
			if json.Unmarshal(raw, &f.env) != nil {
				continue // there is no envelope to acknowledge
			}
		}
		select {
		case to <- f:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// disconnectError returns the error for a disconnect reason. link_disabled means that Socket Mode
// was switched off for the app (docs.slack.dev/apis/events-api/using-socket-mode, "Disconnecting").
func disconnectError(reason string) error {
	switch reason {
	case "link_disabled":
		return channels.Errorf(channels.Unauthorized, "slack: Socket Mode was switched off for the app; switch it on under Socket Mode on its page and restart Hob")
	case "too_many_websockets":
		e := channels.Errorf(channels.Later, "slack: the app has too many connections; check whether another Hob uses the same tokens")
		e.RetryAt = time.Now().Add(time.Minute)
		return e
	}
	return fmt.Errorf("slack: Slack ended the connection (%s)", sanitizeCode(reason))
}
