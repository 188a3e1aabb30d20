package gemini

import (
	"context"
	"crypto/rand"
	"strings"

	"hob/autonomy/llm"
)

// stream is the state of one streamed answer.
type stream struct {
	m     *Model
	ctx   context.Context
	watch *llm.StallTimer
	yield func(llm.Event, error) bool

	left    bool // the consumer stopped
	visible bool // text or a picture was yielded
	started bool // a candidate or feedback on the prompt was received
	spoke   bool // the model sent content
	ended   bool // a finish reason was received
	ending  finishMeaning
	reason  string // the server's finish reason
	usage   llm.Usage

	thought strings.Builder
	calls   []call
}

// call is a call that is withheld until the answer is complete.
type call struct {
	llm.ToolCall
	raw       string
	signature string
}

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

// takeChunk processes the content of a chunk.
func (s *stream) takeChunk(c *chunk, failed bool) *llm.Error {
	if llm.JSONText(c.Error) != "" || failed {
		if !s.cutOff() {
			return nil
		}
		return s.m.wire.BodyError(0, nil, llm.ParseErrorObject(c.Error))
	}
	if u := parseUsage(c.Usage); u != nil {
		s.usage = *u
	}
	if c.Feedback.Reason != "" && c.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED" && !s.started {
		s.started, s.ended, s.ending = true, true, finishMeaning{stop: llm.Refused}
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if x.Index != 0 {
			continue
		}
		s.started = true
		for j := range x.Content.Parts {
			if fail := s.takePart(&x.Content.Parts[j]); fail != nil || s.left {
				return fail
			}
		}
		if x.Reason != "" && x.Reason != "FINISH_REASON_UNSPECIFIED" {
			s.ended, s.ending, s.reason = true, parseReason(x.Reason), x.Reason
		}
	}
	return nil
}

func (s *stream) takePart(p *answerPart) *llm.Error {
	switch {
	case p.Call != nil:
		return s.addCall(p)
	case p.Inline != nil:
		if strings.HasPrefix(p.Inline.MIME, "image/") && !p.Thought && s.endThought() {
			s.visible = true
			s.emitEvent(llm.Event{Kind: llm.ImageDone, Image: llm.Image{MIME: p.Inline.MIME, Data: p.Inline.Data}, Signature: p.Signature})
		}
	case p.Thought:
		if s.emitReasoning(p.Text) && p.Signature != "" && s.endThought() {
			s.emitEvent(llm.Event{Kind: llm.TextDelta, Signature: p.Signature}) // the signature is sent back as a separate part
		}
	case p.Text != "" || p.Signature != "":
		if s.endThought() {
			s.visible = s.visible || p.Text != ""
			s.emitEvent(llm.Event{Kind: llm.TextDelta, Text: p.Text, Signature: p.Signature})
		}
	}
	return nil
}

func (s *stream) addCall(p *answerPart) *llm.Error {
	if len(s.calls) == maxCalls {
		return s.m.wire.Errorf(llm.Garbled, "the answer contains more than %d tool calls", maxCalls)
	}
	if len(p.Call.Args) > maxArgs {
		return s.m.wire.Errorf(llm.Garbled, "the arguments of a tool call exceed %d MB", maxArgs>>20)
	}
	c := call{raw: string(p.Call.Args), signature: p.Signature}
	c.ID, c.Name = s.uniqueID(p.Call.ID), p.Call.Name
	s.calls = append(s.calls, c)
	if s.endThought() && s.emitEvent(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: c.ID, Name: c.Name}}) && c.raw != "" {
		s.emitEvent(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: c.ID}, Text: c.raw})
	}
	return nil
}

// uniqueID keeps the server's id unless it is missing or already used.
func (s *stream) uniqueID(id string) string {
	for _, c := range s.calls {
		if c.ID == id {
			id = ""
		}
	}
	if id == "" {
		return "call_" + rand.Text()[:12]
	}
	return id
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

// finishCalls passes the calls to the consumer; cut reports whether call i may be incomplete.
func (s *stream) finishCalls(cut func(i int) bool) bool {
	for i, c := range s.calls {
		if !s.emitEvent(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(c.ID, c.Name, c.raw, cut(i)), Signature: c.signature}) {
			return false
		}
	}
	return true
}

// cutOff marks all calls of a broken stream as truncated: no call of a failed answer may run.
func (s *stream) cutOff() bool { return s.finishCalls(func(int) bool { return true }) }

// finishAnswer ends a complete answer.
func (s *stream) finishAnswer() *llm.Error {
	if !s.started {
		return s.m.wire.Errorf(llm.Unavailable, "the server sent an empty stream")
	}
	if s.ending.broken {
		if s.cutOff() {
			return s.m.wire.Errorf(llm.Unavailable, "the model's answer is unusable (%s)", s.reason)
		}
		return nil
	}
	stop := s.ending.stop
	if stop == "" { // an answer in one piece without a reason
		stop = llm.EndTurn
	}
	cut := stop == llm.MaxTokens || stop == llm.Refused
	if !s.endThought() || !s.finishCalls(func(i int) bool { return cut && i == len(s.calls)-1 }) {
		return nil
	}
	if !cut && len(s.calls) > 0 { // Google sends STOP with calls
		stop = llm.ToolUse
	}
	s.emitEvent(llm.Event{Kind: llm.Done, Stop: stop, Usage: s.usage})
	return nil
}
