package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/llm"
)

const (
	// maxAdaptions is the maximum number of retries of a call without refused features.
	maxAdaptions = 4
	// usageGrace is the maximum silence of the stream after the finish reason. Token counts may
	// follow that reason.
	usageGrace = 5 * time.Second
	// drainGrace is the maximum wait for the end of the response. The connection can only be reused
	// after that end.
	drainGrace = 50 * time.Millisecond
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
	for try := 0; ; try++ {
		q := m.knownQuirks()
		req := m.buildRequest(r, q)
		body, err := req.encodeJSON()
		if err != nil {
			return nil, m.wire.Errorf(llm.BadRequest, "encode the request: %w", err)
		}
		watch.Arm()
		resp, err := m.sendRequest(ctx, http.MethodPost, "/chat/completions", body)
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

// stream is the state of one streamed answer.
type stream struct {
	m     *Model
	ctx   context.Context
	watch *llm.StallTimer
	yield func(llm.Event, error) bool

	left    bool // the consumer stopped
	visible bool // text was yielded
	started bool // the server sent at least one choice
	spoke   bool // the server sent content
	ended   bool // the server sent a finish reason
	stop    llm.StopReason
	usage   llm.Usage

	think   thinkSplitter
	thought strings.Builder
	details details
	calls   calls
}

// readResponse converts the response to events.
func (s *stream) readResponse(resp *http.Response) *llm.Error {
	body := llm.LimitBody(resp.Body, maxBody)
	in := llm.NewEventReader(body)
	s.watch.Arm()
	c, err := in.First()
	switch {
	case errors.Is(err, io.EOF):
		return s.m.wire.Errorf(llm.Network, "the server closed the connection without an answer")
	case err != nil:
		return s.m.wire.ReadError(s.ctx, err)
	case c == '{':
		return s.readWhole(in.Rest())
	case c == '<':
		return s.m.wire.Errorf(llm.Garbled, "the server answered with a web page")
	}
	fail := s.readEvents(in)
	if fail == nil && !s.left {
		s.watch.Limit(drainGrace)
		s.watch.Arm()
		_, _ = io.CopyN(io.Discard, in.Rest(), 4<<10) // only to reuse the connection
	}
	return fail
}

// readEvents reads the stream to its end and finishes the answer.
func (s *stream) readEvents(in *llm.EventReader) *llm.Error {
	for {
		switch {
		case s.ended:
			s.watch.Limit(usageGrace)
		case s.spoke:
			s.watch.Limit(s.m.o.Stall)
		}
		s.watch.Arm()
		e, err := in.Next()
		if err != nil {
			return s.handleEnd(err)
		}
		data := strings.TrimSpace(string(e.Data))
		if data == "[DONE]" {
			return s.finishAnswer()
		}
		if data == "" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return s.garbledError(e, err)
		}
		if fail := s.detectFailure(e.Name, &c, data); fail != nil {
			return fail
		}
		if !s.takeChunk(&c) {
			return nil
		}
		if fail := s.tooMuch(); fail != nil {
			return fail
		}
	}
}

// handleEnd handles the end of the response body without [DONE].
func (s *stream) handleEnd(err error) *llm.Error {
	if s.ended && s.ctx.Err() == nil || s.ended && errors.Is(context.Cause(s.ctx), llm.ErrStalled) {
		return s.finishAnswer() // many servers send no [DONE]; only the token counts are missing
	}
	if !s.cutOff() {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return s.m.wire.Errorf(llm.Network, "the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	return s.m.wire.ReadError(s.ctx, err)
}

// garbledError handles an event that is not JSON.
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
	return s.m.wire.Errorf(llm.Garbled, "the stream is not from a chat model: %w", err)
}

// detectFailure detects an error within a stream.
func (s *stream) detectFailure(name string, c *chunk, data string) *llm.Error {
	raw := c.Error
	for _, x := range c.Choices {
		switch reason := llm.JSONText(x.FinishReason); {
		case llm.JSONText(x.Error) != "":
			raw = x.Error
		case llm.JSONText(raw) == "" && (reason == "error" || reason == "insufficient_system_resource"): // OpenRouter, DeepSeek
			raw, _ = json.Marshal("the provider failed during the answer (" + reason + ")")
		}
	}
	if llm.JSONText(raw) == "" && name != "error" && llm.JSONText(c.Object) != "error" {
		return nil
	}
	if !s.cutOff() {
		return nil
	}
	said := llm.ParseErrorBody([]byte(data))
	switch {
	case len(raw) > 0 && raw[0] == '{':
		said = llm.ParseErrorObject(raw)
	case llm.JSONText(raw) != "":
		said = llm.ErrorBody{Message: llm.JSONText(raw)}
	}
	return s.m.wire.BodyError(0, nil, said)
}

// readWhole handles an answer in one piece.
func (s *stream) readWhole(body io.Reader) *llm.Error {
	data, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return s.m.wire.ReadError(s.ctx, err)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if llm.IsTruncatedJSON(err) {
			return s.m.wire.Errorf(llm.Network, "the answer is incomplete: %w", io.ErrUnexpectedEOF)
		}
		return s.m.wire.Errorf(llm.Garbled, "the answer is not from a chat model: %w", err)
	}
	if fail := s.detectFailure("", &c, string(data)); fail != nil {
		return fail
	}
	if len(c.Choices) == 0 {
		return s.m.wire.Errorf(llm.Garbled, "the answer is not from a chat model")
	}
	for _, x := range c.Choices {
		if x.Message == nil {
			continue
		}
		for i := range x.Message.ToolCalls {
			x.Message.ToolCalls[i].Index = &i
		}
	}
	if !s.takeChunk(&c) {
		return nil
	}
	if fail := s.tooMuch(); fail != nil {
		return fail
	}
	return s.finishAnswer()
}
