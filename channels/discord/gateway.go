package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
	"hob/platform/retry"
)

// The opcodes of the gateway ("Opcodes and Status Codes").
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// intents are the subscribed events: servers, server messages, direct messages, and message
// content. The last one is privileged ("Gateway Intents").
const intents = 1<<0 | 1<<9 | 1<<12 | 1<<15

const (
	helloWait = 20 * time.Second // timeout for the connection, and again for the hello message
	readyWait = time.Minute      // time limit for signing in
	writeWait = 10 * time.Second
	// identifyEvery is the minimum time between sign-ins ("Identifying": max_concurrency).
	identifyEvery = 5 * time.Second
	maxFrame      = 32 << 20
	// queue is the maximum number of waiting events. When the queue is full, reading stops, and
	// Discord keeps the remaining events for the resumed session.
	queue = 1024
)

// session holds the data needed to resume a connection ("Resuming").
type session struct {
	id, url string
	// seq is the sequence number of the last handled event. After a resume, Discord sends later
	// events again.
	seq int64
}

// frame is one gateway payload.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type string          `json:"t"`
}

// errAgain means that the gateway requests, or allows, an immediate reconnect.
var errAgain = errors.New("discord: the gateway requested a new connection")

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil
	}
	if err := c.seen.loadPositions(ctx); err != nil {
		return ignoreAfterEnd(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { c.asked.Watch(ctx, time.Second, c.removeButtons) })
	for {
		began := time.Now()
		err := c.serveConnection(ctx, r)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		c.log.Info("reconnecting to the gateway", "reason", err, "after", time.Since(began))
		if time.Since(began) < time.Second && retry.Sleep(ctx, c.opt.Pause(time.Second)) != nil {
			return nil
		}
	}
}

// ignoreAfterEnd returns nil if ctx has ended, because errors are then expected. Otherwise it
// returns err.
func ignoreAfterEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// serveConnection opens a connection and serves it until it ends. All its goroutines end before it
// returns.
func (c *Channel) serveConnection(ctx context.Context, r channels.Receiver) error {
	s := c.resumableSession()
	ws, err := c.dialGateway(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })() // a write must not outlive Run
	l := &gatewayConn{c: c, ws: ws, r: r, frames: make(chan frame), events: make(chan frame, queue), broken: make(chan error, 2)}
	l.last = s.seq
	var wg sync.WaitGroup
	l.presses = newPresses(c)
	wg.Go(func() { l.readFrames(ctx) })
	worked := make(chan struct{})
	wg.Go(func() {
		defer close(worked)
		l.handleEvents(ctx)
	})
	err = l.serveSession(ctx, s)
	c.markDisconnected()
	close(l.events)
	if ctx.Err() == nil { // handle the received events before the next connection requests later ones
		<-worked
		l.presses.waitAll()
	}
	cancel()
	// Skip the closing handshake: after code 1000 or 1001 the session could not be resumed
	// ("Initiating a Disconnect").
	_ = ws.Close()
	l.presses.waitAll()
	wg.Wait()
	select {
	case e := <-l.broken: // the worker's error is more precise
		if _, ok := errors.AsType[*forwardError](e); ok {
			err = e
		}
	default:
	}
	return err
}

// dialGateway connects to the resume URL of the session, or to the URL that Discord returns.
func (c *Channel) dialGateway(ctx context.Context, s session) (*websocket.Conn, error) {
	at := s.url
	if at == "" {
		var g struct {
			URL   string `json:"url"`
			Limit struct {
				Total, Remaining int
				ResetAfter       int64 `json:"reset_after"`
			} `json:"session_start_limit"`
		}
		if err := c.getJSON(ctx, "get the gateway", "/gateway/bot", &g); err != nil {
			return nil, err
		}
		if s.id == "" && g.Limit.Total > 0 && g.Limit.Remaining <= 0 { // resuming does not count toward the limit
			return nil, channels.Errorf(channels.Temporary, "discord: daily limit of sign-ins reached; it resets in %s", time.Duration(g.Limit.ResetAfter)*time.Millisecond)
		}
		at = g.URL
	}
	u, err := c.gatewayURL(at)
	if err != nil {
		c.forgetSession()
		return nil, err
	}
	scheme := "https"
	if u.Scheme == "ws" {
		scheme = "http"
	}
	d := websocket.Dialer{HandshakeTimeout: helloWait, NetDialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		return c.network.Connect(ctx, scheme, to)
	}}
	ws, resp, err := d.DialContext(ctx, u.String(), nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		if s.url != "" {
			c.forgetResumeURL() // the next attempt requests the URL
		}
		return nil, channels.Errorf(channels.Temporary, "discord: connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	return ws, nil
}

// endOnGap ends the session if missed messages could not be fetched, because a resumed session does
// not repeat them.
func (c *Channel) endOnGap(err error) error {
	if err != nil {
		c.forgetSession()
	}
	return err
}

// classifyClose returns the class of a connection's close error ("Gateway Close Event Codes").
func (c *Channel) classifyClose(err error, ready bool) error {
	if _, ok := errors.AsType[*forwardError](err); ok {
		return err
	}
	code := 0
	if e, ok := errors.AsType[*websocket.CloseError](err); ok {
		code = e.Code
	}
	switch code {
	case 4004:
		c.forgetSession()
		return channels.Errorf(channels.Unauthorized, "discord: Discord rejected the token; %s", tokenRemedy)
	case 4013, 4014:
		c.forgetSession()
		return channels.Errorf(channels.Unauthorized, "discord: the bot has no permission to read messages (%d); %s", code, intentRemedy)
	case 4010, 4011, 4012:
		c.forgetSession()
		return channels.Errorf(channels.Permanent, "discord: the gateway rejected this kind of connection (%d); use the bot in fewer servers or update Hob", code)
	case 4003, 4007, 4009:
		c.forgetSession() // start a new session
	}
	if ready {
		return fmt.Errorf("%w: connection closed (%d)", errAgain, code)
	}
	return channels.Errorf(channels.Temporary, "discord: the gateway closed the connection (%d); Hob reconnects", code)
}
