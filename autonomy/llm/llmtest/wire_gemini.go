package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/autonomy/llm"
)

// The part of Gemini's generateContent API that drivers send:
// https://ai.google.dev/api/generate-content
type geminiRequest struct {
	System *geminiContent `json:"systemInstruction"`
	Tools  []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Contents   []geminiContent `json:"contents"`
	Generation struct {
		MaxTokens  int             `json:"maxOutputTokens"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
		Schema     json.RawMessage `json:"responseSchema"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text   *string `json:"text"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data []byte `json:"data"`
	} `json:"inlineData"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	} `json:"functionResponse"`
	Signature string `json:"thoughtSignature"`
}

func decodeGemini(r *Request) error {
	var in geminiRequest
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return fmt.Errorf("Invalid JSON payload received: %w", err) //nolint:staticcheck // the words of the API
	}
	_, model, _ := strings.Cut(r.Path, "/models/")
	r.Model, _, _ = strings.Cut(model, ":")
	r.Stream = strings.HasSuffix(r.Path, ":streamGenerateContent")
	r.MaxTokens = in.Generation.MaxTokens
	r.NoTools = in.Config.Calling.Mode == "NONE"
	if r.Format = in.Generation.JSONSchema; r.Format == nil {
		r.Format = in.Generation.Schema
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			schema := f.JSONSchema
			if schema == nil {
				schema = f.Parameters
			}
			r.Tools = append(r.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: schema})
		}
	}
	if in.System != nil {
		for _, p := range in.System.Parts {
			if p.Text != nil {
				r.System += *p.Text
			}
		}
	}
	if len(in.Contents) == 0 {
		return fmt.Errorf("contents is not specified")
	}
	for i, c := range in.Contents {
		msg, err := c.toMessage()
		if err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
		r.Messages = append(r.Messages, msg)
	}
	assignIDs(r.Messages)
	return nil
}

// assignIDs assigns ids to calls and results that have none, and matches them by order.
func assignIDs(messages []llm.Message) {
	var open []string
	for i, m := range messages {
		for j, p := range m.Parts {
			switch {
			case p.Call != nil && p.Call.ID == "":
				p.Call.ID = fmt.Sprintf("contents.%d.%d", i, j)
				open = append(open, p.Call.ID)
			case p.Result != nil && p.Result.ID == "" && len(open) > 0:
				p.Result.ID, open = open[0], open[1:]
			}
		}
	}
}

func (c *geminiContent) toMessage() (llm.Message, error) {
	msg := llm.Message{Role: llm.User}
	switch c.Role {
	case "model":
		msg.Role = llm.Assistant
	case "user", "":
	default:
		return msg, fmt.Errorf("Please use a valid role: user, model") //nolint:staticcheck // the words of the API
	}
	if len(c.Parts) == 0 {
		return msg, fmt.Errorf("must include at least one parts field")
	}
	for _, p := range c.Parts {
		part, err := p.toPart()
		if err != nil {
			return msg, err
		}
		if part.Result != nil {
			msg.Role = llm.ToolRole
		}
		msg.Parts = append(msg.Parts, part)
	}
	return msg, nil
}

func (p *geminiPart) toPart() (llm.Part, error) {
	out := llm.Part{Signature: p.Signature}
	switch {
	case p.Call != nil:
		out.Call = &llm.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}
	case p.Response != nil:
		out.Result = &llm.ToolResult{ID: p.Response.ID, Name: p.Response.Name}
		for _, k := range slices.Sorted(maps.Keys(p.Response.Response)) {
			out.Result.Text += p.Response.Response[k]
			out.Result.Error = out.Result.Error || k == "error"
		}
	case p.Inline != nil:
		out.Image = &llm.Image{MIME: p.Inline.MIME, Data: p.Inline.Data}
	case p.Text != nil:
		out.Text = *p.Text
	default:
		return out, fmt.Errorf("required oneof field 'data' must have one initialized field")
	}
	return out, nil
}

func geminiStop(a *Answer) string {
	switch {
	case a.Stop == "length", a.Fault == CutArgs && a.Stop == "":
		return "MAX_TOKENS"
	case a.Stop == "refusal":
		return "SAFETY"
	case a.Stop != "":
		return a.Stop
	}
	return "STOP" // Gemini sends STOP even if there are calls
}

func geminiUsage(r *Request, a *Answer) string {
	u := a.usageFor(len(r.Body))
	if !u.Known {
		return ""
	}
	return fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"cachedContentTokenCount":%d,"totalTokenCount":%d}`,
		u.Input, u.Output, u.CacheRead, u.Input+u.Output)
}

// geminiParts encodes an answer as parts. Calls and images are not split. A signature is sent with
// the first call or, if there are no calls, with an empty text at the end.
func geminiParts(a *Answer, pieces int, id func() string) []string {
	var out []string
	for _, p := range splitRunes(a.Reasoning, pieces) {
		out = append(out, `{"text":`+quoteJSON(p)+`,"thought":true}`)
	}
	for _, p := range splitRunes(a.Text, pieces) {
		out = append(out, `{"text":`+quoteJSON(p)+`}`)
	}
	for _, i := range a.Images {
		out = append(out, `{"inlineData":{"mimeType":`+quoteJSON(i.MIME)+`,"data":"`+base64.StdEncoding.EncodeToString(i.Data)+`"}}`)
	}
	signature := ""
	if a.Signature != "" {
		signature = `,"thoughtSignature":` + quoteJSON(a.Signature)
	}
	for _, c := range a.wireCalls(id) {
		args, ident := c.Args, ""
		if c.ID != "" {
			ident = `"id":` + quoteJSON(c.ID) + `,`
		}
		switch {
		case args == "":
			args = ""
		case json.Valid([]byte(args)):
			args = `,"args":` + args
		default: // invalid JSON cannot be sent unchanged
			args = `,"args":` + quoteJSON(args)
		}
		out = append(out, `{"functionCall":{`+ident+`"name":`+quoteJSON(c.Name)+args+`}`+signature+`}`)
		signature = ""
	}
	if signature != "" {
		out = append(out, `{"text":""`+signature+`}`)
	}
	return out
}

func geminiChunk(r *Request, parts []string, rest string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"},"index":0` + rest +
		`,"modelVersion":` + quoteJSON(r.Model) + `,"responseId":"r1"}`
}

// geminiFrames encodes an answer as stream events. There is no end marker.
func geminiFrames(r *Request, a *Answer, id func() string) []frame {
	var out []frame
	for _, p := range geminiParts(a, a.pieceCount(), id) {
		out = append(out, frame{delta: true, data: geminiChunk(r, []string{p}, `}]`)})
	}
	return append(out, frame{data: geminiChunk(r, []string{`{"text":""}`}, `,"finishReason":`+quoteJSON(geminiStop(a))+`}]`+geminiUsage(r, a))})
}

// geminiJSON encodes an answer that is not streamed.
func geminiJSON(r *Request, a *Answer, id func() string) string {
	return geminiChunk(r, geminiParts(a, 1, id), `,"finishReason":`+quoteJSON(geminiStop(a))+`}]`+geminiUsage(r, a))
}
