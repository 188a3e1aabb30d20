package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"hob/channels"
)

// sse writes server-sent events (WHATWG HTML, section 9.2) to one client. Only the request's
// goroutine uses it.
type sse struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	b  bytes.Buffer
}

// newSSE sends the response header of the stream.
func newSSE(w http.ResponseWriter) (*sse, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would otherwise buffer the events
	s := &sse{w: w, rc: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	return s, s.flushEvents()
}

// writeEvent writes one event to the buffer; flush sends it. An id of 0 means none.
func (s *sse) writeEvent(id uint64, kind string, data any) error {
	s.b.WriteString("event: ")
	s.b.WriteString(kind)
	if id > 0 {
		s.b.WriteString("\nid: ")
		s.b.Write(strconv.AppendUint(s.b.AvailableBuffer(), id, 10))
	}
	s.b.WriteString("\ndata: ")
	if err := encodeLine(&s.b, data); err != nil { // encodeLine ends the data with a line feed
		return fmt.Errorf("web: encode an event: %w", err)
	}
	s.b.WriteByte('\n')
	return s.flushWhenFull()
}

// writeData writes an event without a name to the buffer.
func (s *sse) writeData(v any) error {
	s.b.WriteString("data: ")
	if err := encodeLine(&s.b, v); err != nil {
		return fmt.Errorf("web: encode an event: %w", err)
	}
	s.b.WriteByte('\n')
	return s.flushWhenFull()
}

func (s *sse) writeComment(text string) error {
	s.b.WriteString(": " + text + "\n\n")
	return s.flushEvents()
}

// flushWhenFull flushes the buffer if it is large.
func (s *sse) flushWhenFull() error {
	if s.b.Len() < 16<<10 {
		return nil
	}
	return s.flushEvents()
}

func (s *sse) flushEvents() error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTime))
	if s.b.Len() > 0 {
		if _, err := s.w.Write(s.b.Bytes()); err != nil {
			return err
		}
		s.b.Reset()
	}
	if err := s.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// mergeJSONFields merges fields into the JSON object raw. If both contain a name, fields takes
// precedence.
func mergeJSONFields(raw json.RawMessage, fields map[string]any) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal(raw, &out) // a value that is not an object has no fields
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range fields {
		out[k] = v
	}
	return out
}

// streamAnswer responds to a message with server-sent events.
func (s *Server) streamAnswer(w http.ResponseWriter, r *http.Request, in channels.Inbound) error {
	// Subscribe before submitting the message; otherwise the beginning of the answer could be
	// missed.
	sub := s.backend.Subscribe(0)
	defer sub.Close()
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return err
	}
	out, err := newSSE(w)
	if err != nil {
		return nil // the client disconnected; the message is stored
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
