package anthropic

import (
	"crypto/rand"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"hob/autonomy/llm"
)

// answer assembles an answer and passes its events to the consumer.
type answer struct {
	*llm.AnswerStream
	stopped bool // whether message_stop was received
	stop    sdk.StopReason

	open   []*block // blocks that are not complete yet; usually only one
	blocks int
	calls  int
	ids    map[string]bool
	format string // name of the tool whose arguments are the answer
	// pending is a finished call that is withheld until another event shows that the token limit
	// did not truncate it.
	pending *block
}

// block is a content block under construction.
type block struct {
	index     int64
	kind      string
	id, name  string
	text      []byte // text of a thought, or arguments of a call
	signature string
	data      string // data of a redacted thought
}

// takeEvent handles one stream event.
func (a *answer) takeEvent(e sdk.MessageStreamEventUnion) error {
	a.Started = true
	switch e.Type {
	case "message_start":
		a.updateUsage(e.Message.Usage.InputTokens, e.Message.Usage.OutputTokens,
			e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens, e.Message.JSON.Usage.Valid())
	case "content_block_start":
		return a.startBlock(&block{
			index: e.Index, kind: e.ContentBlock.Type, id: e.ContentBlock.ID, name: e.ContentBlock.Name,
			signature: e.ContentBlock.Signature, data: e.ContentBlock.Data,
		}, e.ContentBlock.Text+e.ContentBlock.Thinking, e.ContentBlock.JSON.Input.Raw())
	case "content_block_delta":
		return a.takeDelta(e.Index, e.Delta)
	case "content_block_stop":
		for i, b := range a.open {
			if b.index == e.Index {
				a.open = append(a.open[:i], a.open[i+1:]...)
				a.finishBlock(b)
				break
			}
		}
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.updateUsage(e.Usage.InputTokens, e.Usage.OutputTokens, e.Usage.CacheReadInputTokens,
			e.Usage.CacheCreationInputTokens, e.JSON.Usage.Valid())
	case "message_stop":
		a.stopped = true
	case "":
		return fmt.Errorf("an event has no type")
	}
	return nil
}

// updateUsage updates the token counts. The server sends totals so far. Anthropic counts cached
// input tokens separately.
func (a *answer) updateUsage(in, out, read, write int64, valid bool) {
	if !valid {
		return
	}
	u := llm.Usage{Input: int(in + read + write), Output: int(out), CacheRead: int(read), CacheWrite: int(write), Known: true}
	if u.Input == 0 { // servers may report counts only at the end
		u.Input, u.CacheRead, u.CacheWrite = a.Usage.Input, a.Usage.CacheRead, a.Usage.CacheWrite
	}
	u.Output = max(u.Output, a.Usage.Output)
	a.Usage = u
}

// startBlock starts a block. Some servers send a complete block, with its text or its input, in one
// event.
func (a *answer) startBlock(b *block, text, input string) error {
	if a.blocks++; a.blocks > maxBlocks {
		return fmt.Errorf("the answer contains more than %d blocks", maxBlocks)
	}
	a.flushPending(false)
	a.open = append(a.open, b)
	switch b.kind {
	case "text":
		a.EmitText(text, "")
	case "thinking":
		a.emitThought(b, text)
	case "tool_use":
		if a.format != "" && b.name == a.format {
			b.kind = "format"
			if input != "{}" && input != "null" {
				a.EmitText(input, "")
			}
			return nil
		}
		a.calls++
		b.id = a.uniqueID(b.id)
		a.EmitEvent(llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: b.id, Name: b.name}})
		if input != "" && input != "{}" && input != "null" {
			return a.addArgs(b, input)
		}
	}
	return nil
}

func (a *answer) takeDelta(index int64, d sdk.MessageStreamEventUnionDelta) error {
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
		a.EmitText(d.Text, "")
	case "thinking_delta":
		a.emitThought(b, d.Thinking)
	case "signature_delta":
		b.signature += d.Signature
	case "input_json_delta":
		return a.addArgs(b, d.PartialJSON)
	}
	return nil
}

func (a *answer) emitThought(b *block, t string) {
	if t == "" {
		return
	}
	b.text = append(b.text, t...)
	a.EmitEvent(llm.Event{Kind: llm.ReasoningDelta, Text: t})
}

func (a *answer) addArgs(b *block, piece string) error {
	if piece == "" {
		return nil
	}
	if b.kind == "format" {
		a.EmitText(piece, "")
		return nil
	}
	if b.text = append(b.text, piece...); len(b.text) > maxArgs {
		return fmt.Errorf("the arguments of a tool call exceed %d MB", maxArgs>>20)
	}
	a.EmitEvent(llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: b.id}, Text: piece})
	return nil
}

// finishBlock ends a block.
func (a *answer) finishBlock(b *block) {
	switch b.kind {
	case "thinking":
		if len(b.text) > 0 || b.signature != "" {
			a.EmitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: string(b.text), Signature: b.signature}})
		}
	case "redacted_thinking":
		a.EmitEvent(llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Redacted: b.data}})
	case "tool_use":
		a.flushPending(false)
		a.pending = b
	}
}

// flushPending passes the withheld call to the consumer.
func (a *answer) flushPending(cut bool) {
	if b := a.pending; b != nil {
		a.pending = nil
		a.EmitEvent(llm.Event{Kind: llm.CallDone, Call: llm.NewCall(b.id, b.name, string(b.text), cut)})
	}
}

// cutOff marks the calls in a broken stream as truncated, because no call from a failed answer may
// run.
func (a *answer) cutOff() {
	a.flushPending(true)
	for _, b := range a.open {
		if b.kind == "tool_use" {
			a.pending = b
			a.flushPending(true)
		}
	}
	a.open = nil
}

// finishAnswer completes an answer.
func (a *answer) finishAnswer() {
	stop := llm.EndTurn
	switch a.stop {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		stop = llm.MaxTokens
	case sdk.StopReasonRefusal:
		stop = llm.Refused
	default: // some servers send "end_turn" with calls, or reasons that are not defined
		if a.calls > 0 {
			stop = llm.ToolUse
		}
	}
	cut := stop == llm.MaxTokens || stop == llm.Refused
	a.flushPending(cut)
	a.cutOff()
	a.EmitEvent(llm.Event{Kind: llm.Done, Stop: stop, Usage: a.Usage})
}

// takeMessage handles an answer that is not streamed.
func (a *answer) takeMessage(m *sdk.Message) error {
	a.Started = true
	a.updateUsage(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens, m.JSON.Usage.Valid())
	for i, c := range m.Content {
		b := &block{index: int64(i), kind: c.Type, id: c.ID, name: c.Name, signature: c.Signature, data: c.Data}
		if err := a.startBlock(b, c.Text+c.Thinking, string(c.Input)); err != nil {
			return err
		}
		a.open = nil
		a.finishBlock(b)
	}
	a.stop = m.StopReason
	return nil
}

// uniqueID returns the server's id, or a new one if that id is missing or already used.
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
