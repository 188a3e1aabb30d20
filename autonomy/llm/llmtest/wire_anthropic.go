package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
)

// The part of Anthropic's Messages API that drivers send:
// https://docs.anthropic.com/en/api/messages
type anthropicRequest struct {
	Model      string          `json:"model"`
	System     json.RawMessage `json:"system"`
	MaxTokens  int             `json:"max_tokens"`
	Stream     bool            `json:"stream"`
	ToolChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Output struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

func decodeAnthropic(r *Request) error {
	var in anthropicRequest
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return fmt.Errorf("the request is not a message: %w", err)
	}
	if in.MaxTokens <= 0 {
		return fmt.Errorf("max_tokens: Field required")
	}
	r.Model, r.Stream, r.MaxTokens = in.Model, in.Stream, in.MaxTokens
	r.NoTools = in.ToolChoice.Type == "none"
	r.Format = in.Output.Format.Schema
	for _, t := range in.Tools {
		if in.ToolChoice.Type == "tool" && in.ToolChoice.Name == t.Name { // another way to request a structured answer
			r.Format = t.InputSchema
			r.forced = t.Name
			continue
		}
		r.Tools = append(r.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	system, err := parseBlocks(in.System)
	if err != nil {
		return err
	}
	for _, b := range system {
		r.System += b.Text
	}
	names := map[string]string{}
	for _, m := range in.Messages {
		list, err := parseBlocks(m.Content)
		if err != nil {
			return err
		}
		msg := llm.Message{Role: llm.Role(m.Role)}
		for _, b := range list {
			if b.Type == "tool_use" {
				names[b.ID] = b.Name
			}
			p, err := b.toPart(names)
			if err != nil {
				return err
			}
			msg.Parts = append(msg.Parts, p)
		}
		r.Messages = append(r.Messages, msg)
	}
	return nil
}

func parseBlocks(raw json.RawMessage) ([]anthropicBlock, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return []anthropicBlock{{Type: "text", Text: s}}, err
	}
	var list []anthropicBlock
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("content is neither text nor a list of blocks: %w", err)
	}
	return list, nil
}

func (b *anthropicBlock) toPart(names map[string]string) (llm.Part, error) {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return llm.Part{}, fmt.Errorf("text content blocks must be non-empty")
		}
		return llm.Part{Text: b.Text}, nil
	case "tool_use":
		return llm.Part{Call: &llm.ToolCall{ID: b.ID, Name: b.Name, Args: b.Input}}, nil
	case "thinking":
		return llm.Part{Reasoning: &llm.Reasoning{Text: b.Thinking, Signature: b.Signature}}, nil
	case "redacted_thinking":
		return llm.Part{Reasoning: &llm.Reasoning{Redacted: b.Data}}, nil
	case "image":
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		return llm.Part{Image: &llm.Image{MIME: b.Source.MediaType, Data: data}}, err
	case "tool_result":
		list, err := parseBlocks(b.Content)
		if err != nil {
			return llm.Part{}, err
		}
		res := &llm.ToolResult{ID: b.ToolUseID, Name: names[b.ToolUseID], Error: b.IsError}
		for _, c := range list {
			res.Text += c.Text
		}
		return llm.Part{Result: res}, nil
	}
	return llm.Part{}, fmt.Errorf("unknown type of content block: %q", b.Type)
}

func anthropicStop(a *Answer) string {
	switch {
	case a.Stop == "length", a.Fault == CutArgs && a.Stop == "":
		return "max_tokens"
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// anthropicUsage returns the token counts in Anthropic's format, in which input excludes cached
// tokens.
func anthropicUsage(u llm.Usage) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}`,
		u.Input-u.CacheRead-u.CacheWrite, u.CacheRead, u.CacheWrite, u.Output)
}

// anthropicFrames encodes an answer as stream events.
func anthropicFrames(r *Request, a *Answer, id func() string) []frame {
	var out []frame
	add := func(delta bool, event, fields string) {
		out = append(out, frame{event: event, delta: delta, data: `{"type":` + quoteJSON(event) + fields + `}`})
	}
	index := -1
	block := func(start string, kind, field string, pieces []string, end string) {
		index++
		n := fmt.Sprintf(`,"index":%d`, index)
		add(false, "content_block_start", n+`,"content_block":`+start)
		for _, p := range pieces {
			add(true, "content_block_delta", n+`,"delta":{"type":`+quoteJSON(kind)+`,`+quoteJSON(field)+`:`+quoteJSON(p)+`}`)
		}
		if end != "" {
			add(false, "content_block_delta", n+`,"delta":`+end)
		}
		add(false, "content_block_stop", n)
	}
	usage := a.usageFor(len(r.Body))
	start := usage
	start.Output = 1
	usageField := func(u llm.Usage) string {
		if !u.Known {
			return ""
		}
		return `,"usage":` + anthropicUsage(u)
	}
	add(false, "message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":`+quoteJSON(r.Model)+
		`,"content":[],"stop_reason":null,"stop_sequence":null`+usageField(start)+`}`)
	if a.Reasoning != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", splitRunes(a.Reasoning, a.pieceCount()),
			`{"type":"signature_delta","signature":`+quoteJSON(a.Signature)+`}`)
	}
	if a.Text != "" {
		block(`{"type":"text","text":""}`, "text_delta", "text", splitRunes(a.Text, a.pieceCount()), "")
	}
	for _, c := range a.wireCalls(id) {
		block(`{"type":"tool_use","id":`+quoteJSON(c.ID)+`,"name":`+quoteJSON(c.Name)+`,"input":{}}`,
			"input_json_delta", "partial_json", splitRunes(c.Args, a.pieceCount()), "")
	}
	add(false, "message_delta", `,"delta":{"stop_reason":`+quoteJSON(anthropicStop(a))+`,"stop_sequence":null}`+usageField(usage))
	add(false, "message_stop", "")
	return out
}

// anthropicJSON encodes an answer that is not streamed.
func anthropicJSON(r *Request, a *Answer, id func() string) string {
	var content []string
	if a.Reasoning != "" {
		content = append(content, `{"type":"thinking","thinking":`+quoteJSON(a.Reasoning)+`,"signature":`+quoteJSON(a.Signature)+`}`)
	}
	if a.Text != "" {
		content = append(content, `{"type":"text","text":`+quoteJSON(a.Text)+`}`)
	}
	for _, c := range a.wireCalls(id) {
		args := c.Args
		if !json.Valid([]byte(args)) {
			args = "{}" // malformed arguments cannot be sent without a stream
		}
		content = append(content, `{"type":"tool_use","id":`+quoteJSON(c.ID)+`,"name":`+quoteJSON(c.Name)+`,"input":`+args+`}`)
	}
	return `{"id":"msg_1","type":"message","role":"assistant","model":` + quoteJSON(r.Model) + `,"content":[` + strings.Join(content, ",") +
		`],"stop_reason":` + quoteJSON(anthropicStop(a)) + `,"stop_sequence":null,"usage":` + anthropicUsage(a.usageFor(len(r.Body))) + `}`
}
