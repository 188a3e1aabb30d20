package gemini

import (
	"context"
	"crypto/rand"
	"strings"

	"hob/autonomy/llm"
)

// stream is one answer on its way.
type stream struct {
	m     *Model
	ctx   context.Context
	watch *llm.Watch
	yield func(llm.Event, error) bool

	left    bool // the consumer left
	visible bool // text or a picture was yielded
	started bool // a candidate or a word on the prompt came
	spoke   bool // it said something
	ended   bool // a finish reason came
	ending  ending
	reason  string // as the server says it
	usage   llm.Usage

	thought strings.Builder
	calls   []call
}

// call is a call that is held back until the answer is whole.
type call struct {
	llm.ToolCall
	raw       string
	signature string
}

// emit passes an event on. The watch rests meanwhile: the consumer may take its time.
func (s *stream) emit(e llm.Event) bool {
	s.spoke = true
	s.watch.Disarm()
	if !s.yield(e, nil) {
		s.left = true
	}
	return !s.left
}

// take passes on what a chunk holds.
func (s *stream) take(c *chunk, failed bool) *llm.Error {
	if llm.Word(c.Error) != "" || failed {
		if !s.cutOff() {
			return nil
		}
		return s.m.wire.BodyError(0, nil, llm.ParseErrorObject(c.Error))
	}
	if u := parseUsage(c.Usage); u != nil {
		s.usage = *u
	}
	if c.Feedback.Reason != "" && c.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED" && !s.started {
		s.started, s.ended, s.ending = true, true, ending{stop: llm.Refused}
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if x.Index != 0 {
			continue
		}
		s.started = true
		for j := range x.Content.Parts {
			if fail := s.part(&x.Content.Parts[j]); fail != nil || s.left {
				return fail
			}
		}
		if x.Reason != "" && x.Reason != "FINISH_REASON_UNSPECIFIED" {
			s.ended, s.ending, s.reason = true, parseReason(x.Reason), x.Reason
		}
	}
	return nil
}

func (s *stream) part(p *received) *llm.Error {
	switch {
	case p.Call != nil:
		return s.call(p)
	case p.Inline != nil:
		if strings.HasPrefix(p.Inline.MIME, "image/") && !p.Thought && s.endThought() {
			s.visible = true
			s.emit(llm.Event{Kind: llm.ImageDone, Image: llm.Image{MIME: p.Inline.MIME, Data: p.Inline.Data}, Signature: p.Signature})
		}
	case p.Thought:
		if s.reasoning(p.Text) && p.Signature != "" && s.endThought() {
			s.emit(llm.Event{Kind: llm.TextDelta, Signature: p.Signature}) // it goes back as a part of its own
		}
	case p.Text != "" || p.Signature != "":
		if s.endThought() {
			s.visible = s.visible || p.Text != ""
			s.emit(llm.Event{Kind: llm.TextDelta, Text: p.Text, Signature: p.Signature})
		}
	}
	return nil
}

func (s *stream) call(p *received) *llm.Error {
	if len(s.calls) == maxCalls {
		return s.m.wire.Errorf(llm.Garbled, "the answer holds more than %d tool calls", maxCalls)
	}
	if len(p.Call.Args) > maxArgs {
		return s.m.wire.Errorf(llm.Garbled, "the arguments of a tool call exceed %d MB", maxArgs>>20)
	}
	c := call{raw: string(p.Call.Args), signature: p.Signature}
	c.ID, c.Name = s.uniqueID(p.Call.ID), p.Call.Name
	s.calls = append(s.calls, c)
	if s.endThought() && s.emit(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: c.ID, Name: c.Name}}) && c.raw != "" {
		s.emit(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: c.ID}, Text: c.raw})
	}
	return nil
}

// uniqueID keeps the server's id unless it is missing or taken.
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

// finishCalls passes on the calls; cut says that the last one may lack its end.
func (s *stream) finishCalls(cut func(i int) bool) bool {
	for i, c := range s.calls {
		if !s.emit(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(c.ID, c.Name, c.raw, cut(i)), Signature: c.signature}) {
			return false
		}
	}
	return true
}

// cutOff marks the calls of a broken stream as truncated, all of them: nothing
// of an answer that failed may run.
func (s *stream) cutOff() bool { return s.finishCalls(func(int) bool { return true }) }

// done ends a complete answer.
func (s *stream) done() *llm.Error {
	if !s.started {
		return s.m.wire.Errorf(llm.Unavailable, "the server sent an empty stream")
	}
	if s.ending.broken {
		if s.cutOff() {
			return s.m.wire.Errorf(llm.Unavailable, "the model's answer could not be used (%s)", s.reason)
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
	if !cut && len(s.calls) > 0 { // Google says STOP with calls
		stop = llm.ToolUse
	}
	s.emit(llm.Event{Kind: llm.Done, Stop: stop, Usage: s.usage})
	return nil
}
