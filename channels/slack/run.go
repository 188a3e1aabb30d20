package slack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/retry"
)

// session holds the state of one Run.
type session struct {
	*Channel
	to     channels.Receiver
	frames chan frame // frames from all sockets, in the order of each socket
	wg     sync.WaitGroup
	// Queues for button presses and commands. They are separate from frames, because a person is
	// waiting for the result.
	presses, commands chan frame
}

// Run implements channels.Channel.
func (c *Channel) Run(ctx context.Context, to channels.Receiver) error {
	if err := c.loadAsked(ctx); err != nil {
		return ignoreCanceled(ctx, err)
	}
	all, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() { c.withdrawAnswered(all, &watch) })
	sup := retry.Supervisor{
		// The random wait is at most Pause, 2 Pause, 4 Pause ... 2 min, plus half of Pause.
		Backoff: retry.Backoff{First: c.at.Pause, Max: 2 * time.Minute, Jitter: 1, Offset: c.at.Pause / 2},
		Healthy: time.Minute,
		Failed: func(err error, delay time.Duration) (time.Duration, bool) {
			if channels.ClassOf(err) == channels.Unauthorized {
				return 0, false
			}
			c.noteStatus(err, "not connected")
			wait := max(channels.RetryIn(err, 0), delay)
			c.log.Warn("slack is not connected", "error", err, "wait", wait)
			return wait, true
		},
	}
	err := sup.Run(ctx, func(ctx context.Context) error {
		s := &session{Channel: c, to: to, frames: make(chan frame, 256), presses: make(chan frame, 64), commands: make(chan frame, 64)}
		return s.runSession(ctx)
	})
	c.noteStatus(nil, "not connected")
	return err
}

// ignoreCanceled returns nil if ctx has ended, and otherwise err.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// runSession connects, fetches missed messages and then receives new ones, until the connection is
// lost or a message is not accepted. The next run reads the message that was not accepted from the
// history.
func (s *session) runSession(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var open []*socket
	defer func() {
		cancel()
		for _, o := range open {
			_ = o.conn.Close()
		}
		s.wg.Wait()
	}()
	me, h, err := s.fetchIdentity(ctx)
	if err != nil {
		return err
	}
	nobody, err := s.admitMembers(ctx, me)
	if err != nil {
		return err
	}
	past, err := s.loadCursors(ctx, serverTime(h))
	if err != nil {
		return err
	}
	connect := func() (*socket, error) {
		k, err := s.dialSocket(ctx)
		if err != nil {
			return nil, err
		}
		open = append(open, k)
		s.wg.Go(func() { s.routeFrames(ctx, k) })
		return k, nil
	}
	now, err := connect()
	if err != nil {
		return err
	}
	if now.open > 1 { // Slack distributes the messages across the connections
		s.log.Warn("slack: another connection of this app receives some of the messages; check whether another Hob uses the same tokens", "connections", now.open)
	}
	s.wg.Go(func() { handleInOrder(ctx, s.presses, s.handlePress) })
	s.wg.Go(func() { handleInOrder(ctx, s.commands, s.handleCommand) })
	if past {
		// Socket events wait until receiveMissed returns, so that messages are handled in order.
		if err := s.receiveMissed(ctx, s.receiveMessage); err != nil {
			return err
		}
	}
	s.noteStatus(nil, "connected as @%s on %s since %s UTC%s", me.Name, me.Called, time.Now().UTC().Format("2006-01-02 15:04"), nobody)
	for {
		var f frame
		select {
		case <-ctx.Done():
			return nil
		case f = <-s.frames:
		}
		switch {
		case f.err != nil && f.from != now:
			_ = f.from.conn.Close() // the connection has already been replaced
			open = slices.DeleteFunc(open, func(o *socket) bool { return o == f.from })
		case f.err != nil:
			return f.err
		case f.env.Type == "disconnect" && f.from == now:
			if now, err = s.renewSocket(f, connect); err != nil {
				return err
			}
		case f.env.Type == "events_api":
			if err := s.handleEvent(ctx, f); err != nil {
				return err
			}
		}
	}
}

// routeFrames dispatches the frames of one socket. Presses and commands do not wait for messages.
func (s *session) routeFrames(ctx context.Context, k *socket) {
	in := make(chan frame)
	s.wg.Go(func() {
		defer close(in)
		k.readFrames(ctx, in)
	})
	for f := range in {
		to := s.frames
		switch f.env.Type {
		case "interactive":
			to = s.presses
		case "slash_commands":
			to = s.commands
		}
		select {
		case to <- f:
		case <-ctx.Done():
		}
	}
}

// renewSocket replaces a connection that Slack is about to end. Slack ends it a few seconds after
// "warning", or after "refresh_requested" once another connection is open. The old connection is
// read until then.
func (s *session) renewSocket(f frame, connect func() (*socket, error)) (*socket, error) {
	if f.env.Reason != "warning" && f.env.Reason != "refresh_requested" {
		return nil, disconnectError(f.env.Reason)
	}
	next, err := connect()
	if err != nil {
		return nil, err
	}
	f.from.startLeaving()
	return next, nil
}

// handleEvent handles one event and acknowledges it. An event that is not accepted ends the session
// and is not acknowledged.
func (s *session) handleEvent(ctx context.Context, f frame) error {
	m, ok := parseEvent(f.env.Payload)
	if ok {
		if err := s.receiveMessage(ctx, m); err != nil {
			return err
		}
	}
	s.acknowledgeFrame(f, nil)
	return nil
}

// acknowledgeFrame acknowledges an envelope. A write error is only logged: reading the connection
// then fails as well, Slack sends the envelope again, and the message's key identifies it as a
// duplicate.
func (s *session) acknowledgeFrame(f frame, payload any) {
	if err := f.from.ackEnvelope(f.env.ID, payload); err != nil {
		s.log.Debug("acknowledging a Slack envelope failed", "error", err)
	}
}

// receiveMessage forwards one message and records its position. An error means that the message was
// not accepted.
func (s *session) receiveMessage(ctx context.Context, m message) error {
	if m.ThreadTS == m.TS {
		m.ThreadTS = "" // the first message of a thread refers to itself
	}
	in, ok := s.toInbound(ctx, m)
	if !ok {
		return nil
	}
	_, err := s.to.Receive(ctx, in)
	taken := err == nil
	if err != nil && !errors.Is(err, channels.ErrStranger) {
		return err
	}
	place := m.Channel
	if m.ThreadTS != "" {
		place += "/" + m.ThreadTS
	}
	if err := s.markRead(ctx, place, m.TS, m.ThreadTS == "" || taken && in.Mentioned); err != nil {
		return err
	}
	if taken && in.Group && in.Mentioned && m.ThreadTS == "" { // replies to it are in a new thread
		return s.markRead(ctx, in.Chat, m.TS, true)
	}
	return nil
}

// handleInOrder runs do for each frame in sequence.
func handleInOrder(ctx context.Context, from <-chan frame, do func(context.Context, frame)) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-from:
			do(ctx, f)
		}
	}
}

// handleCommand handles "/hob text". Hob may not be a member of the channel, so its answer goes to
// the sender's direct chat. Only the sender sees the immediate reply in the channel
// (docs.slack.dev/interactivity/implementing-slash-commands).
func (s *session) handleCommand(ctx context.Context, f frame) {
	cmd, ok := parseCommand(f.env.Payload)
	if !ok {
		s.acknowledgeFrame(f, nil)
		return
	}
	chat, err := s.directChat(ctx, cmd.User)
	if err != nil {
		s.log.Warn("answering a Slack command failed", "error", err)
		s.acknowledgeFrame(f, ephemeralReply("I cannot write to you: "+err.Error()))
		return
	}
	in := channels.Inbound{
		Channel: Name, Chat: chat, Server: cmd.Team, Sender: cmd.Team + "/" + cmd.User, SenderName: s.memberName(ctx, cmd.User), Mentioned: true,
		Text: strings.TrimSpace(cmd.Text), Key: "command/" + cmd.Trigger, At: time.Now(),
	}
	_, err = s.to.Receive(ctx, in)
	switch {
	case errors.Is(err, channels.ErrStranger):
		s.acknowledgeFrame(f, ephemeralReply("I only talk to my owner and people on the allow list. If I am your Hob, run this on your machine: hob channel pair slack"))
	case err != nil:
		s.log.Warn("Slack command not accepted", "error", err)
		s.acknowledgeFrame(f, ephemeralReply("I could not receive that. Send it again in a moment."))
	case cmd.Channel == chat:
		s.acknowledgeFrame(f, nil)
	default:
		s.acknowledgeFrame(f, ephemeralReply("I will answer in our direct messages."))
	}
}

func ephemeralReply(text string) map[string]string {
	return map[string]string{"response_type": "ephemeral", "text": escapeText(text)}
}
