package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
)

// API is a wire format.
type API string

// Values of API.
const (
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
	Gemini    API = "gemini"
	InProcess API = "" // used by Scripted
)

// Request is one recorded model call.
type Request struct {
	API    API
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time

	Model     string
	System    string
	Messages  []llm.Message // without the system message
	Tools     []llm.Tool
	NoTools   bool // whether tool_choice was "none"
	Stream    bool
	MaxTokens int
	Format    json.RawMessage // the schema of a structured answer
	forced    string          // the tool that replaces the schema

	LastUser string           // text of the last user message
	Results  []llm.ToolResult // tool results after the last user message, in order
	Round    int              // number of assistant messages after the last user message: 0 in the first call of a turn
}

// deriveFields sets the fields that are derived from the messages.
func (r *Request) deriveFields() {
	last := -1
	for i, m := range r.Messages {
		if m.Role == llm.User && textOf(m) != "" {
			last = i
		}
	}
	if last >= 0 {
		r.LastUser = textOf(r.Messages[last])
	}
	for _, m := range r.Messages[last+1:] {
		if m.Role == llm.Assistant {
			r.Round++
		}
		for _, p := range m.Parts {
			if p.Result != nil {
				r.Results = append(r.Results, *p.Result)
			}
		}
	}
}

func textOf(m llm.Message) string {
	var parts []string
	for _, p := range m.Parts {
		if p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// HasTool reports whether a tool was offered.
func (r *Request) HasTool(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// checkPairs checks a requirement of all providers: the results of an assistant's calls follow the
// calls immediately, with one result for each call, and each result belongs to a call.
func checkPairs(messages []llm.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		results := 0
		for _, p := range m.Parts {
			if p.Result == nil {
				continue
			}
			if !open[p.Result.ID] {
				return fmt.Errorf("messages.%d: the tool result %q has no tool call in the message before", i, p.Result.ID)
			}
			delete(open, p.Result.ID)
			results++
		}
		if len(open) > 0 && results == 0 {
			return fmt.Errorf("messages.%d: tool calls without tool results right after them: %v", i, slices.Sorted(maps.Keys(open)))
		}
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			if open[p.Call.ID] {
				return fmt.Errorf("messages.%d: two tool calls have the id %q", i, p.Call.ID)
			}
			open[p.Call.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("tool calls without tool results: %v", slices.Sorted(maps.Keys(open)))
	}
	return nil
}
