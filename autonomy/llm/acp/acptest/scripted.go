package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	sdk "github.com/coder/acp-go-sdk"
)

// chatMessage is a message in the agent's own conversation with its model.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// callModel calls the model server (Chat Completions) set with the option script, as a real agent
// would, and returns its answer. The request has no tools.
func (t *turn) callModel() (sdk.PromptResponse, error) {
	for _, b := range t.blocks {
		t.history = append(t.history, chatMessage{"user", b})
	}
	answer, err := t.completeChat()
	if err != nil {
		return sdk.PromptResponse{}, sdk.NewInternalError(err.Error())
	}
	t.history = append(t.history, chatMessage{"assistant", answer})
	t.sayText(answer)
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}

func (t *turn) completeChat() (string, error) {
	body, err := json.Marshal(map[string]any{"model": "scripted", "messages": t.history})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.script+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+t.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var out struct {
		Choices []struct{ Message chatMessage }
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &out) != nil || len(out.Choices) == 0 {
		return "", fmt.Errorf("my model server says %s: %s", resp.Status, text)
	}
	return out.Choices[0].Message.Content, nil
}
