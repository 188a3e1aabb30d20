package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"hob/channels"
)

const (
	// lookAgain is how often a turn that waits for the owner is looked at.
	lookAgain = time.Second
	// lastWords is how long the live feed may lag behind the end of a turn.
	lastWords = 200 * time.Millisecond
)

// turnSink is a client that follows one turn.
type turnSink interface {
	// event takes what happened; text arrives as content_delta {text}.
	event(kind string, data any) error
	ping() error
	flush() error
}

// errGone: the client does not read any more.
var errGone = errors.New("web: the client went away")

// follower tells one client what happens in one turn. The live feed says it
// as it happens but may drop; the backend's word on the event is complete. What
// the feed left out is made up for at the end.
type follower struct {
	s    *Server
	sink turnSink
	// mark records that the client displays something; nil when it has not named itself.
	mark  func(Display) error
	id    string
	feed  <-chan FeedEvent
	waits chan waited
	wg    sync.WaitGroup

	all, part strings.Builder // text the client has: all of it, and since the last tool call
	calls     []openCall
	asked     map[string]bool
	last      json.RawMessage // data of message_end
	failed    bool
	paused    <-chan time.Time // ticks while the turn waits for the owner
	stopTick  func()
}

type openCall struct{ id, name string }

type waited struct {
	st  EventStatus
	err error
}

// follow tells sink about the turn until it is final. It ends with message_end
// unless the turn is dead or an error is returned.
func (s *Server) follow(r *http.Request, acc channels.Accepted, sub Subscription, sink turnSink) (EventStatus, error) {
	ctx, cancel := until(r.Context())
	client, err := clientOf(r)
	if err != nil {
		cancel()
		return EventStatus{}, err
	}
	f := &follower{
		s: s, mark: s.marker(r, client), sink: sink, id: acc.Event, feed: sub.C(), waits: make(chan waited, 1),
		asked: map[string]bool{}, stopTick: func() {},
	}
	defer f.wg.Wait()
	defer cancel()
	defer func() { f.stopTick() }()
	f.wait(ctx)
	st, err := f.run(ctx)
	if err == nil && st.State != "dead" {
		err = f.finish(st)
	}
	if err != nil && r.Context().Err() != nil && !isClosing(r) {
		err = errGone
	}
	return st, err
}

// wait asks the backend for the end of the turn, in a goroutine.
func (f *follower) wait(ctx context.Context) {
	f.wg.Go(func() {
		st, err := f.s.backend.Wait(ctx, f.id)
		f.waits <- waited{st, err}
	})
}

func (f *follower) run(ctx context.Context) (EventStatus, error) {
	ping := time.NewTicker(f.s.opt.Ping)
	defer ping.Stop()
	for {
		if len(f.feed) == 0 {
			if err := f.sink.flush(); err != nil {
				return EventStatus{}, errGone
			}
		}
		select {
		case e, ok := <-f.feed:
			if !ok {
				f.feed = nil
				continue
			}
			if err := f.live(e); err != nil {
				return EventStatus{}, err
			}
			if e.Event == f.id && e.Type == "message_end" {
				if st, err := f.s.backend.Event(ctx, f.id); err == nil && isFinal(st) {
					return whole(st), nil
				}
			}
		case w := <-f.waits:
			st, final, err := f.looked(ctx, w.st, w.err)
			if final || err != nil {
				return st, err
			}
		case <-f.paused:
			st, err := f.s.backend.Event(ctx, f.id)
			st, final, err := f.looked(ctx, st, err)
			if final || err != nil {
				return st, err
			}
		case <-ping.C:
			if err := f.sink.ping(); err != nil {
				return EventStatus{}, errGone
			}
		case <-ctx.Done():
			return EventStatus{}, context.Cause(ctx)
		}
	}
}

// looked acts on the backend's word about the event.
func (f *follower) looked(ctx context.Context, st EventStatus, err error) (EventStatus, bool, error) {
	if err != nil {
		return st, false, err
	}
	if isFinal(st) {
		return whole(st), true, f.drain(ctx)
	}
	for _, a := range st.Approvals {
		raw, err := json.Marshal(a)
		if err != nil {
			return st, false, err
		}
		if err := f.ask(raw); err != nil {
			return st, false, err
		}
	}
	switch {
	case len(st.Approvals) == 0: // goes on
		f.stopTick()
		f.paused, f.stopTick = nil, func() {}
		f.wait(ctx)
	case f.paused == nil:
		t := time.NewTicker(lookAgain)
		f.paused, f.stopTick = t.C, t.Stop
	}
	return st, false, nil
}

// drain reads what the feed still has of a turn that is over.
func (f *follower) drain(ctx context.Context) error {
	t := time.NewTimer(lastWords)
	defer t.Stop()
	for f.last == nil && f.feed != nil {
		select {
		case e, ok := <-f.feed:
			if !ok {
				return nil
			}
			if err := f.live(e); err != nil {
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

// live passes one event of the feed on.
func (f *follower) live(e FeedEvent) error {
	if e.Event != f.id {
		return nil
	}
	switch e.Type {
	case "message_start", "delivery", "watcher", "status":
		return nil // the first was sent when the message was taken
	case "message_end":
		f.last = e.Data
		if f.last == nil {
			f.last = json.RawMessage("{}")
		}
		return nil
	case "error":
		f.failed = true // the turn may be tried again or apologise; the backend knows
		return nil
	case "content_delta":
		var d struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil || d.Text == "" {
			return nil
		}
		return f.text(d.Text)
	case "tool_call_start":
		return f.callStart(e.Data)
	case "tool_result":
		return f.callEnd(e.Data)
	case "approval_required":
		return f.ask(e.Data)
	}
	return f.emit(e.Type, e.Data)
}

func (f *follower) emit(kind string, data any) error {
	if err := f.sink.event(kind, data); err != nil {
		return errGone
	}
	return nil
}
