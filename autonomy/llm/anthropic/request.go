package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"hob/autonomy/llm"
)

// buildRequest creates a request. The result depends only on r and on the features that the server
// has refused so far. An earlier request is therefore a prefix of the next one, except for the
// cache marks, which the provider does not count as content. The API allows 4 marks. They are set
// on the last tool, the system prompt, the end of the previous request, and the end of this request
// (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching).
func (m *Model) buildRequest(r llm.Request) (params sdk.MessageNewParams, thinking bool) {
	params = sdk.MessageNewParams{Model: sdk.Model(m.o.Model), MaxTokens: int64(r.Limit(m.o.MaxTokens))}
	if strings.TrimSpace(r.System) != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	params.Tools = convertTools(r.Tools)
	if r.NoTools && len(params.Tools) > 0 {
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	}
	m.applyFormat(r, &params)
	e := encoder{thinking: !m.noThinking.Load()}
	for _, msg := range r.Messages {
		if role, blocks := e.convertMessage(msg); len(blocks) > 0 {
			params.Messages = append(params.Messages, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	markMessages(params.Messages)
	return params, e.sent
}

// applyFormat requests an answer that matches the schema. For models that do not support schemas,
// it adds a tool whose arguments are the answer, and forces the model to call that tool.
func (m *Model) applyFormat(r llm.Request, params *sdk.MessageNewParams) {
	if r.Format == nil {
		return
	}
	schema, _ := llm.ClosedSchema(r.Format.Schema)
	if !m.noFormat.Load() {
		params.OutputConfig.Format.Schema = schema
		return
	}
	name := llm.WireName(r.Format.Name)
	params.Tools = append(params.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
		Name: name, Description: sdk.String("Return the answer in this form."),
		InputSchema: param.Override[sdk.ToolInputSchemaParam](schema),
	}})
	params.ToolChoice = sdk.ToolChoiceParamOfTool(name)
}

func convertTools(list []llm.Tool) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	for _, t := range list {
		schema := t.Schema
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		p := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			p.Description = sdk.String(t.Description)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: p})
	}
	if n := len(out); n > 0 {
		out[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return out
}

// markMessages sets the cache marks in the messages: on the last message, and on the last message
// before the model's newest answer, where the previous request ended. The second mark helps if one
// step adds more than 20 blocks, because the provider looks back at most 20.
func markMessages(messages []sdk.MessageParam) {
	last := len(messages) - 1
	if last < 0 {
		return
	}
	markLast(messages[last].Content)
	for i := last - 1; i > 0; i-- {
		if messages[i].Role == sdk.MessageParamRoleAssistant {
			markLast(messages[i-1].Content)
			return
		}
	}
}

// markLast marks the last block that may be marked. Thinking blocks may not.
func markLast(blocks []sdk.ContentBlockParamUnion) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if c := blocks[i].GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
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
func (e *encoder) convertMessage(m llm.Message) (sdk.MessageParamRole, []sdk.ContentBlockParamUnion) {
	role := sdk.MessageParamRoleUser
	if m.Role == llm.Assistant {
		role = sdk.MessageParamRoleAssistant
	}
	var first, rest []sdk.ContentBlockParamUnion
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			first = append(first, resultBlock(p.Result))
		case p.Reasoning != nil && role == sdk.MessageParamRoleAssistant:
			rest = append(rest, e.reasoningBlocks(p.Reasoning)...)
		case p.Call != nil:
			rest = append(rest, sdk.NewToolUseBlock(llm.WireID(p.Call.ID), p.Call.WireArgs(), llm.WireName(p.Call.Name)))
		case p.Image != nil && role == sdk.MessageParamRoleAssistant: // the API accepts no images from the model
			rest = append(rest, sdk.NewTextBlock("(a picture that I made)"))
		case p.Image != nil:
			rest = append(rest, sdk.NewImageBlockBase64(p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)))
		case strings.TrimSpace(p.Text) != "": // the API rejects empty text
			rest = append(rest, sdk.NewTextBlock(p.Text))
		}
	}
	return role, append(first, rest...)
}

func resultBlock(r *llm.ToolResult) sdk.ContentBlockParamUnion {
	b := &sdk.ToolResultBlockParam{ToolUseID: llm.WireID(r.ID)}
	if strings.TrimSpace(r.Text) != "" {
		b.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
	}
	if r.Error {
		b.IsError = sdk.Bool(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: b}
}

// reasoningBlocks returns the thinking blocks that this API signed. Thoughts from other providers
// have no signature and would be rejected.
func (e *encoder) reasoningBlocks(r *llm.Reasoning) []sdk.ContentBlockParamUnion {
	switch {
	case !e.thinking:
		return nil
	case r.Redacted != "":
		e.sent = true
		return []sdk.ContentBlockParamUnion{sdk.NewRedactedThinkingBlock(r.Redacted)}
	case r.Signature != "":
		e.sent = true
		return []sdk.ContentBlockParamUnion{sdk.NewThinkingBlock(r.Signature, r.Text)}
	}
	return nil
}
