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

// handle processes the agent's requests and notifications: notifications sequentially, requests
// concurrently.
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

// listen sets the current turn; nil for none.
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
		c.log.Debug("update not decoded", "err", err)
		return
	}
	t := c.talking(u.SessionID)
	if t == nil {
		return // the history of a session being loaded, or a late update: ignored
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
			c.log.Debug("tool call not decoded", "err", err)
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
		t.in.poke() // signals activity
	}
}

// maxPicture is the maximum size of a picture from an agent, in bytes.
const maxPicture = 8 << 20

// said processes a piece of the agent's text.
func (t *talk) said(kind llm.Kind, raw json.RawMessage) {
	var b sdk.ContentBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		t.o.Log.Debug("content block not decoded", "err", err)
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

// textOf returns a content block as text.
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
