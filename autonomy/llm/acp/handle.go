package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
)

// handleMessage processes the agent's requests and notifications. Notifications are processed in
// sequence, requests concurrently.
func (c *child) handleMessage(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.ClientMethodSessionUpdate:
		defer c.releaseSlot()
		c.handleUpdate(params)
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		return c.handlePermission(ctx, params)
	}
	// Neither files nor terminals were offered; see initializeConnection.
	defer c.releaseSlot() // a notification holds a slot
	return nil, sdk.NewMethodNotFound(method)
}

// setTurn sets the current turn; nil means that there is none.
func (c *child) setTurn(ctx context.Context, t *promptTurn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk = t
	if t != nil {
		t.ctx = ctx
	}
}

func (c *child) turnOf(session string) *promptTurn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.talk == nil || string(c.talk.id) != session {
		return nil
	}
	return c.talk
}

// update is a session update; see https://agentclientprotocol.com/protocol/schema#sessionupdate.
type update struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"` // a block, or the contents of a call
		Entries []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"entries"`
		ModeID string `json:"currentModeId"`
	} `json:"update"`
}

func (c *child) handleUpdate(params json.RawMessage) {
	c.heard.Add(1)
	var u update
	if err := json.Unmarshal(params, &u); err != nil {
		c.log.Debug("update not decoded", "err", err)
		return
	}
	t := c.turnOf(u.SessionID)
	if t == nil {
		return // ignore the history of a session that is being loaded, and late updates
	}
	switch u.Update.Kind {
	case "agent_message_chunk":
		t.takeContent(llm.TextDelta, u.Update.Content)
	case "agent_thought_chunk":
		t.takeContent(llm.ReasoningDelta, u.Update.Content)
	case "tool_call", "tool_call_update":
		var p struct {
			Update toolCall `json:"update"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			c.log.Debug("tool call not decoded", "err", err)
			return
		}
		t.recordCall(p.Update)
	case "plan":
		var lines []string
		for _, e := range u.Update.Entries[:min(20, len(u.Update.Entries))] {
			sign := map[string]string{"completed": "done: ", "in_progress": "now: "}[e.Status]
			lines = append(lines, sign+singleLine(e.Content, 100))
		}
		t.in.putItem(item{note: "plan: " + singleLine(strings.Join(lines, "; "), 600)})
	case "current_mode_update":
		t.in.putItem(item{note: "mode: " + singleLine(u.Update.ModeID, 60)})
	default:
		t.in.wakeReader() // any update is a sign of activity
	}
}

// maxPicture is the maximum size of a picture from an agent, in bytes.
const maxPicture = 8 << 20

// takeContent processes a piece of the agent's output.
func (t *promptTurn) takeContent(kind llm.EventKind, raw json.RawMessage) {
	var b sdk.ContentBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		t.o.Log.Debug("content block not decoded", "err", err)
		return
	}
	if b.Image != nil && kind == llm.TextDelta {
		data, err := base64.StdEncoding.DecodeString(b.Image.Data)
		if err == nil && len(data) <= maxPicture && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.Image.MimeType) {
			t.in.putItem(item{kind: llm.ImageDone, image: llm.Image{MIME: b.Image.MimeType, Data: data}})
			return
		}
	}
	if s := textOf(b); s != "" {
		t.in.putItem(item{kind: kind, text: []byte(strings.ToValidUTF8(s, "\uFFFD"))})
	}
}

// textOf returns the text of a content block.
func textOf(b sdk.ContentBlock) string {
	switch {
	case b.Text != nil:
		return b.Text.Text
	case b.ResourceLink != nil:
		return "[" + b.ResourceLink.Name + "](" + b.ResourceLink.Uri + ")"
	case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
		return b.Resource.Resource.TextResourceContents.Text
	case b.Image != nil:
		return "[a picture]"
	case b.Audio != nil:
		return "[a sound]"
	case b.Resource != nil:
		return "[a file]"
	}
	return ""
}
