package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"hob/autonomy/api"
	"hob/channels"
)

// appendingClient encodes a turn for a client of an OpenAI endpoint, which can only append text.
type appendingClient interface {
	writeStart() error
	writeText(text string) error
	writeEnd(usage json.RawMessage) error
	writeFailure(why *failure) error
}

// appendingSink passes the events of a turn to an appendingClient. A corrected answer is appended
// to the text already streamed.
type appendingSink struct {
	*sse
	client appendingClient
	wrote  bool
}

// streamAppending responds with a stream for the client that open returns. event is the id of the
// stored message.
func (s *Server) streamAppending(w http.ResponseWriter, r *http.Request, in channels.Inbound, open func(out *sse, event string) appendingClient) error {
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
	c := &appendingSink{sse: out, client: open(out, acc.Event)}
	if c.client.writeStart() != nil {
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
		_ = c.client.writeFailure(failureOf(s.waitEndError(r, acc.Event, err)))
	}
	c.b.WriteString("data: [DONE]\n\n")
	_ = c.flushEvents()
	return nil
}

func (c *appendingSink) writeText(text string) error {
	if text == "" {
		return nil
	}
	c.wrote = true
	return c.client.writeText(text)
}

func (c *appendingSink) sendEvent(kind string, data any) error {
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
		return c.sendEnd(data)
	}
	return nil
}

// separatorText returns the separator between the streamed text and the text that follows.
func (c *appendingSink) separatorText() string {
	if c.wrote {
		return "\n\n"
	}
	return ""
}

func (c *appendingSink) sendEnd(data any) error {
	m, _ := data.(map[string]any)
	if replaced, _ := m["replaced"].(bool); replaced {
		answer, _ := m["answer"].(string)
		if err := c.writeText(c.separatorText() + answer); err != nil {
			return err
		}
	}
	raw, _ := m["usage"].(json.RawMessage)
	return c.client.writeEnd(raw)
}

func (c *appendingSink) sendPing() error { return c.writeComment("ping") }

// chunkClient writes chat.completion.chunk objects.
type chunkClient struct {
	*sse
	chunk chatCompletion
	usage bool // the client requests a chunk with the usage
}

func (c *chunkClient) writeStart() error { return c.writeDelta(chatReply{Role: "assistant"}, nil) }

func (c *chunkClient) writeDelta(d chatReply, finish *string) error {
	c.chunk.Choices = []chatChoice{{Delta: &d, FinishReason: finish}}
	return c.writeData(c.chunk)
}

func (c *chunkClient) writeText(text string) error {
	return c.writeDelta(chatReply{Content: text}, nil)
}

func (c *chunkClient) writeEnd(usage json.RawMessage) error {
	if err := c.writeDelta(chatReply{}, new("stop")); err != nil || !c.usage {
		return err
	}
	c.chunk.Choices, c.chunk.Usage = []chatChoice{}, usageOf(usage)
	return c.writeData(c.chunk)
}

func (c *chunkClient) writeFailure(why *failure) error { return c.writeData(why.errorBody()) }
