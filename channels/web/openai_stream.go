package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"hob/channels"
)

// chatSink encodes a turn as chat.completion.chunk objects. Such a client can only append, so
// a corrected answer follows the text already streamed.
type chatSink struct {
	*sse
	chunk chatCompletion
	usage bool
	wrote bool
}

// streamChat responds with a stream of chunks.
func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, in channels.Inbound, usage bool) error {
	sub := s.backend.Subscribe(0)
	defer sub.Close()
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return err
	}
	out, err := newSSE(w)
	if err != nil {
		return nil // client gone; the message is stored
	}
	c := &chatSink{sse: out, usage: usage, chunk: chatCompletion{
		ID: "chatcmpl-" + acc.Event, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: modelName,
	}}
	if c.delta(chatReply{Role: "assistant"}, nil) != nil {
		return nil
	}
	st, err := s.follow(r, acc, sub, c)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil && st.State == "dead":
		err = dead(st)
	}
	if err != nil {
		_ = c.data(struct {
			Error *failure `json:"error"`
		}{failureOf(s.cut(r, acc.Event, err))})
	}
	c.b.WriteString("data: [DONE]\n\n")
	_ = c.flush()
	return nil
}

func (c *chatSink) delta(d chatReply, finish *string) error {
	c.chunk.Choices = []chatChoice{{Delta: &d, FinishReason: finish}}
	return c.data(c.chunk)
}

func (c *chatSink) text(t string) error {
	if t == "" {
		return nil
	}
	c.wrote = true
	return c.delta(chatReply{Content: t}, nil)
}

func (c *chatSink) event(kind string, data any) error {
	switch kind {
	case "content_delta":
		t, _ := data.(struct {
			Text string `json:"text"`
		})
		return c.text(t.Text)
	case "approval_required":
		raw, _ := data.(json.RawMessage)
		return c.text(c.gap() + question(raw))
	case "message_end":
		return c.end(data)
	}
	return nil
}

// gap returns the separator between the streamed text and the next one.
func (c *chatSink) gap() string {
	if c.wrote {
		return "\n\n"
	}
	return ""
}

func (c *chatSink) end(data any) error {
	m, _ := data.(map[string]any)
	if replaced, _ := m["replaced"].(bool); replaced {
		answer, _ := m["answer"].(string)
		if err := c.text(c.gap() + answer); err != nil {
			return err
		}
	}
	if err := c.delta(chatReply{}, new("stop")); err != nil {
		return err
	}
	if !c.usage {
		return nil
	}
	raw, _ := m["usage"].(json.RawMessage)
	c.chunk.Choices, c.chunk.Usage = []chatChoice{}, usageOf(raw)
	return c.data(c.chunk)
}

func (c *chatSink) ping() error { return c.comment("ping") }
