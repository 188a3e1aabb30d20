package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// chatMessage is a message in the agent's own conversation with its model.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// chatCall is a call of one of Hob's tools by the agent's model.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// maxRounds is the maximum number of calls of the model in a prompt.
const maxRounds = 20

// callModel calls the model server (Chat Completions) set with the option script, as a real agent
// would, and returns its answer. The request has the tools of the session's MCP server, if there is
// one.
func (t *turn) callModel() (sdk.PromptResponse, error) {
	t.history = append(t.history, chatMessage{Role: "user", Content: strings.Join(t.blocks, "\n\n")})
	var offered []map[string]any
	known := map[string]bool{}
	s, err := t.connectTools()
	if err == nil {
		defer func() { _ = s.Close() }()
		for tool, err := range s.Tools(t.ctx, nil) {
			if err != nil {
				return sdk.PromptResponse{}, sdk.NewInternalError(err.Error())
			}
			known[tool.Name] = true
			offered = append(offered, map[string]any{"type": "function", "function": map[string]any{"name": tool.Name, "description": tool.Description, "parameters": tool.InputSchema}})
		}
	}
	for range maxRounds {
		answer, err := t.completeChat(offered)
		if err != nil {
			return sdk.PromptResponse{}, sdk.NewInternalError(fmt.Sprintf("%v; the last message was %q", err, t.history[len(t.history)-1].Content))
		}
		answer.Role = "assistant"
		t.history = append(t.history, answer)
		t.sayText(answer.Content)
		if len(answer.ToolCalls) == 0 {
			break
		}
		for _, c := range answer.ToolCalls {
			name, args := c.Function.Name, c.Function.Arguments
			if !known[name] && json.Valid([]byte(args)) { // as an agent that found the tool would call it
				name, args = "use_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
			}
			t.history = append(t.history, chatMessage{Role: "tool", ToolCallID: c.ID, Content: t.callOver(s, name, args)})
		}
	}
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}

func (t *turn) completeChat(offered []map[string]any) (answer chatMessage, err error) {
	request := map[string]any{"model": "scripted", "messages": t.history}
	if len(offered) > 0 {
		request["tools"] = offered
	}
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.script+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Authorization", "Bearer "+t.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return answer, err
	}
	var out struct {
		Choices []struct{ Message chatMessage }
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &out) != nil || len(out.Choices) == 0 {
		return answer, fmt.Errorf("my model server says %s: %s", resp.Status, text)
	}
	return out.Choices[0].Message, nil
}
