package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"hob/autonomy/api"
	"hob/channels"
)

// chatSink encodes a turn as chat.completion.chunk objects. These clients can only append, so a
// corrected answer is appended to the text already streamed.
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
		return nil // the client disconnected; the message is stored
	}
	c := &chatSink{sse: out, usage: usage, chunk: chatCompletion{
		ID: "chatcmpl-" + acc.Event, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: modelName,
	}}
	if c.writeDelta(chatReply{Role: "assistant"}, nil) != nil {
		return nil
	}
	st, err := s.followTurn(r, acc, sub, c)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil && st.State == "dead":
		err = turnFailure(st)
	}
	if err != nil {
		_ = c.writeData(failureOf(s.waitEndError(r, acc.Event, err)).errorBody())
	}
	c.b.WriteString("data: [DONE]\n\n")
	_ = c.flushEvents()
	return nil
}

func (c *chatSink) writeDelta(d chatReply, finish *string) error {
	c.chunk.Choices = []chatChoice{{Delta: &d, FinishReason: finish}}
	return c.writeData(c.chunk)
}

func (c *chatSink) writeText(t string) error {
	if t == "" {
		return nil
	}
	c.wrote = true
	return c.writeDelta(chatReply{Content: t}, nil)
}

func (c *chatSink) sendEvent(kind string, data any) error {
	switch kind {
	case "content_delta":
		t, _ := data.(struct {
			Text string `json:"text"`
		})
		return c.writeText(t.Text)
	case "approval_required":
		var a api.Approval
		raw, _ := data.(json.RawMessage)
		_ = json.Unmarshal(raw, &a) // show the fields that could be decoded
		return c.writeText(c.separatorText() + approvalQuestion(a))
	case "message_end":
		return c.writeEnd(data)
	}
	return nil
}

// separatorText returns the separator between the streamed text and the text that follows.
func (c *chatSink) separatorText() string {
	if c.wrote {
		return "\n\n"
	}
	return ""
}

func (c *chatSink) writeEnd(data any) error {
	m, _ := data.(map[string]any)
	if replaced, _ := m["replaced"].(bool); replaced {
		answer, _ := m["answer"].(string)
		if err := c.writeText(c.separatorText() + answer); err != nil {
			return err
		}
	}
	if err := c.writeDelta(chatReply{}, new("stop")); err != nil {
		return err
	}
	if !c.usage {
		return nil
	}
	raw, _ := m["usage"].(json.RawMessage)
	c.chunk.Choices, c.chunk.Usage = []chatChoice{}, usageOf(raw)
	return c.writeData(c.chunk)
}

func (c *chatSink) sendPing() error { return c.writeComment("ping") }
