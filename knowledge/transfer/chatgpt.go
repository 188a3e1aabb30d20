package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hob/knowledge"
)

// chatGPTConversation is a conversation in a ChatGPT export: a tree of messages. Edited questions and
// regenerated answers create branches.
type chatGPTConversation struct {
	ID             string                 `json:"id"`
	ConversationID string                 `json:"conversation_id"`
	Title          string                 `json:"title"`
	CreateTime     float64                `json:"create_time"`
	CurrentNode    string                 `json:"current_node"`
	Mapping        map[string]chatGPTNode `json:"mapping"`
}

type chatGPTNode struct {
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  *struct {
		ID     string `json:"id"`
		Author struct {
			Role string `json:"role"`
			Name string `json:"name"`
		} `json:"author"`
		CreateTime float64 `json:"create_time"`
		Content    struct {
			ContentType string            `json:"content_type"`
			Parts       []json.RawMessage `json:"parts"`
			Text        string            `json:"text"`
		} `json:"content"`
		Metadata struct {
			Hidden bool `json:"is_visually_hidden_from_conversation"`
		} `json:"metadata"`
	} `json:"message"`
}

// maxNodes limits the size of one conversation.
const maxNodes = 100_000

func readChatGPT(r io.Reader, t recordFunc) error {
	return forEachElement(r, func(n int, raw json.RawMessage) error {
		var c chatGPTConversation
		where := fmt.Sprintf("conversation %d", n)
		if err := json.Unmarshal(raw, &c); err != nil {
			t.skip(where, err)
			return nil
		}
		c.ID = cmp.Or(c.ConversationID, c.ID)
		if c.ID == "" || len(c.Mapping) == 0 || len(c.Mapping) > maxNodes {
			t.skip(where, errors.New("the conversation has no id, no messages or too many messages"))
			return nil
		}
		return c.emitTurns(t)
	})
}

// emitTurns emits the active branch first, and then the messages that other branches add.
func (c chatGPTConversation) emitTurns(t recordFunc) error {
	done := map[string]bool{}
	main := c.pathToRoot(c.CurrentNode, done)
	if err := c.buildConversation(main, 0).emitTurns(t, 0); err != nil {
		return err
	}
	depth := len(main)
	branch := 0
	for _, leaf := range c.branchEnds() {
		if path := c.pathToRoot(leaf, done); len(path) > 0 {
			branch++
			if err := c.buildConversation(path, branch).emitTurns(t, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// branchEnds returns the ends of the branches, in a stable order.
func (c chatGPTConversation) branchEnds() (out []string) {
	for id, n := range c.Mapping {
		if len(n.Children) == 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// pathToRoot returns the nodes from the root, or from the first node that has not been read, to id.
func (c chatGPTConversation) pathToRoot(id string, done map[string]bool) (out []string) {
	for id != "" && !done[id] {
		n, ok := c.Mapping[id]
		if !ok {
			break
		}
		done[id] = true
		out = append(out, id)
		id = n.Parent
	}
	slices.Reverse(out)
	return out
}

func (c chatGPTConversation) buildConversation(path []string, branch int) conversation {
	out := conversation{program: knowledge.ByChatGPT, id: c.ID, title: c.Title, branch: branch}
	for _, id := range path {
		m := c.Mapping[id].Message
		if m == nil || m.Metadata.Hidden {
			continue
		}
		speaker := ""
		switch m.Author.Role {
		case "user":
			speaker = You
		case "assistant":
			speaker = knowledge.ByChatGPT
		default: // system messages and tool output
			continue
		}
		text := []string{}
		if m.Content.Text != "" && m.Content.ContentType != "code" {
			text = append(text, m.Content.Text)
		}
		for _, p := range m.Content.Parts {
			var s string
			if json.Unmarshal(p, &s) == nil && s != "" { // other parts are images and audio
				text = append(text, s)
			}
		}
		out.messages = append(out.messages, utterance{id: id, speaker: speaker, text: strings.Join(text, "\n"), at: parseUnixSeconds(cmp.Or(m.CreateTime, c.CreateTime))})
	}
	return out
}
