package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/knowledge"
)

// claudeConversation is a conversation in a Claude export.
type claudeConversation struct {
	UUID      string `json:"uuid"`
	Name      string `json:"name"`
	CreatedAt string `json:"created_at"`
	Messages  []struct {
		UUID      string `json:"uuid"`
		Sender    string `json:"sender"`
		Text      string `json:"text"`
		CreatedAt string `json:"created_at"`
		Content   []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Attachments []struct {
			FileName string `json:"file_name"`
			Content  string `json:"extracted_content"`
		} `json:"attachments"`
	} `json:"chat_messages"`
}

func readClaude(r io.Reader, t recordFunc) error {
	return forEachElement(r, func(n int, raw json.RawMessage) error {
		var c claudeConversation
		where := fmt.Sprintf("conversation %d", n)
		if err := json.Unmarshal(raw, &c); err != nil {
			t.skip(where, err)
			return nil
		}
		if c.UUID == "" || len(c.Messages) > maxNodes {
			t.skip(where, errors.New("the conversation has no id or too many messages"))
			return nil
		}
		return c.buildConversation().emitTurns(t, 0)
	})
}

func (c claudeConversation) buildConversation() conversation {
	out := conversation{program: knowledge.ByClaude, id: c.UUID, title: c.Name}
	for i, m := range c.Messages {
		speaker := knowledge.ByClaude
		if m.Sender == "human" {
			speaker = You
		}
		var text []string
		for _, p := range m.Content {
			if p.Type == "text" && p.Text != "" {
				text = append(text, p.Text)
			}
		}
		if len(text) == 0 && m.Text != "" {
			text = append(text, m.Text)
		}
		for _, a := range m.Attachments {
			if a.Content != "" {
				text = append(text, "["+a.FileName+"]\n"+a.Content)
			}
		}
		out.messages = append(out.messages, utterance{
			id: cmp.Or(m.UUID, fmt.Sprint(i)), speaker: speaker, text: strings.Join(text, "\n"), at: parseTimestamp(cmp.Or(m.CreatedAt, c.CreatedAt)),
		})
	}
	return out
}

// parseTimestamp parses an RFC 3339 time. It returns the zero time for invalid input.
func parseTimestamp(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}
