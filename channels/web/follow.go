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
	s     *Server
	sink  turnSink
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

// stream answers a message with server-sent events.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, in channels.Inbound) error {
	// Before the message is put, or the first words would be missed.
	sub := s.backend.Subscribe(0)
	defer sub.Close()
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return err
	}
	out, err := newSSE(w)
	if err != nil {
		return nil // gone; the message is kept
	}
	sink := &eventSink{out}
	start := struct {
		Event    string `json:"event"`
		Session  string `json:"session"`
		Position int    `json:"position"`
	}{acc.Event, in.Session, acc.Position}
	if sink.event("message_start", start) != nil || sink.flush() != nil {
		return nil
	}
	st, err := s.follow(r, acc, sub, sink)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		f := failureOf(s.cut(r, acc.Event, err))
		_ = sink.event("error", f.withEvent())
	case st.State == "dead":
		_ = sink.event("error", failureOf(dead(st)).withEvent())
	}
	_ = sink.flush()
	return nil
}

// withEvent is a failure as it stands in a stream.
func (f *failure) withEvent() any {
	return struct {
		*failure
		Event string `json:"event"`
	}{f, f.Event}
}

// eventSink passes everything on under its own name.
type eventSink struct{ *sse }

func (e *eventSink) event(kind string, data any) error { return e.sse.event(0, kind, data) }
func (e *eventSink) ping() error {
	if err := e.sse.event(0, "ping", struct{}{}); err != nil {
		return err
	}
	return e.flush()
}

// follow tells sink about the turn until it is final. It ends with message_end
// unless the turn is dead or an error is returned.
func (s *Server) follow(r *http.Request, acc channels.Accepted, sub Subscription, sink turnSink) (EventStatus, error) {
	ctx, cancel := until(r)
	f := &follower{
		s: s, sink: sink, id: acc.Event, feed: sub.C(), waits: make(chan waited, 1),
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

func (f *follower) text(t string) error {
	f.all.WriteString(t)
	f.part.WriteString(t)
	return f.emit("content_delta", struct {
		Text string `json:"text"`
	}{t})
}

func (f *follower) callStart(data json.RawMessage) error {
	var c struct{ ID, Name string }
	_ = json.Unmarshal(data, &c)
	f.calls = append(f.calls, openCall{c.ID, c.Name})
	f.part.Reset()
	return f.emit("tool_call_start", data)
}

// callEnd closes a call. A result whose start was dropped gets one; a call that
// the engine renamed is closed under the id with which it was opened.
func (f *follower) callEnd(data json.RawMessage) error {
	var c struct{ ID, Name string }
	_ = json.Unmarshal(data, &c)
	f.part.Reset()
	at := -1
	for i, o := range f.calls {
		if o.id == c.ID {
			at = i
			break
		}
	}
	var out any = data
	switch {
	case at >= 0:
	case len(f.calls) > 0:
		at = 0
		out = object(data, map[string]any{"id": f.calls[0].id, "call": c.ID})
	default:
		if err := f.emit("tool_call_start", map[string]string{"id": c.ID, "name": c.Name}); err != nil {
			return err
		}
	}
	if at >= 0 {
		f.calls = append(f.calls[:at], f.calls[at+1:]...)
	}
	return f.emit("tool_result", out)
}

// ask passes a question to the owner on, once.
func (f *follower) ask(data json.RawMessage) error {
	var a struct{ ID string }
	_ = json.Unmarshal(data, &a)
	if f.asked[a.ID] {
		return nil
	}
	f.asked[a.ID] = true
	if err := f.emit("approval_required", data); err != nil {
		return err
	}
	return f.flush()
}

func (f *follower) flush() error {
	if err := f.sink.flush(); err != nil {
		return errGone
	}
	return nil
}

// finish makes the stream complete and ends it.
func (f *follower) finish(st EventStatus) error {
	for _, c := range f.calls { // results that the feed dropped
		d := map[string]any{"id": c.id, "name": c.name, "ok": false, "text": "the result is in message_end"}
		if err := f.emit("tool_result", d); err != nil {
			return err
		}
	}
	missing, replaced := f.missing(st.Answer)
	if missing != "" {
		if err := f.text(missing); err != nil {
			return err
		}
	}
	reason := "end_turn"
	var end struct{ Interrupted bool }
	_ = json.Unmarshal(f.last, &end)
	switch {
	case end.Interrupted:
		reason = "cancelled"
	case f.failed:
		reason = "error"
	}
	fields := map[string]any{
		"event": st.ID, "session": st.Session, "answer": st.Answer, "tools": st.Tools, "usage": st.Usage, "finish_reason": reason,
	}
	if replaced {
		fields["replaced"] = true
	}
	if err := f.emit("message_end", object(f.last, fields)); err != nil {
		return err
	}
	return f.flush()
}

// missing compares what the client has with the answer: the tail it lacks, or
// that the answer is another text than what was streamed (a correction, or a
// hole in the middle).
func (f *follower) missing(answer string) (tail string, replaced bool) {
	all, part := f.all.String(), f.part.String()
	switch {
	case strings.HasSuffix(all, answer):
		return "", false
	case strings.HasPrefix(answer, all):
		return answer[len(all):], false
	case strings.HasPrefix(answer, part) && part != "":
		return answer[len(part):], false
	case part == "": // the last words came after a tool, and none of them was heard
		return answer, false
	}
	return "", true
}
