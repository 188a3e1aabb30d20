package anthropic

import (
	"encoding/json"
	"errors"

	"hob/autonomy/llm"
)

// event is one stream event, or a complete answer that is not streamed. Each type uses some of the
// fields.
type event struct {
	Type    string          `json:"type"`
	Index   int64           `json:"index"`         // index of the block to which the event belongs
	Block   block           `json:"content_block"` // content_block_start
	Delta   delta           `json:"delta"`         // content_block_delta, message_delta
	Usage   json.RawMessage `json:"usage"`         // message_delta, complete answers
	Message struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"message"` // message_start
	Content    []block `json:"content"`     // complete answers
	StopReason string  `json:"stop_reason"` // complete answers
}

// block is a content block as the server starts it.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // data of a redacted thought
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	Arguments  string `json:"partial_json"`
	StopReason string `json:"stop_reason"` // message_delta
}

// parseEvent parses an event. It ignores values of the wrong type, because servers add events and
// blocks whose fields have other types.
func parseEvent(data []byte) (event, error) {
	var e event
	err := json.Unmarshal(data, &e)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
		err = nil
	}
	return e, err
}

// inputText returns the arguments in the start of a block, or "" if they follow in deltas.
func (b *block) inputText() string {
	if s := string(b.Input); s != "{}" && s != "null" {
		return s
	}
	return ""
}

// updateUsage updates the token counts. The server sends totals so far. Anthropic counts cached
// input tokens separately.
func (s *stream) updateUsage(raw json.RawMessage) {
	var in struct {
		Input      float64 `json:"input_tokens"`
		Output     float64 `json:"output_tokens"`
		CacheRead  float64 `json:"cache_read_input_tokens"`
		CacheWrite float64 `json:"cache_creation_input_tokens"`
	}
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &in) != nil {
		return
	}
	u := llm.Usage{
		Input: llm.TokenCount(in.Input + in.CacheRead + in.CacheWrite), Output: llm.TokenCount(in.Output),
		CacheRead: llm.TokenCount(in.CacheRead), CacheWrite: llm.TokenCount(in.CacheWrite), Known: true,
	}
	if u.Input == 0 { // servers may report counts only at the end
		u.Input, u.CacheRead, u.CacheWrite = s.Usage.Input, s.Usage.CacheRead, s.Usage.CacheWrite
	}
	u.Output = max(u.Output, s.Usage.Output)
	s.Usage = u
}

// setStop records the stop reason. Some servers send "end_turn" with calls, or reasons that are not
// defined, so llm.AnswerStream distinguishes a call from the end of the turn.
func (s *stream) setStop(reason string) {
	if reason == "" {
		return
	}
	s.Ended, s.Stop = true, llm.EndTurn
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		s.Stop = llm.MaxTokens
	case "refusal":
		s.Stop = llm.Refused
	}
}
