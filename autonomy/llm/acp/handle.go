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

// handle takes the agent's requests and notifications. Notifications come one
// after another, requests beside them.
func (c *child) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.ClientMethodSessionUpdate:
		defer c.leave()
		c.update(params)
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		return c.permission(ctx, params)
	}
	// Neither files nor terminals were offered: see initialize.
	defer c.leave() // it may have been a notification
	return nil, sdk.NewMethodNotFound(method)
}

// listen says whose turn it is; nil: nobody's.
func (c *child) listen(ctx context.Context, t *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk = t
	if t != nil {
		t.ctx = ctx
	}
}

func (c *child) talking(session string) *talk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.talk == nil || string(c.talk.id) != session {
		return nil
	}
	return c.talk
}

// update is one of https://agentclientprotocol.com/protocol/schema#sessionupdate.
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

func (c *child) update(params json.RawMessage) {
	c.heard.Add(1)
	var u update
	if err := json.Unmarshal(params, &u); err != nil {
		c.log.Debug("an update cannot be read", "err", err)
		return
	}
	t := c.talking(u.SessionID)
	if t == nil {
		return // a session that is being loaded tells its past; what comes late is nobody's
	}
	switch u.Update.Kind {
	case "agent_message_chunk":
		t.said(llm.TextDelta, u.Update.Content)
	case "agent_thought_chunk":
		t.said(llm.ReasoningDelta, u.Update.Content)
	case "tool_call", "tool_call_update":
		var p struct {
			Update toolCall `json:"update"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			c.log.Debug("a tool call cannot be read", "err", err)
			return
		}
		t.called(p.Update)
	case "plan":
		var lines []string
		for _, e := range u.Update.Entries[:min(20, len(u.Update.Entries))] {
			sign := map[string]string{"completed": "done: ", "in_progress": "now: "}[e.Status]
			lines = append(lines, sign+printable(e.Content, 100))
		}
		t.in.put(item{note: "plan: " + printable(strings.Join(lines, "; "), 600)})
	case "current_mode_update":
		t.in.put(item{note: "mode: " + printable(u.Update.ModeID, 60)})
	default:
		t.in.poke() // it lives
	}
}

// maxPicture is how large a picture of an agent may be.
const maxPicture = 8 << 20

// said takes a piece of the agent's words.
func (t *talk) said(kind llm.Kind, raw json.RawMessage) {
	var b sdk.ContentBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		t.o.Log.Debug("a content block cannot be read", "err", err)
		return
	}
	if b.Image != nil && kind == llm.TextDelta {
		data, err := base64.StdEncoding.DecodeString(b.Image.Data)
		if err == nil && len(data) <= maxPicture && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.Image.MimeType) {
			t.in.put(item{kind: llm.ImageDone, image: llm.Image{MIME: b.Image.MimeType, Data: data}})
			return
		}
	}
	if s := textOf(b); s != "" {
		t.in.put(item{kind: kind, text: []byte(strings.ToValidUTF8(s, "\uFFFD"))})
	}
}

// textOf is a content block in words.
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
