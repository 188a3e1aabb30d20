package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
	"hob/platform/retry"
)

// gatewayConn is one gateway connection.
type gatewayConn struct {
	c       *Channel
	ws      *websocket.Conn
	r       channels.Receiver
	frames  chan frame
	events  chan frame
	broken  chan error
	presses *interactionResponder
	last    int64 // sequence number of the last received event, for heartbeats
	ready   bool  // signed in or resumed
}

// readFrames receives frames until the connection ends.
func (l *gatewayConn) readFrames(ctx context.Context) {
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

// forwardError wraps the error for an event that was not accepted.
type forwardError struct{ err error }

func (t *forwardError) Error() string { return t.err.Error() }

func (t *forwardError) Unwrap() error { return t.err }

// handleEvents handles events in sequence. An event that is not accepted ends the connection; the
// resumed session delivers it again.
func (l *gatewayConn) handleEvents(ctx context.Context) {
	failed := false
	for f := range l.events {
		if failed || ctx.Err() != nil {
			continue
		}
		if err := l.handleEvent(ctx, f); err != nil {
			failed = true
			l.broken <- &forwardError{fmt.Errorf("discord: handle an event: %w", err)}
			continue
		}
		l.c.noteSequence(*f.Seq)
	}
}

// serveSession runs the protocol: hello, sign-in or resume, heartbeats, events.
func (l *gatewayConn) serveSession(ctx context.Context, s session) error {
	every, err := l.awaitHello(ctx)
	if err != nil {
		return err
	}
	if err := l.signIn(ctx, s); err != nil {
		return err
	}
	// "Sending Heartbeats": the first heartbeat is sent after a random fraction of the interval.
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
			return l.c.classifyClose(err, l.ready)
		case <-late.C:
			if !l.ready {
				return l.reconnectError("no sign-in in time")
			}
		case <-beat.C:
			if !acked { // "Heartbeat ACK": a missing acknowledgement means a dead connection
				return l.reconnectError("no heartbeat acknowledged")
			}
			acked = false
			if err := l.sendHeartbeat(); err != nil {
				return err
			}
			beat.Reset(every)
		case f := <-l.frames:
			if f.Op == opAck {
				acked = true
				continue
			}
			if err := l.handleFrame(ctx, f); err != nil {
				return err
			}
		}
	}
}

// awaitHello waits for the gateway's first message, which contains the heartbeat interval.
func (l *gatewayConn) awaitHello(ctx context.Context) (time.Duration, error) {
	t := time.NewTimer(helloWait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.C:
		return 0, channels.Errorf(channels.Temporary, "discord: no hello from the gateway")
	case err := <-l.broken:
		return 0, l.c.classifyClose(err, false)
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

func (l *gatewayConn) writeFrame(op int, data any) error {
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
			return l.c.classifyClose(closed, l.ready)
		case <-time.After(time.Second):
			return channels.Errorf(channels.Temporary, "discord: write to the gateway: %w", err)
		}
	}
	return nil
}

func (l *gatewayConn) sendHeartbeat() error {
	if l.last == 0 {
		return l.writeFrame(opHeartbeat, nil)
	}
	return l.writeFrame(opHeartbeat, l.last)
}

// signIn resumes a session or starts a new one.
func (l *gatewayConn) signIn(ctx context.Context, s session) error {
	if s.id != "" {
		return l.writeFrame(opResume, map[string]any{"token": l.c.token, "session_id": s.id, "seq": s.seq})
	}
	if retry.Sleep(ctx, l.c.opt.Pause(l.c.untilIdentify())) != nil {
		return ctx.Err()
	}
	return l.writeFrame(opIdentify, map[string]any{
		"token": l.c.token, "intents": intents,
		"properties": map[string]string{"os": "hob", "browser": "hob", "device": "hob"},
	})
}

// reconnectError returns the error that triggers a reconnect. The reconnect is immediate if this
// connection was ready.
func (l *gatewayConn) reconnectError(why string) error {
	if l.ready {
		return fmt.Errorf("%w: %s", errAgain, why)
	}
	return channels.Errorf(channels.Temporary, "discord: sign-in to the gateway failed: %s; Hob retries", why)
}

// handleFrame handles all frames except acknowledgements.
func (l *gatewayConn) handleFrame(ctx context.Context, f frame) error {
	switch f.Op {
	case opHeartbeat: // requested by the gateway
		return l.sendHeartbeat()
	case opReconnect:
		return l.reconnectError("reconnect requested")
	case opInvalid:
		var may bool
		_ = json.Unmarshal(f.Data, &may) // an unreadable value means no
		if !may {
			l.c.forgetSession()
		}
		// "Invalid Session": wait one to five seconds.
		if retry.Sleep(ctx, l.c.opt.Pause(time.Second+rand.N(4*time.Second))) != nil {
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
			l.c.markConnected()
		case "INTERACTION_CREATE": // must be answered within three seconds, regardless of the queue
			l.presses.handleInteraction(ctx, f.Data)
		}
		select {
		case l.events <- f:
		case <-ctx.Done():
		case err := <-l.broken:
			return l.c.classifyClose(err, l.ready)
		}
	}
	return nil
}

// handleEvent handles one queued event.
func (l *gatewayConn) handleEvent(ctx context.Context, f frame) error {
	c, r := l.c, l.r
	switch f.Type {
	case "READY":
		if err := c.registerCommands(ctx); err != nil {
			c.log.Warn("registering the commands failed", "error", err)
		}
		clear(c.caught)
		return c.endOnGap(c.catchUp(ctx, r, ""))
	case "GUILD_CREATE":
		id := c.addGuild(f.Data)
		if id == "" {
			return nil
		}
		return c.endOnGap(c.catchUp(ctx, r, id))
	case "GUILD_DELETE":
		c.removeGuild(f.Data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		c.renameChannel(f.Data)
	case "MESSAGE_CREATE":
		var m message
		if json.Unmarshal(f.Data, &m) != nil {
			c.log.Warn("decoding a Discord message failed")
			return nil
		}
		return c.forwardMessage(ctx, r, &m)
	case "INTERACTION_CREATE":
		return l.presses.forwardCommand(ctx, r, f.Data)
	}
	return nil
}
