package gemini

import (
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
)

// chunk is one stream event, or a complete answer
// (https://ai.google.dev/api/generate-content#generatecontentresponse).
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage json.RawMessage `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []answerPart `json:"parts"`
	} `json:"content"`
	Reason  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

// answerPart is one part of an answer.
type answerPart struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Inline    *struct {
		MIME string `json:"mimeType"`
		Data []byte `json:"data"`
	} `json:"inlineData"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// parseUsage parses token counts. It returns nil if the server sent none. Google includes cached
// tokens in the prompt, and counts thoughts separately from the answer.
func parseUsage(raw json.RawMessage) *llm.Usage {
	var u struct {
		Prompt   *float64 `json:"promptTokenCount"`
		ToolUse  float64  `json:"toolUsePromptTokenCount"`
		Answer   float64  `json:"candidatesTokenCount"`
		Thoughts float64  `json:"thoughtsTokenCount"`
		Cached   float64  `json:"cachedContentTokenCount"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Prompt == nil {
		return nil
	}
	return &llm.Usage{
		Input: llm.TokenCount(*u.Prompt + u.ToolUse), Output: llm.TokenCount(u.Answer + u.Thoughts),
		CacheRead: llm.TokenCount(u.Cached), Known: true,
	}
}

// finishMeaning is the meaning of a finish reason.
type finishMeaning struct {
	stop llm.StopReason
	// broken reports that the model's output is unusable and a retry may help.
	broken bool
}

// parseReason converts a finish reason (https://ai.google.dev/api/generate-content#FinishReason).
// Unknown reasons are not errors, because Google adds new ones.
func parseReason(reason string) finishMeaning {
	switch strings.ToUpper(reason) {
	case "MAX_TOKENS", "LENGTH":
		return finishMeaning{stop: llm.MaxTokens}
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return finishMeaning{stop: llm.Refused}
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return finishMeaning{stop: llm.EndTurn, broken: true}
	}
	return finishMeaning{stop: llm.EndTurn}
}
