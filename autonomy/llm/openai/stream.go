package openai

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"

	"hob/autonomy/llm"
)

// maxAdaptions is the maximum number of times that a call is repeated without a refused feature.
const maxAdaptions = 4

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return m.wire.StreamAnswer(ctx, m.o, func(ctx context.Context, a *llm.AnswerStream) error {
		resp, err := a.Open(maxAdaptions, func() (any, func(int, string) bool) { //nolint:bodyclose // the answer stream closes it
			q := m.knownQuirks()
			req := m.buildRequest(r, q)
			return req, func(status int, message string) bool {
				found := findRefused(status, message, req, q)
				m.addQuirk(found)
				return found != 0
			}
		}, func(body []byte) (*http.Response, error) {
			return m.sendRequest(ctx, http.MethodPost, "/chat/completions", body)
		})
		if err != nil {
			return err
		}
		return a.Read(resp, &stream{AnswerStream: a}, "{", "a chat model")
	})
}

// stream is the state of one streamed answer.
type stream struct {
	*llm.AnswerStream
	think   thinkSplitter
	details details
	calls   calls
}

// Calls implements llm.AnswerFormat.
func (s *stream) Calls() []llm.PendingCall { return s.calls.pendingCalls() }

// TakeEvent implements llm.AnswerFormat.
func (s *stream) TakeEvent(name string, data []byte) error {
	if string(data) == "[DONE]" {
		return io.EOF
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	return s.takeChunk(name, &c, data)
}

// TakeWhole implements llm.AnswerFormat.
func (s *stream) TakeWhole(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	for _, x := range c.Choices {
		if x.Message == nil {
			continue
		}
		for i := range x.Message.ToolCalls {
			x.Message.ToolCalls[i].Index = &i
		}
	}
	err := s.takeChunk("", &c, data)
	if err == nil && len(c.Choices) == 0 {
		return s.Errorf(llm.Garbled, "the answer is not from a chat model")
	}
	return err
}

// detectFailure detects an error within a stream.
func (s *stream) detectFailure(name string, c *chunk, data []byte) error {
	raw := c.Error
	for _, x := range c.Choices {
		switch reason := llm.JSONText(x.FinishReason); {
		case llm.JSONText(x.Error) != "":
			raw = x.Error
		case llm.JSONText(raw) == "" && (reason == "error" || reason == "insufficient_system_resource"): // sent by OpenRouter or DeepSeek
			raw, _ = json.Marshal("the provider failed during the answer (" + reason + ")")
		}
	}
	if llm.JSONText(raw) == "" && name != "error" && llm.JSONText(c.Object) != "error" {
		return nil
	}
	s.CutOff(s)
	said := llm.ParseErrorBody(data)
	switch {
	case len(raw) > 0 && raw[0] == '{':
		said = llm.ParseErrorObject(raw)
	case llm.JSONText(raw) != "":
		said = llm.ErrorBody{Message: llm.JSONText(raw)}
	}
	return s.BodyError(0, nil, said)
}

// takeChunk passes the content of a chunk to the consumer.
func (s *stream) takeChunk(name string, c *chunk, data []byte) error {
	if err := s.detectFailure(name, c, data); err != nil {
		return err
	}
	if u := parseUsage(c.Usage); u != nil {
		s.Usage = *u
	}
	for _, x := range c.Choices {
		if x.Index != 0 {
			continue
		}
		s.Started = true
		d := x.Delta
		if d == nil {
			d = x.Message
		}
		if d != nil && !s.takeDelta(d) {
			return nil
		}
		if reason := llm.JSONText(x.FinishReason); reason != "" {
			s.Ended, s.Stop = true, parseStop(reason)
		}
	}
	for _, x := range s.calls.list {
		if err := s.CheckCalls(len(s.calls.list), len(x.Args)); err != nil {
			return err
		}
	}
	return nil
}

// takeDelta passes the content of a delta to the consumer. It returns false if the consumer
// stopped.
func (s *stream) takeDelta(d *delta) bool {
	thought := d.ReasoningContent.text
	if thought == "" {
		thought = d.Reasoning.text
	}
	inline, text := s.think.addPiece(d.Content.text)
	if !s.EmitReasoning(thought+d.Content.thinking+inline) || !s.EmitText(text, "") || !s.EmitText(d.Refusal.text, "") {
		return false
	}
	for _, p := range d.Images {
		if i, ok := p.decodeImage(); ok && !s.EmitImage(i, "") {
			return false
		}
	}
	s.details.addPieces(d.Details)
	list := d.ToolCalls
	if d.FunctionCall != nil {
		list = append(list, callDelta{Index: new(int), Function: *d.FunctionCall})
	}
	for _, x := range list {
		c, piece, fresh := s.calls.addDelta(x)
		if c != nil && !s.EmitCall(c.PendingCall, fresh, piece) {
			return false
		}
	}
	return true
}

// Flush implements llm.AnswerFormat.
func (s *stream) Flush() error {
	thought, text := s.think.flushRest()
	if !s.EmitReasoning(thought) || !s.EmitText(text, "") || !s.EndThought() {
		return nil
	}
	if back := s.details.toJSON(); back != nil && len(s.calls.list) > 0 {
		s.EmitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Details: back}})
	}
	return nil
}
