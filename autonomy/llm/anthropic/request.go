package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
)

// request is the body of a call. The result of buildRequest depends only on the llm.Request and on
// the features that the server has refused so far. An earlier request is therefore a prefix of the
// next one, except for the cache marks, which the provider does not count as content.
type request struct {
	Model      string      `json:"model"`
	MaxTokens  int         `json:"max_tokens"`
	Stream     bool        `json:"stream,omitempty"`
	Tools      []tool      `json:"tools,omitempty"`
	ToolChoice *toolChoice `json:"tool_choice,omitempty"`
	Output     *output     `json:"output_config,omitempty"`
	System     []content   `json:"system,omitempty"`
	Messages   []message   `json:"messages"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheMark      `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"` // "none" or "tool"
	Name string `json:"name,omitempty"`
}

type output struct {
	Format struct {
		Type   string         `json:"type"`
		Schema map[string]any `json:"schema"`
	} `json:"format"`
}

type message struct {
	Role    llm.Role  `json:"role"`
	Content []content `json:"content"`
}

// content is a content block of any type.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"` // required in a thinking block, and may be empty
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"` // data of a redacted thought
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []content       `json:"content,omitempty"` // content of a tool result
	IsError   bool            `json:"is_error,omitempty"`
	Source    *imageSource    `json:"source,omitempty"`
	Cache     *cacheMark      `json:"cache_control,omitempty"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// cacheMark asks the provider to cache the request up to the marked block. The API allows 4 marks.
// They are set on the last tool, the system prompt, the end of the previous request, and the end of
// this request (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching).
type cacheMark struct {
	Type string `json:"type"`
}

func newCacheMark() *cacheMark { return &cacheMark{"ephemeral"} }

// buildRequest creates a request. thinking reports whether it contains thinking blocks.
func (m *Model) buildRequest(r llm.Request) (out request, thinking bool) {
	out = request{Model: m.o.Model, MaxTokens: r.Limit(m.o.MaxTokens), Stream: !m.o.Whole, Tools: convertTools(r.Tools)}
	if strings.TrimSpace(r.System) != "" {
		out.System = []content{{Type: "text", Text: r.System, Cache: newCacheMark()}}
	}
	if r.NoTools && len(out.Tools) > 0 {
		out.ToolChoice = &toolChoice{Type: "none"}
	}
	m.applyFormat(r, &out)
	e := encoder{thinking: !m.noThinking.Load()}
	for _, msg := range r.Messages {
		if x := e.convertMessage(msg); len(x.Content) > 0 {
			out.Messages = append(out.Messages, x)
		}
	}
	markMessages(out.Messages)
	return out, e.sent
}

// applyFormat requests an answer that matches the schema. For models that do not support schemas,
// it adds a tool whose arguments are the answer, and forces the model to call that tool.
func (m *Model) applyFormat(r llm.Request, out *request) {
	if r.Format == nil {
		return
	}
	schema, _ := llm.ClosedSchema(r.Format.Schema)
	if !m.noFormat.Load() {
		out.Output = &output{}
		out.Output.Format.Type, out.Output.Format.Schema = "json_schema", schema
		return
	}
	encoded, _ := json.Marshal(schema) // a decoded JSON object can always be encoded
	name := llm.WireName(r.Format.Name)
	out.Tools = append(out.Tools, tool{Name: name, Description: "Return the answer in this form.", InputSchema: encoded})
	out.ToolChoice = &toolChoice{"tool", name}
}

func convertTools(list []llm.Tool) []tool {
	var out []tool
	for _, t := range list {
		schema := t.Schema
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	if n := len(out); n > 0 {
		out[n-1].Cache = newCacheMark()
	}
	return out
}

// markMessages sets the cache marks in the messages: on the last message, and on the last message
// before the model's newest answer, where the previous request ended. The second mark helps if one
// step adds more than 20 blocks, because the provider looks back at most 20.
func markMessages(messages []message) {
	last := len(messages) - 1
	if last < 0 {
		return
	}
	markLast(messages[last].Content)
	for i := last - 1; i > 0; i-- {
		if messages[i].Role == llm.Assistant {
			markLast(messages[i-1].Content)
			return
		}
	}
}

// markLast marks the last block that may be marked. Thinking blocks may not.
func markLast(blocks []content) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if t := blocks[i].Type; t != "thinking" && t != "redacted_thinking" {
			blocks[i].Cache = newCacheMark()
			return
		}
	}
}

type encoder struct {
	thinking bool // whether to send thinking blocks
	sent     bool // whether any thinking block was sent
}

// convertMessage converts one message. Tool results come first, because the API requires them
// directly after the calls.
func (e *encoder) convertMessage(m llm.Message) message {
	out := message{Role: llm.User}
	if m.Role == llm.Assistant {
		out.Role = llm.Assistant
	}
	var rest []content
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			out.Content = append(out.Content, resultBlock(p.Result))
		case p.Reasoning != nil && out.Role == llm.Assistant:
			rest = append(rest, e.reasoningBlocks(p.Reasoning)...)
		case p.Call != nil:
			rest = append(rest, content{Type: "tool_use", ID: llm.WireID(p.Call.ID), Name: llm.WireName(p.Call.Name), Input: p.Call.WireArgs()})
		case p.Image != nil && out.Role == llm.Assistant: // the API accepts no images from the model
			rest = append(rest, content{Type: "text", Text: "(a picture that I made)"})
		case p.Image != nil:
			rest = append(rest, content{Type: "image", Source: &imageSource{"base64", p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)}})
		case strings.TrimSpace(p.Text) != "": // the API rejects empty text
			rest = append(rest, content{Type: "text", Text: p.Text})
		}
	}
	out.Content = append(out.Content, rest...)
	return out
}

func resultBlock(r *llm.ToolResult) content {
	b := content{Type: "tool_result", ToolUseID: llm.WireID(r.ID), IsError: r.Error}
	if strings.TrimSpace(r.Text) != "" {
		b.Content = []content{{Type: "text", Text: r.Text}}
	}
	return b
}

// reasoningBlocks returns the thinking blocks that this API signed. Thoughts from other providers
// have no signature and would be rejected.
func (e *encoder) reasoningBlocks(r *llm.Reasoning) []content {
	switch {
	case !e.thinking:
		return nil
	case r.Redacted != "":
		e.sent = true
		return []content{{Type: "redacted_thinking", Data: r.Redacted}}
	case r.Signature != "":
		e.sent = true
		return []content{{Type: "thinking", Signature: r.Signature, Thinking: &r.Text}}
	}
	return nil
}
