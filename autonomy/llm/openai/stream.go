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
	// maxAdaptions bounds how often one call is made again without what the
	// server refused.
	maxAdaptions = 4
	// usageGrace is how long the stream may stay silent after the finish reason:
	// the token counts may still come.
	usageGrace = 5 * time.Second
	// drainGrace is how long to wait for the end of the response, without which
	// the connection cannot be used again.
	drainGrace = 50 * time.Millisecond
)

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, watch := llm.NewWatch(ctx, m.o.Stall)
		defer watch.Stop()
		s := &stream{m: m, ctx: ctx, watch: watch, yield: yield}
		resp, err := m.open(ctx, watch, r)
		if err == nil {
			defer closeBody(resp.Body)
			err = s.read(resp)
		}
		if err != nil && !s.left {
			err.Visible = s.visible
			yield(llm.Event{}, err)
		}
	}
}

// open makes the call, and again without what the server refuses.
func (m *Model) open(ctx context.Context, watch *llm.Watch, r llm.Request) (*http.Response, *llm.Error) {
	for try := 0; ; try++ {
		q := m.known()
		req := m.build(r, q)
		body, err := req.encode()
		if err != nil {
			return nil, m.wire.Errorf(llm.BadRequest, "the request cannot be encoded: %w", err)
		}
		watch.Arm()
		resp, err := m.send(ctx, http.MethodPost, "/chat/completions", body)
		if err != nil {
			return nil, m.wire.TransportError(ctx, err)
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return resp, nil
		}
		code, message := m.readStatus(resp)
		closeBody(resp.Body)
		if ctx.Err() != nil {
			return nil, m.wire.TransportError(ctx, ctx.Err())
		}
		if found := refusal(resp.StatusCode, message, req, q); found != 0 && try < maxAdaptions {
			m.learn(found)
			continue
		}
		return nil, m.wire.StatusError(resp.StatusCode, resp.Header, code, message)
	}
}

// stream is one answer on its way.
type stream struct {
	m     *Model
	ctx   context.Context
	watch *llm.Watch
	yield func(llm.Event, error) bool

	left    bool // the consumer left
	visible bool // text was yielded
	started bool // the server sent at least one choice
	ended   bool // it sent a finish reason
	stop    llm.Stop
	usage   llm.Usage

	think   thinkSplitter
	thought strings.Builder
	calls   calls
}

// emit passes an event on. The watch rests meanwhile: the consumer may take its time.
func (s *stream) emit(e llm.Event) bool {
	s.watch.Disarm()
	if !s.yield(e, nil) {
		s.left = true
	}
	return !s.left
}

// read turns the response into events.
func (s *stream) read(resp *http.Response) *llm.Error {
	body := llm.LimitBody(resp.Body, maxBody)
	in := newReader(body)
	s.watch.Arm()
	c, err := in.first()
	switch {
	case errors.Is(err, io.EOF):
		return s.m.wire.Errorf(llm.Network, "the server closed the connection without an answer")
	case err != nil:
		return s.m.readError(s.ctx, err)
	case c == '{':
		return s.whole(in.in)
	case c == '<':
		return s.m.wire.Errorf(llm.Garbled, "the server answered with a web page")
	}
	fail := s.events(in)
	if fail == nil && !s.left {
		s.watch.Limit(drainGrace)
		s.watch.Arm()
		_, _ = io.CopyN(io.Discard, in.in, 4<<10) // only to reuse the connection
	}
	return fail
}

// events reads the stream to its end and finishes the answer.
func (s *stream) events(in *reader) *llm.Error {
	for {
		if s.ended {
			s.watch.Limit(usageGrace)
		}
		s.watch.Arm()
		e, err := in.next()
		if err != nil {
			return s.end(err)
		}
		data := strings.TrimSpace(string(e.data))
		if data == "[DONE]" {
			return s.done()
		}
		if data == "" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return s.garbled(e, err)
		}
		if fail := s.failure(e.name, &c, data); fail != nil {
			return fail
		}
		if !s.take(&c) {
			return nil
		}
		if fail := s.tooMuch(); fail != nil {
			return fail
		}
	}
}

// end handles the end of the response body without [DONE].
func (s *stream) end(err error) *llm.Error {
	if s.ended && s.ctx.Err() == nil || s.ended && errors.Is(context.Cause(s.ctx), llm.ErrStalled) {
		return s.done() // many servers send no [DONE]; only the token counts are missing
	}
	if !s.cutOff() {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return s.m.wire.Errorf(llm.Network, "the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	return s.m.readError(s.ctx, err)
}

// garbled handles an event that is not JSON.
func (s *stream) garbled(e event, err error) *llm.Error {
	if e.name == "error" {
		return s.m.wire.StatusError(0, nil, "", string(e.data))
	}
	if !s.cutOff() {
		return nil
	}
	if cutShort(err) {
		return s.m.wire.Errorf(llm.Network, "the stream ended in the middle of an event: %w", io.ErrUnexpectedEOF)
	}
	text := s.m.wire.Clean(string(e.data[:min(len(e.data), 80)]))
	return s.m.wire.Errorf(llm.Garbled, "the stream is not that of a chat model, it says %q: %w", text, err)
}

// cutShort recognises JSON that ends too early.
func cutShort(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	return syntax && strings.Contains(err.Error(), "unexpected end")
}

// failure recognises an error in the middle of a stream.
func (s *stream) failure(name string, c *chunk, data string) *llm.Error {
	raw := c.Error
	for _, x := range c.Choices {
		switch reason := word(x.FinishReason); {
		case word(x.Error) != "":
			raw = x.Error
		case word(raw) == "" && (reason == "error" || reason == "insufficient_system_resource"): // OpenRouter, DeepSeek
			raw, _ = json.Marshal("the provider gave up in the middle of the answer (" + reason + ")")
		}
	}
	if word(raw) == "" && name != "error" && word(c.Object) != "error" {
		return nil
	}
	if !s.cutOff() {
		return nil
	}
	var code, message string
	switch {
	case len(raw) > 0 && raw[0] == '{':
		code, message = parseErrorObject(raw)
	case word(raw) != "":
		message = word(raw)
	default:
		code, message = parseError([]byte(data))
	}
	return s.m.wire.StatusError(0, nil, code, message)
}

func (s *stream) tooMuch() *llm.Error {
	if len(s.calls.list) > maxCalls {
		return s.m.wire.Errorf(llm.Garbled, "the answer holds more than %d tool calls", maxCalls)
	}
	for _, c := range s.calls.list {
		if len(c.args) > maxArgs {
			return s.m.wire.Errorf(llm.Garbled, "the arguments of a tool call exceed %d MB", maxArgs>>20)
		}
	}
	return nil
}

// take passes on what a chunk holds; it returns false when the consumer left.
func (s *stream) take(c *chunk) bool {
	if u := parseUsage(c.Usage); u != nil {
		s.usage = *u
	}
	for _, x := range c.Choices {
		if x.Index != 0 {
			continue
		}
		s.started = true
		d := x.Delta
		if d == nil {
			d = x.Message
		}
		if d != nil && !s.delta(d) {
			return false
		}
		if reason := word(x.FinishReason); reason != "" {
			s.ended, s.stop = true, parseStop(reason)
		}
	}
	return true
}

func (s *stream) delta(d *delta) bool {
	thought := d.ReasoningContent.text
	if thought == "" {
		thought = d.Reasoning.text
	}
	inline, text := s.think.add(d.Content.text)
	if !s.reasoning(thought+d.Content.thinking+inline) || !s.text(text) || !s.text(d.Refusal.text) {
		return false
	}
	list := d.ToolCalls
	if d.FunctionCall != nil {
		list = append(list, callDelta{Index: new(int), Function: *d.FunctionCall})
	}
	for _, x := range list {
		c, piece, fresh := s.calls.add(x)
		if c == nil {
			continue
		}
		if fresh && !s.emit(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: c.id, Name: c.name}}) {
			return false
		}
		if piece != "" && !s.emit(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: c.id}, Text: piece}) {
			return false
		}
	}
	return true
}

func (s *stream) text(t string) bool {
	if t == "" {
		return true
	}
	if !s.endThought() {
		return false
	}
	s.visible = true
	return s.emit(llm.Event{Kind: llm.TextDelta, Text: t})
}

func (s *stream) reasoning(t string) bool {
	if t == "" {
		return true
	}
	s.thought.WriteString(t)
	return s.emit(llm.Event{Kind: llm.ReasoningDelta, Text: t})
}

func (s *stream) endThought() bool {
	if s.thought.Len() == 0 {
		return true
	}
	t := s.thought.String()
	s.thought.Reset()
	return s.emit(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: t}})
}

// finishCalls passes on what is left of the answer. cut says that it ended early.
func (s *stream) finishCalls(cut bool) bool {
	thought, text := s.think.end()
	if !s.reasoning(thought) || !s.text(text) || !s.endThought() {
		return false
	}
	for _, c := range s.calls.done(cut) {
		if !s.emit(llm.Event{Kind: llm.CallDone, Call: c}) {
			return false
		}
	}
	return true
}

// cutOff marks the calls of a broken stream as truncated, all of them: nothing
// of an answer that failed may run.
func (s *stream) cutOff() bool {
	for _, x := range s.calls.list {
		if !s.emit(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(x.id, x.name, string(x.args), true)}) {
			return false
		}
	}
	return true
}

// done ends a complete answer.
func (s *stream) done() *llm.Error {
	if !s.started {
		return s.m.wire.Errorf(llm.Unavailable, "the server sent an empty stream")
	}
	stop := s.stop
	cut := stop == llm.MaxTokens || stop == llm.Refused
	if !s.finishCalls(cut) {
		return nil
	}
	switch { // servers say "stop" with calls and "tool_calls" without
	case stop == "" || stop == llm.EndTurn:
		stop = llm.EndTurn
		if len(s.calls.list) > 0 {
			stop = llm.ToolUse
		}
	}
	s.emit(llm.Event{Kind: llm.Done, Stop: stop, Usage: s.usage})
	return nil
}

// whole handles a server that answers in one piece.
func (s *stream) whole(body io.Reader) *llm.Error {
	data, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return s.m.readError(s.ctx, err)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if cutShort(err) {
			return s.m.wire.Errorf(llm.Network, "the answer ended in the middle: %w", io.ErrUnexpectedEOF)
		}
		return s.m.wire.Errorf(llm.Garbled, "the answer is not that of a chat model: %w", err)
	}
	if fail := s.failure("", &c, string(data)); fail != nil {
		return fail
	}
	if len(c.Choices) == 0 {
		return s.m.wire.Errorf(llm.Garbled, "the answer is not that of a chat model: %q", s.m.wire.Clean(string(data[:min(len(data), 80)])))
	}
	for _, x := range c.Choices {
		if x.Message == nil {
			continue
		}
		for i := range x.Message.ToolCalls {
			x.Message.ToolCalls[i].Index = &i
		}
	}
	if !s.take(&c) {
		return nil
	}
	if fail := s.tooMuch(); fail != nil {
		return fail
	}
	return s.done()
}
