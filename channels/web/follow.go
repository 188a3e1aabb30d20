package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/channels"
)

const (
	// lookAgain is the polling interval for a turn that is waiting for the owner.
	lookAgain = time.Second
	// lastWords is how long the live feed may lag behind the end of a turn.
	lastWords = 200 * time.Millisecond
)

// turnSink writes the events of a turn to one client.
type turnSink interface {
	// sendEvent sends an event. Text of the answer is sent as content_delta {text}.
	sendEvent(kind string, data any) error
	sendPing() error
	flushEvents() error
}

// errGone means that the client disconnected.
var errGone = errors.New("web: the client disconnected")

// follower streams one turn to one client. The live feed is immediate but may drop events; the
// backend's event status is complete. At the end, the follower adds what the feed dropped.
type follower struct {
	s    *Server
	sink turnSink
	// mark records what the client displays. It is nil if the client has no id.
	mark  func(api.Display) error
	id    string
	feed  <-chan api.FeedEvent
	waits chan waitResult
	wg    sync.WaitGroup

	all, part strings.Builder // text sent to the client: all of it, and the part since the last tool call
	calls     []openCall
	asked     map[string]bool
	last      json.RawMessage // data of the event message_end
	failed    bool
	paused    <-chan time.Time // ticks while the turn is waiting for the owner
	stopTick  func()
}

type openCall struct{ id, name string }

type waitResult struct {
	st  api.EventStatus
	err error
}

// followTurn streams the turn to sink until it is final. The stream ends with message_end unless
// the turn is dead or followTurn returns an error.
func (s *Server) followTurn(r *http.Request, acc channels.Accepted, sub api.Subscription, sink turnSink) (api.EventStatus, error) {
	ctx, cancel := withServerLifetime(r.Context())
	client, err := clientOf(r)
	if err != nil {
		cancel()
		return api.EventStatus{}, err
	}
	f := &follower{
		s: s, mark: s.displayMarker(r, client), sink: sink, id: acc.Event, feed: sub.C(), waits: make(chan waitResult, 1),
		asked: map[string]bool{}, stopTick: func() {},
	}
	defer f.wg.Wait()
	defer cancel()
	defer func() { f.stopTick() }()
	f.awaitTurn(ctx)
	st, err := f.runLoop(ctx)
	if err == nil && st.State != "dead" {
		err = f.finishStream(st)
	}
	if err != nil && r.Context().Err() != nil && !isClosing(r) {
		err = errGone
	}
	return st, err
}

// awaitTurn waits for the end of the turn in a goroutine.
func (f *follower) awaitTurn(ctx context.Context) {
	f.wg.Go(func() {
		st, err := f.s.backend.Wait(ctx, f.id)
		f.waits <- waitResult{st, err}
	})
}

func (f *follower) runLoop(ctx context.Context) (api.EventStatus, error) {
	ping := time.NewTicker(f.s.opt.Ping)
	defer ping.Stop()
	for {
		if len(f.feed) == 0 {
			if err := f.sink.flushEvents(); err != nil {
				return api.EventStatus{}, errGone
			}
		}
		select {
		case e, ok := <-f.feed:
			if !ok {
				f.feed = nil
				continue
			}
			if err := f.forwardEvent(e); err != nil {
				return api.EventStatus{}, err
			}
			if e.Event == f.id && e.Type == "message_end" {
				if st, err := f.s.backend.Event(ctx, f.id); err == nil && isFinal(st) {
					return fillStatus(st), nil
				}
			}
		case w := <-f.waits:
			st, final, err := f.handleStatus(ctx, w.st, w.err)
			if final || err != nil {
				return st, err
			}
		case <-f.paused:
			st, err := f.s.backend.Event(ctx, f.id)
			st, final, err := f.handleStatus(ctx, st, err)
			if final || err != nil {
				return st, err
			}
		case <-ping.C:
			if err := f.sink.sendPing(); err != nil {
				return api.EventStatus{}, errGone
			}
		case <-ctx.Done():
			return api.EventStatus{}, context.Cause(ctx)
		}
	}
}

// handleStatus handles an event status from the backend.
func (f *follower) handleStatus(ctx context.Context, st api.EventStatus, err error) (api.EventStatus, bool, error) {
	if err != nil {
		return st, false, err
	}
	if isFinal(st) {
		return fillStatus(st), true, f.drainFeed(ctx)
	}
	for _, a := range st.Approvals {
		raw, err := json.Marshal(a)
		if err != nil {
			return st, false, err
		}
		if err := f.emitApproval(raw); err != nil {
			return st, false, err
		}
	}
	switch {
	case len(st.Approvals) == 0: // the turn has continued
		f.stopTick()
		f.paused, f.stopTick = nil, func() {}
		f.awaitTurn(ctx)
	case f.paused == nil:
		t := time.NewTicker(lookAgain)
		f.paused, f.stopTick = t.C, t.Stop
	}
	return st, false, nil
}

// drainFeed reads the remaining feed events of a finished turn.
func (f *follower) drainFeed(ctx context.Context) error {
	t := time.NewTimer(lastWords)
	defer t.Stop()
	for f.last == nil && f.feed != nil {
		select {
		case e, ok := <-f.feed:
			if !ok {
				return nil
			}
			if err := f.forwardEvent(e); err != nil {
				return err
			}
		case <-t.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// forwardEvent forwards one event of the feed.
func (f *follower) forwardEvent(e api.FeedEvent) error {
	if e.Event != f.id {
		return nil
	}
	switch e.Type {
	case "message_start", "delivery", "watcher", "status":
		return nil // already sent when the message was accepted
	case "message_end":
		f.last = e.Data
		if f.last == nil {
			f.last = json.RawMessage("{}")
		}
		return nil
	case "error":
		f.failed = true // the backend knows whether the turn is retried or ends with an apology
		return nil
	case "content_delta":
		var d struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil || d.Text == "" {
			return nil
		}
		return f.emitText(d.Text)
	case "tool_call_start":
		return f.callStart(e.Data)
	case "tool_result":
		return f.callEnd(e.Data)
	case "approval_required":
		return f.emitApproval(e.Data)
	}
	return f.emitEvent(e.Type, e.Data)
}

func (f *follower) emitEvent(kind string, data any) error {
	if err := f.sink.sendEvent(kind, data); err != nil {
		return errGone
	}
	return nil
}
