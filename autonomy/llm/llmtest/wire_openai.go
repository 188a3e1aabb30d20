package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
)

// The part of OpenAI's Chat Completions API that drivers send:
// https://platform.openai.com/docs/api-reference/chat/create
type openaiRequest struct {
	Model               string          `json:"model"`
	Messages            []openaiMessage `json:"messages"`
	Tools               []openaiTool    `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Stream              bool            `json:"stream"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Format              struct {
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type openaiMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openaiTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func decodeOpenAI(r *Request) error {
	var in openaiRequest
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return fmt.Errorf("the request is not a chat completion: %w", err)
	}
	r.Model, r.Stream, r.Format = in.Model, in.Stream, in.Format.Schema.Schema
	r.MaxTokens = max(in.MaxTokens, in.MaxCompletionTokens)
	r.NoTools = string(in.ToolChoice) == `"none"`
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	names := map[string]string{}
	for _, m := range in.Messages {
		parts, err := openaiParts(m.Content)
		if err != nil {
			return err
		}
		switch m.Role {
		case "system", "developer":
			for _, p := range parts {
				r.System += p.Text
			}
			continue
		case "tool":
			res := llm.ToolResult{ID: m.ToolCallID, Name: names[m.ToolCallID]}
			for _, p := range parts {
				res.Text += p.Text
			}
			parts = []llm.Part{{Result: &res}}
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
			parts = append(parts, llm.Part{Call: &llm.ToolCall{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)}})
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Role(m.Role), Parts: parts})
	}
	return nil
}

func openaiParts(content json.RawMessage) ([]llm.Part, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	if content[0] == '"' {
		var s string
		err := json.Unmarshal(content, &s)
		return []llm.Part{{Text: s}}, err
	}
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("the content of a message is neither text nor a list: %w", err)
	}
	var out []llm.Part
	for _, p := range list {
		if p.Type != "image_url" {
			out = append(out, llm.Part{Text: p.Text})
			continue
		}
		head, data, _ := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, fmt.Errorf("an image is not base64: %w", err)
		}
		out = append(out, llm.Part{Image: &llm.Image{MIME: head, Data: b}})
	}
	return out, nil
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // a string can always be encoded
	return string(b)
}

func openaiStop(a *Answer) string {
	switch {
	case a.Stop == "refusal":
		return "content_filter"
	case a.Stop != "":
		return a.Stop
	case a.Fault == CutArgs:
		return "length"
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func openaiUsage(r *Request, a *Answer) string {
	u := a.usageFor(len(r.Body))
	if !u.Known {
		return "null"
	}
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead)
}

func openaiArgs(c Call, f Fault) string {
	if f == ObjectArgs && json.Valid([]byte(c.Args)) {
		return c.Args
	}
	return quoteJSON(c.Args)
}

// openaiFrames encodes an answer as chunks.
func openaiFrames(r *Request, a *Answer, id func() string) []frame {
	head := `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":` + quoteJSON(r.Model)
	var out []frame
	chunk := func(delta bool, d, stop, usage string) {
		if stop != "null" {
			stop = quoteJSON(stop)
		}
		out = append(out, frame{delta: delta, data: head + `,"choices":[{"index":0,"delta":` + d + `,"finish_reason":` + stop + `}],"usage":` + usage + `}`})
	}
	chunk(false, `{"role":"assistant","content":""}`, "null", "null")
	for _, p := range splitRunes(a.Reasoning, a.pieceCount()) {
		chunk(true, `{"reasoning_content":`+quoteJSON(p)+`}`, "null", "null")
	}
	for _, p := range splitRunes(a.Text, a.pieceCount()) {
		chunk(true, `{"content":`+quoteJSON(p)+`}`, "null", "null")
	}
	for _, i := range a.Images {
		chunk(true, openaiImages([]llm.Image{i}), "null", "null")
	}
	for _, d := range openaiCallDeltas(a, id) {
		chunk(true, `{"tool_calls":[`+d+`]}`, "null", "null")
	}
	usage := openaiUsage(r, a)
	if a.Fault == UsageInLast {
		chunk(false, `{}`, openaiStop(a), usage)
	} else {
		chunk(false, `{}`, openaiStop(a), "null")
		if strings.Contains(string(r.Body), `"include_usage":true`) {
			out = append(out, frame{data: head + `,"choices":[],"usage":` + usage + `}`})
		}
	}
	if a.Fault != NoDone {
		out = append(out, frame{data: "[DONE]"})
	}
	return out
}

func openaiCallDeltas(a *Answer, id func() string) []string {
	var out []string
	for i, c := range a.wireCalls(id) {
		index := fmt.Sprintf(`"index":%d,`, i)
		switch a.Fault {
		case NoIndex:
			index = ""
		case SameIndex:
			index = `"index":0,`
		}
		first := index
		if c.ID != "" {
			first += `"id":` + quoteJSON(c.ID) + `,`
		}
		first += `"type":"function","function":{"name":` + quoteJSON(c.Name) + `,"arguments":`
		if a.Fault == OneChunk || a.Fault == ObjectArgs {
			out = append(out, `{`+first+openaiArgs(c, a.Fault)+`}}`)
			continue
		}
		out = append(out, `{`+first+`""}}`)
		for _, p := range splitRunes(c.Args, a.pieceCount()) {
			out = append(out, `{`+index+`"function":{"arguments":`+quoteJSON(p)+`}}`)
		}
	}
	if a.Fault == OneChunk && len(out) > 0 {
		return []string{strings.Join(out, ",")}
	}
	return out
}

// openaiImages encodes the images in an answer in OpenRouter's format.
func openaiImages(list []llm.Image) string {
	var out []string
	for _, i := range list {
		out = append(out, `{"type":"image_url","image_url":{"url":`+quoteJSON("data:"+i.MIME+";base64,"+base64.StdEncoding.EncodeToString(i.Data))+`}}`)
	}
	return `{"images":[` + strings.Join(out, ",") + `]}`
}

// openaiJSON encodes an answer that is not streamed.
func openaiJSON(r *Request, a *Answer, id func() string) string {
	var calls []string
	for _, c := range a.wireCalls(id) {
		calls = append(calls, `{"id":`+quoteJSON(c.ID)+`,"type":"function","function":{"name":`+quoteJSON(c.Name)+`,"arguments":`+openaiArgs(c, a.Fault)+`}}`)
	}
	tools := ""
	if len(calls) > 0 {
		tools = `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	reasoning := ""
	if a.Images != nil {
		reasoning = `,` + strings.TrimSuffix(strings.TrimPrefix(openaiImages(a.Images), "{"), "}")
	}
	if a.Reasoning != "" {
		reasoning += `,"reasoning_content":` + quoteJSON(a.Reasoning)
	}
	return `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":` + quoteJSON(r.Model) +
		`,"choices":[{"index":0,"message":{"role":"assistant","content":` + quoteJSON(a.Text) + reasoning + tools +
		`},"finish_reason":` + quoteJSON(openaiStop(a)) + `}],"usage":` + openaiUsage(r, a) + `}`
}
