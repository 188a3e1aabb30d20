package anthropic

import (
	"context"
	"crypto/rand"
	"io"
	"iter"
	"net/http"
	"strings"

	"hob/autonomy/llm"
)

const (
	maxAdaptions = 2   // maximum number of times that a call is repeated without a refused feature
	maxBlocks    = 256 // maximum content blocks in one answer
)

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return m.wire.StreamAnswer(ctx, m.o, func(ctx context.Context, a *llm.AnswerStream) error {
		s := &stream{AnswerStream: a}
		resp, err := a.Open(maxAdaptions, func() (any, func(int, string) bool) { //nolint:bodyclose // the answer stream closes it
			req, thinking := m.buildRequest(r)
			if r.Format != nil && m.noFormat.Load() {
				s.format = llm.WireName(r.Format.Name)
			}
			return req, func(status int, message string) bool {
				return m.learnRefused(status, message, thinking, req.Output != nil)
			}
		}, func(body []byte) (*http.Response, error) {
			return m.sendRequest(ctx, http.MethodPost, "v1/messages", nil, body)
		})
		if err != nil {
			return err
		}
		return a.Read(resp, s, "{", "the Messages API")
	})
}

// learnRefused remembers what the server refuses: thinking blocks with unknown signatures in the
// history, or structured answers, which older models do not support.
func (m *Model) learnRefused(status int, message string, thinking, format bool) bool {
	said := strings.ToLower(message)
	switch {
	case llm.Classify(status, "", message) != llm.BadRequest:
	case thinking && strings.Contains(said, "thinking"):
		m.noThinking.Store(true)
		return true
	case format && (strings.Contains(said, "output_config") || strings.Contains(said, "output_format") ||
		strings.Contains(said, "output format") || strings.Contains(said, "structured output")):
		m.noFormat.Store(true)
		return true
	}
	return false
}

// stream is the state of one streamed answer.
type stream struct {
	*llm.AnswerStream
	open   []*openBlock // blocks that are not complete yet; usually only one
	blocks int
	ids    map[string]bool // ids of the calls so far
	format string          // name of the tool whose arguments are the answer
	// pending is a finished call that is withheld until another event shows that the token limit
	// did not truncate it. Calls keep their position between thinking blocks, which the API wants
	// back in the same order.
	pending *openBlock
}

// openBlock is a content block under construction.
type openBlock struct {
	block
	index int64
	text  []byte // text of a thought, or arguments of a call
}

// TakeEvent implements llm.AnswerFormat.
func (s *stream) TakeEvent(name string, data []byte) error {
	e, err := parseEvent(data)
	if name == "error" || e.Type == "error" {
		s.CutOff(s)
		return s.BodyError(0, nil, llm.ParseErrorBody(data))
	}
	if err != nil {
		return err
	}
	if e.Type == "ping" {
		return llm.ErrKeepAlive
	}
	s.Started = true
	switch e.Type {
	case "message_start":
		s.updateUsage(e.Message.Usage)
	case "content_block_start":
		return s.startBlock(&openBlock{block: e.Block, index: e.Index})
	case "content_block_delta":
		return s.takeDelta(e.Index, &e.Delta)
	case "content_block_stop":
		for i, b := range s.open {
			if b.index == e.Index {
				s.open = append(s.open[:i], s.open[i+1:]...)
				s.finishBlock(b)
				break
			}
		}
	case "message_delta":
		s.setStop(e.Delta.StopReason)
		s.updateUsage(e.Usage)
	case "message_stop":
		if !s.Ended && s.blocks == 0 {
			return s.Errorf(llm.Network, "the server sent an empty stream")
		}
		return io.EOF
	case "":
		return s.garbledAnswer("an event has no type")
	}
	return nil
}

// TakeWhole implements llm.AnswerFormat.
func (s *stream) TakeWhole(data []byte) error {
	e, err := parseEvent(data)
	if err != nil {
		return err
	}
	if e.Type != "message" {
		if said := llm.ParseErrorBody(data); said.Message != "" && said.Code != "" {
			return s.BodyError(0, nil, said)
		}
		return s.Errorf(llm.Garbled, "the answer is not from the Messages API")
	}
	s.Started = true
	s.updateUsage(e.Usage)
	for i := range e.Content {
		b := &openBlock{block: e.Content[i], index: int64(i)}
		if err := s.startBlock(b); err != nil {
			return err
		}
		s.open = nil
		s.finishBlock(b)
	}
	s.setStop(e.StopReason)
	return nil
}

// garbledAnswer returns the error for an answer that violates the protocol.
func (s *stream) garbledAnswer(format string, args ...any) error {
	s.CutOff(s)
	return s.Errorf(llm.Garbled, format, args...)
}

// startBlock starts a block. Some servers send a complete block, with its text or its input, in one
// event.
func (s *stream) startBlock(b *openBlock) error {
	if s.blocks++; s.blocks > maxBlocks {
		return s.garbledAnswer("the answer contains more than %d blocks", maxBlocks)
	}
	s.flushPending()
	s.open = append(s.open, b)
	switch b.Type {
	case "text":
		s.EmitText(b.Text, "")
	case "thinking":
		s.emitThought(b, b.Thinking)
	case "tool_use":
		if s.format != "" && b.Name == s.format {
			b.Type = "format"
			return s.addArgs(b, b.inputText())
		}
		b.ID = s.uniqueID(b.ID)
		s.EmitCall(b.pendingCall(), true, "")
		return s.addArgs(b, b.inputText())
	}
	return nil
}

func (s *stream) takeDelta(index int64, d *delta) error {
	var b *openBlock
	for _, x := range s.open {
		if x.index == index {
			b = x
		}
	}
	if b == nil {
		return s.garbledAnswer("a delta belongs to no open block")
	}
	switch d.Type {
	case "text_delta":
		s.EmitText(d.Text, "")
	case "thinking_delta":
		s.emitThought(b, d.Thinking)
	case "signature_delta":
		b.Signature += d.Signature
	case "input_json_delta":
		return s.addArgs(b, d.Arguments)
	}
	return nil
}

func (s *stream) emitThought(b *openBlock, text string) {
	if text != "" {
		b.text = append(b.text, text...)
		s.EmitEvent(llm.Event{Kind: llm.ReasoningDelta, Text: text})
	}
}

func (s *stream) addArgs(b *openBlock, piece string) error {
	if b.Type == "format" {
		s.EmitText(piece, "")
		return nil
	}
	b.text = append(b.text, piece...)
	if err := s.CheckCalls(len(s.ids), len(b.text)); err != nil {
		s.CutOff(s)
		return err
	}
	s.EmitCall(b.pendingCall(), false, piece)
	return nil
}

// finishBlock ends a block.
func (s *stream) finishBlock(b *openBlock) {
	switch b.Type {
	case "thinking":
		if len(b.text) > 0 || b.Signature != "" {
			s.EmitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: string(b.text), Signature: b.Signature}})
		}
	case "redacted_thinking":
		s.EmitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Redacted: b.Data}})
	case "tool_use":
		s.flushPending()
		s.pending = b
	}
}

// flushPending passes the withheld call to the consumer.
func (s *stream) flushPending() {
	if b := s.pending; b != nil {
		s.pending = nil
		s.EmitEvent(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(b.ID, b.Name, string(b.text), false)})
	}
}

// Calls implements llm.AnswerFormat. It returns the calls that were not passed on yet.
func (s *stream) Calls() []llm.PendingCall {
	var out []llm.PendingCall
	if s.pending != nil {
		out = append(out, s.pending.pendingCall())
	}
	for _, b := range s.open {
		if b.Type == "tool_use" {
			out = append(out, b.pendingCall())
		}
	}
	return out
}

func (b *openBlock) pendingCall() llm.PendingCall {
	return llm.PendingCall{ID: b.ID, Name: b.Name, Args: b.text}
}

// Flush implements llm.AnswerFormat. A call in a block that the server did not end is truncated.
func (s *stream) Flush() error {
	if len(s.open) > 0 {
		s.flushPending()
		s.CutOff(s)
		s.open = nil
	}
	return nil
}

// uniqueID returns the server's id, or a new one if that id is missing or already used.
func (s *stream) uniqueID(id string) string {
	if id == "" || s.ids[id] {
		id = "toolu_" + rand.Text()[:20]
	}
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	s.ids[id] = true
	return id
}
