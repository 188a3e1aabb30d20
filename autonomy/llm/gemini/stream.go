package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/autonomy/llm"
)

const (
	// maxAdaptions is the maximum number of retries of a call without refused features.
	maxAdaptions = 5
	// endGrace is the maximum silence of the stream after the finish reason. Token counts may
	// follow that reason.
	endGrace = 5 * time.Second
)

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, watch := llm.NewWatch(ctx, m.wire.FirstLimit(m.o.Stall, m.o.Whole))
		defer watch.Stop()
		s := &stream{m: m, ctx: ctx, watch: watch, yield: yield}
		resp, err := m.openStream(ctx, watch, r)
		if err == nil {
			defer func() { _ = resp.Body.Close() }() // only read, so Close cannot lose data
			err = s.readResponse(resp)
		}
		if err != nil && !s.left {
			err.Visible = s.visible
			yield(llm.Event{}, err)
		}
	}
}

// openStream makes the call, and repeats it without features that the server refuses.
func (m *Model) openStream(ctx context.Context, watch *llm.StallTimer, r llm.Request) (*http.Response, *llm.Error) {
	path, query := m.path+":streamGenerateContent", url.Values{"alt": {"sse"}}
	if m.o.Whole {
		path, query = m.path+":generateContent", nil
	}
	for try := 0; ; try++ {
		q := m.knownQuirks()
		req := m.buildRequest(r, q)
		body, err := req.encodeJSON()
		if err != nil {
			return nil, m.wire.Errorf(llm.BadRequest, "encode the request: %w", err)
		}
		watch.Arm()
		resp, err := m.sendRequest(ctx, http.MethodPost, path, query, body)
		if err != nil {
			return nil, m.wire.TransportError(ctx, err)
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return resp, nil
		}
		said := readStatus(resp)
		_ = resp.Body.Close()
		if ctx.Err() != nil {
			return nil, m.wire.TransportError(ctx, ctx.Err())
		}
		if found := findRefused(resp.StatusCode, said.Message, req, q); found != 0 && try < maxAdaptions {
			m.addQuirk(found)
			continue
		}
		return nil, m.wire.BodyError(resp.StatusCode, resp.Header, said)
	}
}

// readResponse converts the response to events.
func (s *stream) readResponse(resp *http.Response) *llm.Error {
	in := llm.NewEventReader(llm.LimitBody(resp.Body, maxBody))
	s.watch.Arm()
	c, err := in.First()
	switch {
	case errors.Is(err, io.EOF):
		return s.m.wire.Errorf(llm.Network, "the server closed the connection without an answer")
	case err != nil:
		return s.m.wire.ReadError(s.ctx, err)
	case c == '{', c == '[': // [: the form without alt=sse
		return s.readWhole(in.Rest())
	case c == '<':
		return s.m.wire.Errorf(llm.Garbled, "the server answered with a web page")
	}
	return s.readEvents(in)
}

// readEvents reads the stream to the end of the response: there is no end marker.
func (s *stream) readEvents(in *llm.EventReader) *llm.Error {
	for {
		switch {
		case s.ended:
			s.watch.Limit(endGrace)
		case s.spoke:
			s.watch.Limit(s.m.o.Stall)
		}
		s.watch.Arm()
		e, err := in.Next()
		if err != nil {
			return s.handleEnd(err)
		}
		data := strings.TrimSpace(string(e.Data))
		if data == "" || data == "[DONE]" { // some proxies send that
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return s.garbledError(e, err)
		}
		if fail := s.takeChunk(&c, e.Name == "error"); fail != nil || s.left {
			return fail
		}
	}
}

// handleEnd handles the end of the response.
func (s *stream) handleEnd(err error) *llm.Error {
	if s.ended && (s.ctx.Err() == nil || errors.Is(context.Cause(s.ctx), llm.ErrStalled)) {
		return s.finishAnswer() // at most the token counts are missing
	}
	if !s.cutOff() {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return s.m.wire.Errorf(llm.Network, "the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	return s.m.wire.ReadError(s.ctx, err)
}

// garbledError handles an unexpected event.
func (s *stream) garbledError(e llm.ServerEvent, err error) *llm.Error {
	if e.Name == "error" {
		return s.m.wire.BodyError(0, nil, llm.ParseErrorBody(e.Data))
	}
	if !s.cutOff() {
		return nil
	}
	if llm.IsTruncatedJSON(err) {
		return s.m.wire.Errorf(llm.Network, "the stream ended in the middle of an event: %w", io.ErrUnexpectedEOF)
	}
	return s.m.wire.Errorf(llm.Garbled, "the stream is not from the Gemini API: %w", err)
}

// readWhole handles an answer in one piece, or a list of its pieces.
func (s *stream) readWhole(body io.Reader) *llm.Error {
	data, err := io.ReadAll(body)
	if err != nil {
		return s.m.wire.ReadError(s.ctx, err)
	}
	var list []chunk
	if data[0] == '[' {
		err = json.Unmarshal(data, &list)
	} else {
		list = make([]chunk, 1)
		err = json.Unmarshal(data, &list[0])
	}
	switch {
	case llm.IsTruncatedJSON(err):
		return s.m.wire.Errorf(llm.Network, "the answer is incomplete: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return s.m.wire.Errorf(llm.Garbled, "the answer is not from the Gemini API: %w", err)
	}
	for i := range list {
		if fail := s.takeChunk(&list[i], false); fail != nil || s.left {
			return fail
		}
	}
	if !s.started {
		return s.m.wire.Errorf(llm.Garbled, "the answer is not from the Gemini API")
	}
	return s.finishAnswer()
}
