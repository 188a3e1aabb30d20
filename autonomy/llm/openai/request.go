package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
)

// request is the body of a call. It depends only on the messages, the options and the known quirks.
// The tools come first, then the messages. The JSON of an earlier request's tools and messages is
// therefore a prefix of the corresponding JSON in the next request, which servers cache.
type request struct {
	Model               string         `json:"model"`
	Tools               []tool         `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
	ToolChoice          string         `json:"tool_choice,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Format              *format        `json:"response_format,omitempty"`
	Modalities          []string       `json:"modalities,omitempty"`

	images bool // whether the request contains a picture
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type format struct {
	Type   string       `json:"type"`
	Schema formatSchema `json:"json_schema"`
}

type formatSchema struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
	Strict bool           `json:"strict"`
}

type tool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type message struct {
	Role       string          `json:"role"`
	Content    any             `json:"content"` // a string, []content or nil
	Reasoning  string          `json:"reasoning_content,omitempty"`
	Details    json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls  []sentCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

type content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type sentCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// buildRequest returns a request for a server with the given quirks.
func (m *Model) buildRequest(r llm.Request, q quirk) request {
	out := request{Model: m.o.Model, Stream: !m.o.Whole}
	if q&noTools == 0 {
		out.Tools = renderTools(r.Tools)
		if r.NoTools && len(out.Tools) > 0 && q&noToolChoice == 0 {
			out.ToolChoice = "none"
		}
	}
	if q&noStreamOptions == 0 && out.Stream {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	limit := r.Limit(m.o.MaxTokens)
	switch {
	case q&noMaxTokens != 0:
	case q&completionTokens != 0:
		out.MaxCompletionTokens = limit
	default:
		out.MaxTokens = limit
	}
	if r.Format != nil && q&noFormat == 0 {
		schema, strict := llm.ClosedSchema(r.Format.Schema)
		out.Format = &format{"json_schema", formatSchema{r.Format.Name, schema, strict}}
	}
	if strings.Contains(m.o.Model, "-image") && q&noModalities == 0 {
		out.Modalities = []string{"image", "text"}
	}
	if r.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: r.System})
	}
	e := encoder{quirks: q}
	for _, msg := range r.Messages {
		out.Messages = append(out.Messages, e.convertMessage(msg)...)
	}
	out.images = e.images
	return out
}

func renderTools(tools []llm.Tool) []tool {
	var out []tool
	for _, t := range tools {
		schema := t.Schema
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{"function", toolFunction{t.Name, t.Description, schema}})
	}
	return out
}

type encoder struct {
	quirks quirk
	images bool
}

// convertMessage converts one message. Results become separate messages, in order and before the
// other parts.
func (e *encoder) convertMessage(m llm.Message) []message {
	var out []message
	for _, p := range m.Parts {
		if p.Result != nil {
			out = append(out, e.resultMessage(p.Result))
		}
	}
	if m.Role == llm.Assistant {
		if a, ok := e.assistantMessage(m); ok {
			out = append(out, a)
		}
		return out
	}
	if c := e.userContent(m.Parts); c != nil {
		out = append(out, message{Role: "user", Content: c})
	}
	return out
}

func (e *encoder) resultMessage(r *llm.ToolResult) message {
	text := r.Text
	if r.Error && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	if e.quirks&noTools != 0 {
		return message{Role: "user", Content: "Result of " + llm.WireName(r.Name) + ":\n" + text}
	}
	return message{Role: "tool", Content: text, ToolCallID: llm.WireID(r.ID)}
}

func (e *encoder) assistantMessage(m llm.Message) (message, bool) {
	out := message{Role: "assistant"}
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
		case p.Call != nil && e.quirks&noTools != 0:
			texts = append(texts, fmt.Sprintf("(I used %s with %s.)", llm.WireName(p.Call.Name), p.Call.WireArgs()))
		case p.Call != nil:
			out.ToolCalls = append(out.ToolCalls, sentCall{
				llm.WireID(p.Call.ID), "function",
				sentFunction{llm.WireName(p.Call.Name), string(p.Call.WireArgs())},
			})
		case p.Image != nil:
			texts = append(texts, "(a picture that I made)")
		case p.Reasoning != nil && p.Reasoning.Details != nil:
			out.Details = p.Reasoning.Details
		case p.Reasoning != nil && p.Reasoning.Signature == "" && p.Reasoning.Redacted == "":
			out.Reasoning += p.Reasoning.Text
		}
	}
	// Models that think between tool calls need their thoughts returned with those calls (DeepSeek,
	// Kimi, and all models behind OpenRouter). Elsewhere thoughts only cost tokens.
	if len(out.ToolCalls) == 0 || e.quirks&(ownServer|noReasoning) != 0 {
		out.Reasoning, out.Details = "", nil
	}
	if out.Details != nil {
		out.Reasoning = "" // the details have the same content
	}
	if len(texts) > 0 {
		out.Content = strings.Join(texts, "\n\n")
	}
	return out, len(texts) > 0 || len(out.ToolCalls) > 0
}

// userContent returns a string, which every server accepts, if there is only text. Otherwise it
// returns a list of contents, or nil if there are none.
func (e *encoder) userContent(parts []llm.Part) any {
	var texts []string
	var list []content
	pictures := false
	for _, p := range parts {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
			list = append(list, content{Type: "text", Text: p.Text})
		case p.Image != nil && e.quirks&noImages != 0:
			texts = append(texts, "(a picture that this model cannot see)")
		case p.Image != nil:
			pictures = true
			u := "data:" + p.Image.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Image.Data)
			list = append(list, content{Type: "image_url", ImageURL: &imageURL{u}})
		}
	}
	e.images = e.images || pictures
	switch {
	case pictures:
		return list
	case len(texts) > 0:
		return strings.Join(texts, "\n\n")
	}
	return nil
}
