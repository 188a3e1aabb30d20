package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"hob/autonomy/llm"
)

// quirk is something a server does not take, or wants otherwise. A Model learns
// quirks from refusals and keeps them.
type quirk uint32

const (
	noTools          quirk = 1 << iota // refuses tools
	noToolChoice                       // refuses tool_choice
	noStreamOptions                    // refuses stream_options
	noImages                           // refuses pictures
	completionTokens                   // wants max_completion_tokens, not max_tokens
	noMaxTokens                        // refuses both
	noReasoning                        // refuses reasoning_content in messages
	bareBase                           // has no /v1
	ownServer                          // is OpenAI's own, which is strict about unknown fields
)

func (m *Model) known() quirk  { return quirk(m.quirks.Load()) }
func (m *Model) learn(q quirk) { m.quirks.Or(uint32(q)) }

// refusal finds out which part of a request an error response complains about.
// It returns 0 when nothing can be left out or said otherwise. Messages vary:
//
//	Ollama      registry.ollama.ai/library/gemma:2b does not support tools
//	vLLM        "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set
//	llama.cpp   tools param requires --jinja flag
//	OpenRouter  No endpoints found that support tool use / image input
//	OpenAI      Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
//	FastAPI     body.stream_options: Extra inputs are not permitted
func refusal(status int, message string, sent request, q quirk) quirk {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return 0
	}
	s := strings.ToLower(message)
	if !refuses(s) {
		return 0
	}
	switch {
	case strings.Contains(s, "stream_options") && sent.StreamOptions != nil:
		return noStreamOptions
	case strings.Contains(s, "reasoning_content") && q&noReasoning == 0:
		return noReasoning
	case strings.Contains(s, "max_completion_tokens") && sent.MaxTokens > 0 && q&completionTokens == 0:
		return completionTokens
	case (strings.Contains(s, "max_tokens") || strings.Contains(s, "max_completion_tokens")) && sent.MaxTokens+sent.MaxCompletionTokens > 0:
		return noMaxTokens
	case strings.Contains(s, "tool_choice") && sent.ToolChoice != "":
		return noToolChoice
	case strings.Contains(s, "tool") && len(sent.Tools) > 0:
		return noTools
	case strings.Contains(s, "image") && sent.images:
		return noImages
	}
	return 0
}

func refuses(s string) bool {
	for _, w := range []string{
		"support", "not permitted", "not allowed", "extra_forbidden", "unrecognized", "unknown", "unexpected",
		"--enable-auto-tool-choice", "--jinja", "--mmproj", "mmproj", "not enabled", "instead",
	} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// statusError reads an error response.
func (m *Model) statusError(resp *http.Response) *llm.Error {
	code, message := m.readStatus(resp)
	return m.wire.StatusError(resp.StatusCode, resp.Header, code, message)
}

func (m *Model) readStatus(resp *http.Response) (code, message string) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && len(body) == 0 {
		return "", ""
	}
	return parseError(body)
}

// parseError reads the many shapes of an error:
//
//	{"error":{"message":"...","type":"...","code":"..."}}     OpenAI, most others
//	{"error":{"message":"...","metadata":{"raw":"..."}}}      OpenRouter, of the provider behind it
//	{"error":"..."}                                          Ollama, LM Studio
//	{"object":"error","message":"...","code":400}             vLLM
//	{"detail":"..."} or {"detail":[{"msg":"...","loc":[]}]}    FastAPI
//	[{"error":{...}}]                                        Gemini
func parseError(body []byte) (code, message string) {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "[") {
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
			text = string(list[0])
		}
	}
	if strings.HasPrefix(text, "<") {
		return "", "" // a web page says nothing that the status does not
	}
	var top struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	if json.Unmarshal([]byte(text), &top) != nil {
		return "", text
	}
	if len(top.Error) > 0 && top.Error[0] == '{' {
		return parseErrorObject(top.Error)
	}
	code = firstWord(top.Code, top.Type)
	for _, raw := range []json.RawMessage{top.Error, top.Message, top.Detail} {
		if s := word(raw); s != "" {
			return code, s
		}
	}
	return code, text
}

func parseErrorObject(raw json.RawMessage) (code, message string) {
	var e struct {
		Message  json.RawMessage `json:"message"`
		Type     json.RawMessage `json:"type"`
		Code     json.RawMessage `json:"code"`
		Status   json.RawMessage `json:"status"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &e) // what can be read is kept
	message = word(e.Message)
	if behind := word(e.Metadata.Raw); behind != "" {
		message += ": " + behind
	}
	if message == "" {
		message = string(raw)
	}
	code = firstWord(e.Code, e.Type, e.Status)
	if t := word(e.Type); t != "" && t != code {
		code += " " + t
	}
	return code, message
}

func firstWord(list ...json.RawMessage) string {
	for _, raw := range list {
		if s := word(raw); s != "" {
			return s
		}
	}
	return ""
}

// word is a JSON string's value, or any other JSON as it stands, "" for null.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}
