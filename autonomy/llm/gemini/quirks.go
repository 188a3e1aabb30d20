package gemini

import (
	"net/http"
	"strings"
)

// quirk is a feature that a server or a model does not support, or supports in a different form. A
// Model learns quirks from refusals and remembers them.
type quirk uint32

const (
	noTools           quirk = 1 << iota // rejects tools
	noImages                            // rejects pictures
	noSystem                            // rejects a system instruction (Gemma)
	noThinking                          // rejects thinkingConfig
	noIDs                               // rejects call ids (Vertex AI)
	noFormat                            // rejects structured answers
	noFormatWithTools                   // rejects a format together with tools (before Gemini 3)
	reducedSchema                       // supports only OpenAPI schemas (older proxies)
	wantsSignature                      // requires a signature on each first call (Gemini 3)
)

func (m *Model) knownQuirks() quirk { return quirk(m.quirks.Load()) }
func (m *Model) addQuirk(q quirk)   { m.quirks.Or(uint32(q)) }

// findRefused returns which part of a request an error response rejects. It returns 0 if no part
// can be omitted or written differently. The messages are:
//
//	Function calling is not enabled for models/gemini-2.5-flash-image
//	Tool use with function calling is unsupported
//	Developer instruction is not enabled for models/gemma-3-27b-it
//	Image input modality is not enabled for models/gemma-3-1b-it
//	Thinking is not enabled for models/gemini-2.0-flash-lite
//	JSON mode is not enabled for models/gemma-3-27b-it
//	Function calling with a response mime type: 'application/json' is unsupported
//	Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0].function_declarations[0]': Cannot find field.
//	Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.
//	Function call is missing a thought_signature in functionCall parts.
func findRefused(status int, message string, sent request, q quirk) quirk {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return 0
	}
	s := strings.ToLower(message)
	format := sent.Generate.MIME != ""
	switch {
	case containsAny(s, "thought_signature", "thoughtsignature", "thought signature") && containsAny(s, "missing") && sent.unsigned:
		return wantsSignature &^ q
	case !containsAny(s, "unknown name", "not enabled", "not support", "unsupported", "does not support", "cannot find field", "not allowed"):
		return 0
	case containsAny(s, "jsonschema", "json_schema") && (format || len(sent.Tools) > 0) && q&reducedSchema == 0:
		return reducedSchema
	case containsAny(s, `"id"`):
		return noIDs &^ q
	case containsAny(s, "response mime type", "json mode", "responsemimetype", "response_mime_type", "response schema", "responseschema", "response_schema") && format:
		if len(sent.Tools) > 0 && q&noFormatWithTools == 0 {
			return noFormatWithTools
		}
		return noFormat
	case containsAny(s, "thinking", "includethoughts") && sent.Generate.Thinking != nil:
		return noThinking
	case containsAny(s, "developer instruction", "system instruction", "systeminstruction", "system_instruction") && sent.System != nil:
		return noSystem
	case containsAny(s, "function", "tool") && len(sent.Tools) > 0:
		return noTools
	case containsAny(s, "image") && sent.images:
		return noImages
	}
	return 0
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
