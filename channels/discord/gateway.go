package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
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

// intents: servers, their messages, direct messages, and what stands in them. The last
// one is privileged ("Gateway Intents").
const intents = 1<<0 | 1<<9 | 1<<12 | 1<<15

const (
	helloWait = 20 * time.Second // for the connection, and then for the first word
	readyWait = time.Minute      // for being signed in
	writeWait = 10 * time.Second
	// identifyEvery is how often a bot may sign in ("Identifying": max_concurrency).
	identifyEvery = 5 * time.Second
	maxFrame      = 32 << 20
	// queue is how many events wait while one is being taken. When it is full, nothing is
	// read, and Discord keeps the rest for the session that is resumed.
	queue = 1024
)

// session is what a connection can be resumed with ("Resuming").
type session struct {
	id, url string
	// seq is the last event that was handled. Those that were only read come again.
	seq int64
}

// frame is one payload of the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type string          `json:"t"`
}

// errAgain means that the gateway wants, or allows, a new connection at once.
var errAgain = errors.New("discord: the gateway wants a new connection")

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil
	}
	if err := c.load(ctx); err != nil {
		return ended(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { c.watchAsked(ctx) })
	for {
		began := time.Now()
		err := c.connection(ctx, r)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		c.log.Info("the gateway is connected to anew", "reason", err, "after", time.Since(began))
		if time.Since(began) < time.Second && !sleep(ctx, c.opt.Pause(time.Second)) {
			return nil
		}
	}
}

// ended is nil once ctx has ended: then it is no failure.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Channel) load(ctx context.Context) error {
	if err := c.seen.load(ctx); err != nil {
		return err
	}
	return c.asked.load(ctx)
}

// link is one connection to the gateway.
type link struct {
	c       *Channel
	ws      *websocket.Conn
	r       channels.Receiver
	frames  chan frame
	events  chan frame
	broken  chan error
	presses *presses
	last    int64 // the last event that was read, for heartbeats
	ready   bool  // it was signed in, or resumed
}

// connection makes one, and serves it until it ends. Its goroutines end with it.
func (c *Channel) connection(ctx context.Context, r channels.Receiver) error {
	s := c.resumable()
	ws, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })() // a write does not outlive Run
	l := &link{c: c, ws: ws, r: r, frames: make(chan frame), events: make(chan frame, queue), broken: make(chan error, 2)}
	l.last = s.seq
	var wg sync.WaitGroup
	l.presses = newPresses(c)
	wg.Go(func() { l.read(ctx) })
	worked := make(chan struct{})
	wg.Go(func() {
		defer close(worked)
		l.work(ctx)
	})
	err = l.serve(ctx, s)
	c.gone()
	close(l.events)
	if ctx.Err() == nil { // what was read is handled before the next connection asks for what follows
		<-worked
		l.presses.wait()
	}
	cancel()
	// Without a closing handshake: after one with 1000 or 1001 the session could not be
	// resumed ("Initiating a Disconnect").
	_ = ws.Close()
	l.presses.wait()
	wg.Wait()
	select {
	case e := <-l.broken: // why the worker gave up says more
		if _, ok := errors.AsType[*taking](e); ok {
			err = e
		}
	default:
	}
	return err
}

// dial connects, to where a session can be resumed, or to where Discord says.
func (c *Channel) dial(ctx context.Context, s session) (*websocket.Conn, error) {
	at := s.url
	if at == "" {
		var g struct {
			URL   string `json:"url"`
			Limit struct {
				Total, Remaining int
				ResetAfter       int64 `json:"reset_after"`
			} `json:"session_start_limit"`
		}
		if err := c.get(ctx, "look for the gateway", "/gateway/bot", &g); err != nil {
			return nil, err
		}
		if g.Limit.Total > 0 && g.Limit.Remaining <= 0 {
			return nil, channels.Errorf(channels.Temporary, "discord: the bot has signed in too often today; Discord lets it in again in %s", time.Duration(g.Limit.ResetAfter)*time.Millisecond)
		}
		at = g.URL
	}
	u, err := c.gatewayURL(at)
	if err != nil {
		c.forget()
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
			c.elsewhere() // the next try asks where
		}
		return nil, channels.Errorf(channels.Temporary, "discord: connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	return ws, nil
}

// read takes frames in until the connection ends.
func (l *link) read(ctx context.Context) {
	for {
		_, raw, err := l.ws.ReadMessage()
		var f frame
		if err == nil {
			err = json.Unmarshal(raw, &f)
		}
		if err != nil {
			l.broken <- err
			return
		}
		select {
		case l.frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// taking is an event that could not be taken.
type taking struct{ err error }

func (t *taking) Error() string { return t.err.Error() }
func (t *taking) Unwrap() error { return t.err }

// work handles events one after the other. One that cannot be taken ends the connection:
// it comes again with the resumed session.
func (l *link) work(ctx context.Context) {
	failed := false
	for f := range l.events {
		if failed || ctx.Err() != nil {
			continue
		}
		if err := l.event(ctx, f); err != nil {
			failed = true
			l.broken <- &taking{fmt.Errorf("discord: take an event: %w", err)}
			continue
		}
		l.c.handled(*f.Seq)
	}
}

// serve speaks the protocol: hello, sign in or resume, heartbeats, events.
func (l *link) serve(ctx context.Context, s session) error {
	every, err := l.hello(ctx)
	if err != nil {
		return err
	}
	if err := l.signIn(ctx, s); err != nil {
		return err
	}
	// "Sending Heartbeats": the first one after a random part of the interval.
	beat := time.NewTimer(time.Duration(rand.Float64() * float64(every)))
	defer beat.Stop()
	late := time.NewTimer(readyWait)
	defer late.Stop()
	acked := true
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-l.broken:
			return l.c.closed(err, l.ready)
		case <-late.C:
			if !l.ready {
				return l.again("it does not sign in")
			}
		case <-beat.C:
			if !acked { // "Heartbeat ACK": the connection is a zombie
				return l.again("it does not answer heartbeats")
			}
			acked = false
			if err := l.heartbeat(); err != nil {
				return err
			}
			beat.Reset(every)
		case f := <-l.frames:
			if f.Op == opAck {
				acked = true
				continue
			}
			if err := l.frame(ctx, f); err != nil {
				return err
			}
		}
	}
}

// hello waits for the first word of the gateway, which says how often to send heartbeats.
func (l *link) hello(ctx context.Context) (time.Duration, error) {
	t := time.NewTimer(helloWait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.C:
		return 0, channels.Errorf(channels.Temporary, "discord: the gateway says nothing")
	case err := <-l.broken:
		return 0, l.c.closed(err, false)
	case f := <-l.frames:
		var h struct {
			Every int64 `json:"heartbeat_interval"`
		}
		if f.Op != opHello || json.Unmarshal(f.Data, &h) != nil || h.Every <= 0 || h.Every > 600_000 {
			return 0, channels.Errorf(channels.Temporary, "discord: the gateway does not begin as it should")
		}
		return time.Duration(h.Every) * time.Millisecond, nil
	}
}

func (l *link) write(op int, data any) error {
	err := l.ws.SetWriteDeadline(time.Now().Add(writeWait))
	if err == nil {
		err = l.ws.WriteJSON(struct {
			Op   int `json:"op"`
			Data any `json:"d"`
		}{op, data})
	}
	if err != nil {
		select {
		case closed := <-l.broken: // why it was closed says more
			return l.c.closed(closed, l.ready)
		case <-time.After(time.Second):
			return channels.Errorf(channels.Temporary, "discord: write to the gateway: %w", err)
		}
	}
	return nil
}

func (l *link) heartbeat() error {
	if l.last == 0 {
		return l.write(opHeartbeat, nil)
	}
	return l.write(opHeartbeat, l.last)
}

// signIn resumes a session, or begins one.
func (l *link) signIn(ctx context.Context, s session) error {
	if s.id != "" {
		return l.write(opResume, map[string]any{"token": l.c.token, "session_id": s.id, "seq": s.seq})
	}
	if !sleep(ctx, l.c.opt.Pause(l.c.untilIdentify())) {
		return ctx.Err()
	}
	return l.write(opIdentify, map[string]any{
		"token": l.c.token, "intents": intents,
		"properties": map[string]string{"os": "hob", "browser": "hob", "device": "hob"},
	})
}

// again is the end of a connection after which another one is made, at once when this
// one had served.
func (l *link) again(why string) error {
	if l.ready {
		return fmt.Errorf("%w: %s", errAgain, why)
	}
	return channels.Errorf(channels.Temporary, "discord: the gateway let nobody in: %s; it is tried again", why)
}

// frame handles what is no acknowledgement.
func (l *link) frame(ctx context.Context, f frame) error {
	switch f.Op {
	case opHeartbeat: // it wants one at once
		return l.heartbeat()
	case opReconnect:
		return l.again("it asked for it")
	case opInvalid:
		var may bool
		_ = json.Unmarshal(f.Data, &may) // anything else means no
		if !may {
			l.c.forget()
		}
		// "Invalid Session": one to five seconds later.
		if !sleep(ctx, l.c.opt.Pause(time.Second+rand.N(4*time.Second))) {
			return ctx.Err()
		}
		return fmt.Errorf("%w: the session is not valid", errAgain)
	case opDispatch:
		if f.Seq == nil {
			return nil
		}
		l.last = *f.Seq
		switch f.Type {
		case "READY":
			l.ready = true
			if err := l.c.signedIn(f.Data); err != nil {
				return err
			}
		case "RESUMED":
			l.ready = true
			l.c.connected()
		case "INTERACTION_CREATE": // has to be answered within three seconds, whatever waits
			l.presses.came(ctx, f.Data)
		}
		select {
		case l.events <- f:
		case <-ctx.Done():
		case err := <-l.broken:
			return l.c.closed(err, l.ready)
		}
	}
	return nil
}

// event handles one event in its turn.
func (l *link) event(ctx context.Context, f frame) error {
	c, r := l.c, l.r
	switch f.Type {
	case "READY":
		if err := c.register(ctx); err != nil {
			c.log.Warn("the commands cannot be made known to Discord", "error", err)
		}
		return c.whole(c.catchUp(ctx, r, ""))
	case "GUILD_CREATE":
		id := c.entered(f.Data)
		if id == "" {
			return nil
		}
		return c.whole(c.catchUp(ctx, r, id))
	case "GUILD_DELETE":
		c.left(f.Data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		c.named(f.Data)
	case "MESSAGE_CREATE":
		var m message
		if json.Unmarshal(f.Data, &m) != nil {
			c.log.Warn("a message of Discord's cannot be read")
			return nil
		}
		return c.take(ctx, r, &m)
	case "INTERACTION_CREATE":
		return l.presses.take(ctx, r, f.Data)
	}
	return nil
}

// whole ends the session when what was missed could not be heard: a session that is
// resumed would not look for it again.
func (c *Channel) whole(err error) error {
	if err != nil {
		c.forget()
	}
	return err
}

// closed classifies the end of a connection ("Gateway Close Event Codes").
func (c *Channel) closed(err error, ready bool) error {
	if _, ok := errors.AsType[*taking](err); ok {
		return err
	}
	code := 0
	if e, ok := errors.AsType[*websocket.CloseError](err); ok {
		code = e.Code
	}
	switch code {
	case 4004:
		c.forget()
		return channels.Errorf(channels.Unauthorised, "discord: Discord does not take the token; %s", tokenRemedy)
	case 4013, 4014:
		c.forget()
		return channels.Errorf(channels.Unauthorised, "discord: the bot may not read messages (%d); %s", code, intentRemedy)
	case 4010, 4011, 4012:
		c.forget()
		return channels.Errorf(channels.Permanent, "discord: the gateway does not serve this bot in this way (%d); a bot in fewer servers, or a newer Hob, is needed", code)
	case 4003, 4007, 4009, websocket.CloseNormalClosure, websocket.CloseGoingAway:
		c.forget() // a new session
	}
	if ready {
		return fmt.Errorf("%w: it was closed (%d)", errAgain, code)
	}
	return channels.Errorf(channels.Temporary, "discord: the gateway closed the connection (%d); it is tried again", code)
}
