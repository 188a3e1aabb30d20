package openai

import (
	"net/http"
	"strings"
)

// quirk is a feature that a server does not support, or supports in a different form. A Model
// learns quirks from refusals and remembers them.
type quirk uint32

const (
	noTools          quirk = 1 << iota // rejects tools
	noToolChoice                       // rejects tool_choice
	noStreamOptions                    // rejects stream_options
	noImages                           // rejects pictures
	completionTokens                   // requires max_completion_tokens instead of max_tokens
	noMaxTokens                        // rejects both names of the token limit
	noReasoning                        // rejects reasoning_content in messages
	bareBase                           // has no /v1 in its base URL
	noFormat                           // rejects response_format
	noModalities                       // rejects modalities
	ownServer                          // is OpenAI's own server, which rejects unknown fields
	ollamaVectors                      // computes embeddings only at the path of Ollama's own API
)

func (m *Model) knownQuirks() quirk { return quirk(m.quirks.Load()) }
func (m *Model) addQuirk(q quirk)   { m.quirks.Or(uint32(q)) }

// findRefused returns which part of a request an error response rejects. It returns 0 if no part
// can be omitted or written differently. The messages vary:
//
//	Ollama      registry.ollama.ai/library/gemma:2b does not support tools
//	vLLM        "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set
//	llama.cpp   tools param requires --jinja flag
//	OpenRouter  No endpoints found that support tool use / image input
//	OpenAI      Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
//	FastAPI     body.stream_options: Extra inputs are not permitted
func findRefused(status int, message string, sent request, q quirk) quirk {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return 0
	}
	s := strings.ToLower(message)
	if !isRefusal(s) {
		return 0
	}
	switch {
	case strings.Contains(s, "stream_options") && sent.StreamOptions != nil:
		return noStreamOptions
	case (strings.Contains(s, "response_format") || strings.Contains(s, "json_schema") || strings.Contains(s, "structured output")) && sent.Format != nil:
		return noFormat
	case strings.Contains(s, "modalities") && sent.Modalities != nil:
		return noModalities
	case (strings.Contains(s, "reasoning_content") || strings.Contains(s, "reasoning_details")) && q&noReasoning == 0:
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

func isRefusal(s string) bool {
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
