package anthropic

import (
	"crypto/rand"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"hob/autonomy/llm"
)

// answer assembles an answer and passes its events to the consumer.
type answer struct {
	watch *llm.Watch
	yield func(llm.Event, error) bool

	left    bool // the consumer stopped
	visible bool // text was yielded
	started bool // an event was received
	stopped bool // message_stop was received
	stop    sdk.StopReason
	usage   llm.Usage

	open   []*block // blocks in progress, usually one
	blocks int
	calls  int
	ids    map[string]bool
	format string // the tool whose arguments are the answer
	// pending is a finished call that is withheld until another event shows that the token
	// limit did not cut it off.
	pending *block
}

// block is a content block under construction.
type block struct {
	index     int64
	kind      string
	id, name  string
	text      []byte // of a thought, or the arguments of a call
	signature string
	data      string // of a redacted thought
}

// emit passes an event to the consumer. The stall timer is stopped in the meantime, because the
// consumer may be slow.
func (a *answer) emit(e llm.Event) {
	if a.left {
		return
	}
	a.watch.Disarm()
	a.left = !a.yield(e, nil)
}

// take handles one event of the stream.
func (a *answer) take(e sdk.MessageStreamEventUnion) error {
	a.started = true
	switch e.Type {
	case "message_start":
		a.count(e.Message.Usage.InputTokens, e.Message.Usage.OutputTokens,
			e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens, e.Message.JSON.Usage.Valid())
	case "content_block_start":
		return a.start(&block{
			index: e.Index, kind: e.ContentBlock.Type, id: e.ContentBlock.ID, name: e.ContentBlock.Name,
			signature: e.ContentBlock.Signature, data: e.ContentBlock.Data,
		}, e.ContentBlock.Text+e.ContentBlock.Thinking, e.ContentBlock.JSON.Input.Raw())
	case "content_block_delta":
		return a.delta(e.Index, e.Delta)
	case "content_block_stop":
		for i, b := range a.open {
			if b.index == e.Index {
				a.open = append(a.open[:i], a.open[i+1:]...)
				a.finish(b)
				break
			}
		}
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.count(e.Usage.InputTokens, e.Usage.OutputTokens, e.Usage.CacheReadInputTokens,
			e.Usage.CacheCreationInputTokens, e.JSON.Usage.Valid())
	case "message_stop":
		a.stopped = true
	case "":
		return fmt.Errorf("an event has no type")
	}
	return nil
}

// count updates the token counts, which are totals so far. Anthropic counts cached input tokens
// separately.
func (a *answer) count(in, out, read, write int64, valid bool) {
	if !valid {
		return
	}
	u := llm.Usage{Input: int(in + read + write), Output: int(out), CacheRead: int(read), CacheWrite: int(write), Known: true}
	if u.Input == 0 { // servers may report counts only at the end
		u.Input, u.CacheRead, u.CacheWrite = a.usage.Input, a.usage.CacheRead, a.usage.CacheWrite
	}
	u.Output = max(u.Output, a.usage.Output)
	a.usage = u
}

// start starts a block. Some servers send the complete block in one event: its text, or its
// input.
func (a *answer) start(b *block, text, input string) error {
	if a.blocks++; a.blocks > maxBlocks {
		return fmt.Errorf("the answer contains more than %d blocks", maxBlocks)
	}
	a.flush(false)
	a.open = append(a.open, b)
	switch b.kind {
	case "text":
		a.text(text)
	case "thinking":
		a.thought(b, text)
	case "tool_use":
		if a.format != "" && b.name == a.format {
			b.kind = "format"
			if input != "{}" && input != "null" {
				a.text(input)
			}
			return nil
		}
		a.calls++
		b.id = a.uniqueID(b.id)
		a.emit(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: b.id, Name: b.name}})
		if input != "" && input != "{}" && input != "null" {
			return a.args(b, input)
		}
	}
	return nil
}

func (a *answer) delta(index int64, d sdk.MessageStreamEventUnionDelta) error {
	var b *block
	for _, x := range a.open {
		if x.index == index {
			b = x
		}
	}
	if b == nil {
		return fmt.Errorf("a delta belongs to no open block")
	}
	switch d.Type {
	case "text_delta":
		a.text(d.Text)
	case "thinking_delta":
		a.thought(b, d.Thinking)
	case "signature_delta":
		b.signature += d.Signature
	case "input_json_delta":
		return a.args(b, d.PartialJSON)
	}
	return nil
}

func (a *answer) text(t string) {
	if t == "" {
		return
	}
	a.visible = true
	a.emit(llm.Event{Kind: llm.TextDelta, Text: t})
}

func (a *answer) thought(b *block, t string) {
	if t == "" {
		return
	}
	b.text = append(b.text, t...)
	a.emit(llm.Event{Kind: llm.ReasoningDelta, Text: t})
}

func (a *answer) args(b *block, piece string) error {
	if piece == "" {
		return nil
	}
	if b.kind == "format" {
		a.text(piece)
		return nil
	}
	if b.text = append(b.text, piece...); len(b.text) > maxArgs {
		return fmt.Errorf("the arguments of a tool call exceed %d MB", maxArgs>>20)
	}
	a.emit(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: b.id}, Text: piece})
	return nil
}

// finish ends a block.
func (a *answer) finish(b *block) {
	switch b.kind {
	case "thinking":
		if len(b.text) > 0 || b.signature != "" {
			a.emit(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: string(b.text), Signature: b.signature}})
		}
	case "redacted_thinking":
		a.emit(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Redacted: b.data}})
	case "tool_use":
		a.flush(false)
		a.pending = b
	}
}

// flush passes the withheld call to the consumer.
func (a *answer) flush(cut bool) {
	if b := a.pending; b != nil {
		a.pending = nil
		a.emit(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(b.id, b.name, string(b.text), cut)})
	}
}

// cutOff marks the calls of a broken stream as truncated: no call of a failed answer may run.
func (a *answer) cutOff() {
	a.flush(true)
	for _, b := range a.open {
		if b.kind == "tool_use" {
			a.pending = b
			a.flush(true)
		}
	}
	a.open = nil
}

// done ends a complete answer.
func (a *answer) done() {
	stop := llm.EndTurn
	switch a.stop {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		stop = llm.MaxTokens
	case sdk.StopReasonRefusal:
		stop = llm.Refused
	default: // some servers send "end_turn" with calls, or invent reasons
		if a.calls > 0 {
			stop = llm.ToolUse
		}
	}
	cut := stop == llm.MaxTokens || stop == llm.Refused
	a.flush(cut)
	a.cutOff()
	a.emit(llm.Event{Kind: llm.Done, Stop: stop, Usage: a.usage})
}

// message handles an answer in one piece.
func (a *answer) message(m *sdk.Message) error {
	a.started = true
	a.count(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens, m.JSON.Usage.Valid())
	for i, c := range m.Content {
		b := &block{index: int64(i), kind: c.Type, id: c.ID, name: c.Name, signature: c.Signature, data: c.Data}
		if err := a.start(b, c.Text+c.Thinking, string(c.Input)); err != nil {
			return err
		}
		a.open = nil
		a.finish(b)
	}
	a.stop = m.StopReason
	return nil
}

// uniqueID keeps the server's id unless it is missing or already used.
func (a *answer) uniqueID(id string) string {
	if id == "" || a.ids[id] {
		id = "toolu_" + rand.Text()[:20]
	}
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	a.ids[id] = true
	return id
}
