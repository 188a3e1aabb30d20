package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
)

// chunk is one stream event, or a complete answer that is not streamed.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  json.RawMessage `json:"object"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // set in an answer that is not streamed
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"` // sent by OpenRouter
}

type delta struct {
	Content          texts           `json:"content"`
	Refusal          texts           `json:"refusal"`
	ReasoningContent texts           `json:"reasoning_content"` // sent by DeepSeek, llama.cpp and vLLM
	Reasoning        texts           `json:"reasoning"`         // sent by OpenRouter, Ollama and newer versions of vLLM
	Details          details         `json:"reasoning_details"` // sent by OpenRouter
	Images           []picture       `json:"images"`            // sent by OpenRouter
	ToolCalls        []callDelta     `json:"tool_calls"`
	FunctionCall     *functionOfCall `json:"function_call"` // the predecessor of tool calls
}

type callDelta struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function functionOfCall  `json:"function"`
}

type functionOfCall struct {
	Name      texts           `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// argumentText returns the text of the piece: the value of a JSON string, or other JSON unchanged
// (an object, which is complete). whole reports whether the arguments are complete.
func (f functionOfCall) argumentText() (text string, whole bool) {
	raw := bytes.TrimSpace(f.Arguments)
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw), true
	}
	return llm.JSONText(raw), false
}

// texts is a string, null, or a list of contents (Mistral). Other values are ignored.
type texts struct {
	text     string
	thinking string
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	*t = texts{}
	switch raw[0] {
	case '"':
		return json.Unmarshal(raw, &t.text)
	case '[':
		var list []struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Thinking json.RawMessage `json:"thinking"`
		}
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		for _, p := range list {
			if p.Type != "thinking" {
				t.text += p.Text
				continue
			}
			var inner texts
			if json.Unmarshal(p.Thinking, &inner) == nil {
				t.thinking += inner.text
			}
		}
	}
	return nil
}

// picture is a picture in an answer, as a data URL.
type picture struct {
	ImageURL imageURL `json:"image_url"`
}

// decodeImage decodes the picture. It does not fetch pictures from remote addresses.
func (p picture) decodeImage() (llm.Image, bool) {
	head, data, ok := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(head, "image/") {
		return llm.Image{}, false
	}
	b, err := base64.StdEncoding.DecodeString(data)
	return llm.Image{MIME: head, Data: b}, err == nil && len(b) > 0
}

// parseUsage parses token counts. It returns nil if the server sent none.
func parseUsage(raw json.RawMessage) *llm.Usage {
	var u struct {
		Prompt     *float64 `json:"prompt_tokens"`
		Completion float64  `json:"completion_tokens"`
		Details    struct {
			Cached     float64 `json:"cached_tokens"`
			CacheWrite float64 `json:"cache_write_tokens"` // sent by OpenRouter
		} `json:"prompt_tokens_details"`
		CacheHit float64 `json:"prompt_cache_hit_tokens"` // sent by DeepSeek
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Prompt == nil {
		return nil
	}
	return &llm.Usage{
		Input: llm.TokenCount(*u.Prompt), Output: llm.TokenCount(u.Completion), Known: true,
		CacheRead: llm.TokenCount(max(u.Details.Cached, u.CacheHit)), CacheWrite: llm.TokenCount(u.Details.CacheWrite),
	}
}

// parseStop converts a finish reason. Unknown reasons are not errors, because servers invent them
// ("eos", "stop_sequence", "abort").
func parseStop(reason string) llm.StopReason {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "max_length", "model_length", "model_context_window_exceeded":
		return llm.MaxTokens
	case "content_filter", "refusal", "safety", "sensitive", "recitation":
		return llm.Refused
	}
	return llm.EndTurn
}
