package web

import (
	"errors"
	"net/http"

	"hob/channels"
)

// streamAnswer responds to a message with server-sent events.
func (s *Server) streamAnswer(w http.ResponseWriter, r *http.Request, in channels.Inbound) error {
	// Subscribe before sending the message, or the first words would be missed.
	sub := s.backend.Subscribe(0)
	defer sub.Close()
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return err
	}
	out, err := newSSE(w)
	if err != nil {
		return nil // client gone; the message is stored
	}
	sink := &eventSink{out}
	start := struct {
		Event    string `json:"event"`
		Session  string `json:"session"`
		Position int    `json:"position"`
	}{acc.Event, in.Session, acc.Position}
	if sink.sendEvent("message_start", start) != nil || sink.flushEvents() != nil {
		return nil
	}
	st, err := s.followTurn(r, acc, sub, sink)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		f := failureOf(s.waitEndError(r, acc.Event, err))
		_ = sink.sendEvent("error", f.streamError())
	case st.State == "dead":
		_ = sink.sendEvent("error", failureOf(turnFailure(st)).streamError())
	}
	_ = sink.flushEvents()
	return nil
}

// eventSink sends each event under its own name.
type eventSink struct{ *sse }

func (e *eventSink) sendEvent(kind string, data any) error { return e.sse.writeEvent(0, kind, data) }

func (e *eventSink) sendPing() error {
	if err := e.sse.writeEvent(0, "ping", struct{}{}); err != nil {
		return err
	}
	return e.flushEvents()
}
