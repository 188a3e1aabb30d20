package openai

import "hob/autonomy/llm"

// emitEvent passes an event to the consumer. The stall timer is stopped in the meantime, because the
// consumer may be slow.
func (s *stream) emitEvent(e llm.Event) bool {
	s.spoke = true
	s.watch.Disarm()
	if !s.yield(e, nil) {
		s.left = true
	}
	return !s.left
}

func (s *stream) tooMuch() *llm.Error {
	if len(s.calls.list) > maxCalls {
		return s.m.wire.Errorf(llm.Garbled, "the answer contains more than %d tool calls", maxCalls)
	}
	for _, c := range s.calls.list {
		if len(c.args) > maxArgs {
			return s.m.wire.Errorf(llm.Garbled, "the arguments of a tool call exceed %d MB", maxArgs>>20)
		}
	}
	return nil
}

// takeChunk passes the content of a chunk to the consumer; it returns false if the consumer stopped.
func (s *stream) takeChunk(c *chunk) bool {
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
		if d != nil && !s.takeDelta(d) {
			return false
		}
		if reason := llm.JSONText(x.FinishReason); reason != "" {
			s.ended, s.stop = true, parseStop(reason)
		}
	}
	return true
}

func (s *stream) takeDelta(d *delta) bool {
	thought := d.ReasoningContent.text
	if thought == "" {
		thought = d.Reasoning.text
	}
	inline, text := s.think.addPiece(d.Content.text)
	if !s.emitReasoning(thought+d.Content.thinking+inline) || !s.emitText(text) || !s.emitText(d.Refusal.text) || !s.emitImages(d.Images) {
		return false
	}
	s.details.addPieces(d.Details)
	list := d.ToolCalls
	if d.FunctionCall != nil {
		list = append(list, callDelta{Index: new(int), Function: *d.FunctionCall})
	}
	for _, x := range list {
		c, piece, fresh := s.calls.addDelta(x)
		if c == nil {
			continue
		}
		if fresh && !s.emitEvent(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: c.id, Name: c.name}}) {
			return false
		}
		if piece != "" && !s.emitEvent(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: c.id}, Text: piece}) {
			return false
		}
	}
	return true
}

func (s *stream) emitText(t string) bool {
	if t == "" {
		return true
	}
	if !s.endThought() {
		return false
	}
	s.visible = true
	return s.emitEvent(llm.Event{Kind: llm.TextDelta, Text: t})
}

func (s *stream) emitImages(list []picture) bool {
	for _, p := range list {
		i, ok := p.decodeImage()
		if !ok {
			continue
		}
		s.visible = true
		if !s.endThought() || !s.emitEvent(llm.Event{Kind: llm.ImageDone, Image: i}) {
			return false
		}
	}
	return true
}

func (s *stream) emitReasoning(t string) bool {
	if t == "" {
		return true
	}
	s.thought.WriteString(t)
	return s.emitEvent(llm.Event{Kind: llm.ReasoningDelta, Text: t})
}

func (s *stream) endThought() bool {
	if s.thought.Len() == 0 {
		return true
	}
	t := s.thought.String()
	s.thought.Reset()
	return s.emitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: t}})
}

// finishCalls passes the remaining parts of the answer. cut means that it ended early.
func (s *stream) finishCalls(cut bool) bool {
	thought, text := s.think.flushRest()
	if !s.emitReasoning(thought) || !s.emitText(text) || !s.endThought() {
		return false
	}
	if back := s.details.toJSON(); back != nil && len(s.calls.list) > 0 && !s.emitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Details: back}}) {
		return false
	}
	for _, c := range s.calls.finishAll(cut) {
		if !s.emitEvent(llm.Event{Kind: llm.CallDone, Call: c}) {
			return false
		}
	}
	return true
}

// cutOff marks all calls of a broken stream as truncated: no call of a failed answer may run.
func (s *stream) cutOff() bool {
	for _, x := range s.calls.list {
		if !s.emitEvent(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(x.id, x.name, string(x.args), true)}) {
			return false
		}
	}
	return true
}

// finishAnswer ends a complete answer.
func (s *stream) finishAnswer() *llm.Error {
	if !s.started {
		return s.m.wire.Errorf(llm.Unavailable, "the server sent an empty stream")
	}
	stop := s.stop
	cut := stop == llm.MaxTokens || stop == llm.Refused
	if !s.finishCalls(cut) {
		return nil
	}
	if !cut { // some servers send "stop" with calls and "tool_calls" without
		stop = llm.EndTurn
		if len(s.calls.list) > 0 {
			stop = llm.ToolUse
		}
	}
	s.emitEvent(llm.Event{Kind: llm.Done, Stop: stop, Usage: s.usage})
	return nil
}
