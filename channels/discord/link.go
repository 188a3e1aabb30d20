package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
)

// link is one connection to the gateway.
type link struct {
	c       *Channel
	ws      *websocket.Conn
	r       channels.Receiver
	frames  chan frame
	events  chan frame
	broken  chan error
	presses *presses
	last    int64 // last event read, for heartbeats
	ready   bool  // signed in or
}

// read receives frames until the connection ends.
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

// taking is the error of an event that was not accepted.
type taking struct{ err error }

func (t *taking) Error() string { return t.err.Error() }

func (t *taking) Unwrap() error { return t.err }

// work handles events in sequence. An event that is not accepted ends the connection: it comes
// again with the resumed session.
func (l *link) work(ctx context.Context) {
	failed := false
	for f := range l.events {
		if failed || ctx.Err() != nil {
			continue
		}
		if err := l.event(ctx, f); err != nil {
			failed = true
			l.broken <- &taking{fmt.Errorf("discord: handle an event: %w", err)}
			continue
		}
		l.c.handled(*f.Seq)
	}
}

// serve runs the protocol: hello, sign-in or resume, heartbeats, events.
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
				return l.again("no sign-in in time")
			}
		case <-beat.C:
			if !acked { // "Heartbeat ACK": the connection is a zombie
				return l.again("no heartbeat acknowledged")
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

// hello waits for the first message of the gateway, which contains the heartbeat interval.
func (l *link) hello(ctx context.Context) (time.Duration, error) {
	t := time.NewTimer(helloWait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.C:
		return 0, channels.Errorf(channels.Temporary, "discord: no hello from the gateway")
	case err := <-l.broken:
		return 0, l.c.closed(err, false)
	case f := <-l.frames:
		var h struct {
			Every int64 `json:"heartbeat_interval"`
		}
		if f.Op != opHello || json.Unmarshal(f.Data, &h) != nil || h.Every <= 0 || h.Every > 600_000 {
			return 0, channels.Errorf(channels.Temporary, "discord: the gateway's first message is not a valid hello")
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
		case closed := <-l.broken: // the close reason is more precise
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

// signIn resumes a session or starts a new one.
func (l *link) signIn(ctx context.Context, s session) error {
	if s.id != "" {
		return l.write(opResume, map[string]any{"token": l.c.token, "session_id": s.id, "seq": s.seq})
	}
	if !channels.Sleep(ctx, l.c.opt.Pause(l.c.untilIdentify())) {
		return ctx.Err()
	}
	return l.write(opIdentify, map[string]any{
		"token": l.c.token, "intents": intents,
		"properties": map[string]string{"os": "hob", "browser": "hob", "device": "hob"},
	})
}

// again returns the error for a reconnect, which is immediate if this connection was ready.
func (l *link) again(why string) error {
	if l.ready {
		return fmt.Errorf("%w: %s", errAgain, why)
	}
	return channels.Errorf(channels.Temporary, "discord: sign-in to the gateway failed: %s; Hob retries", why)
}

// frame handles all frames except acknowledgements.
func (l *link) frame(ctx context.Context, f frame) error {
	switch f.Op {
	case opHeartbeat: // requested by the gateway
		return l.heartbeat()
	case opReconnect:
		return l.again("reconnect requested")
	case opInvalid:
		var may bool
		_ = json.Unmarshal(f.Data, &may) // anything else means no
		if !may {
			l.c.forget()
		}
		// "Invalid Session": wait one to five seconds.
		if !channels.Sleep(ctx, l.c.opt.Pause(time.Second+rand.N(4*time.Second))) {
			return ctx.Err()
		}
		return fmt.Errorf("%w: session not valid", errAgain)
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
		case "INTERACTION_CREATE": // must be answered within three seconds, regardless of the queue
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

// event handles one queued event.
func (l *link) event(ctx context.Context, f frame) error {
	c, r := l.c, l.r
	switch f.Type {
	case "READY":
		if err := c.register(ctx); err != nil {
			c.log.Warn("registering the commands failed", "error", err)
		}
		clear(c.caught)
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
			c.log.Warn("decoding a Discord message failed")
			return nil
		}
		return c.take(ctx, r, &m)
	case "INTERACTION_CREATE":
		return l.presses.take(ctx, r, f.Data)
	}
	return nil
}
