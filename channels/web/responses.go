package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/api"
)

// The part of the Responses API that a chat client needs (reference: https://www.openresponses.org
// and https://platform.openai.com/docs/api-reference/responses). Fields that configure a model are
// ignored, because Hob chooses its model. Hob does not use tools of the client.

// responsesRequest is the body of POST /v1/responses.
type responsesRequest struct {
	Input              json.RawMessage `json:"input"` // text, or a list of items
	Instructions       string          `json:"instructions,omitempty"`
	PreviousResponseID string          `json:"previous_response_id,omitempty"`
	Stream             bool            `json:"stream,omitempty"`
	Background         bool            `json:"background,omitempty"`
	Metadata           json.RawMessage `json:"metadata,omitempty" schema:"type=object,null"`
	// Conversation and Prompt are rejected: they refer to objects that Hob does not store.
	Conversation json.RawMessage `json:"conversation,omitempty"`
	Prompt       json.RawMessage `json:"prompt,omitempty" schema:"type=object,null"`
}

// responseItem is one item of the input. Items without a type are messages.
type responseItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

const responsePrefix = "resp_" // followed by the id of the event

// decodeResponses decodes a request. Only the last user message counts as the owner's words.
func decodeResponses(b []byte) (responsesRequest, chatInput, error) {
	var req responsesRequest
	if err := unmarshalOne(b, &req, false); err != nil {
		return req, chatInput{}, err
	}
	switch {
	case req.Background:
		return req, chatInput{}, newFailure(http.StatusBadRequest, "invalid", "send the request without background, or use POST /api/v1/sessions/{session}/messages with async", "background responses are not supported")
	case isSet(req.Conversation):
		return req, chatInput{}, newFailure(http.StatusBadRequest, "invalid", "use previous_response_id or the header X-Hob-Session", "conversations are not supported")
	case isSet(req.Prompt):
		return req, chatInput{}, newFailure(http.StatusBadRequest, "invalid", "put the text into instructions", "stored prompts are not supported")
	}
	messages, err := req.inputMessages()
	if err != nil {
		return req, chatInput{}, err
	}
	in := chatInput{stream: req.Stream}
	if req.Instructions != "" {
		in.outside = append(in.outside, "instructions: "+req.Instructions)
	}
	return req, in, in.addMessages("input", messages)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// inputMessages converts the input into messages.
func (q responsesRequest) inputMessages() ([]chatMessage, error) {
	var text string
	if json.Unmarshal(q.Input, &text) == nil {
		return []chatMessage{{Role: "user", Content: q.Input}}, nil
	}
	var items []responseItem
	if err := json.Unmarshal(q.Input, &items); err != nil || items == nil {
		return nil, newFailure(http.StatusBadRequest, "invalid", `send "input": "..." or "input": [{"role": "user", "content": "..."}]`, "input must be text or a list of items")
	}
	out := make([]chatMessage, 0, len(items))
	for i, item := range items {
		m := chatMessage{Role: item.Role, Content: item.Content}
		switch item.Type {
		case "", "message":
			if item.Role == "" {
				return nil, invalidFailure("input[%d]: the role is missing", i)
			}
		case "function_call":
			m = chatMessage{Role: "assistant", Content: jsonText(fmt.Sprintf("[called %s %s]", item.Name, item.Arguments))}
		case "function_call_output":
			m = chatMessage{Role: "tool", Content: item.Output}
		case "reasoning": // reasoning of another model
			continue
		default:
			return nil, invalidFailure("input[%d]: items of type %q are not supported; send messages", i, item.Type)
		}
		out = append(out, m)
	}
	return out, nil
}

// jsonText returns s as a JSON string.
func jsonText(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string can always be encoded
	return b
}

// responseSession returns the session of a request: that of the previous response, the one in the
// header, or a new one.
func (s *Server) responseSession(r *http.Request, previous string) (string, error) {
	named := r.Header.Get("X-Hob-Session")
	if previous == "" {
		if named == "" {
			named = newResponseSession(r.Header.Get("Idempotency-Key"))
		}
		return sessionID(named)
	}
	unknown := newFailure(http.StatusNotFound, "not_found", "leave out previous_response_id to begin a new conversation", "there is no response %q", previous)
	event, ok := strings.CutPrefix(previous, responsePrefix)
	if !ok {
		return "", unknown
	}
	st, err := s.backend.Event(r.Context(), event)
	if errors.Is(err, api.ErrNotFound) || err == nil && st.Session == "" {
		return "", unknown
	}
	if err == nil && named != "" && named != st.Session {
		return "", invalidFailure("response %q does not belong to the session %q", previous, named)
	}
	return st.Session, err
}

// newResponseSession returns the name of a new session. The same idempotency key always results in
// the same session, because keys are unique only within a session.
func newResponseSession(key string) string {
	if key == "" {
		key = rand.Text()
	}
	sum := sha256.Sum256([]byte(key))
	return "openai-" + hex.EncodeToString(sum[:8])
}

// serveResponses implements the Responses endpoint for OpenAI clients.
func (s *Server) serveResponses(w http.ResponseWriter, r *http.Request, _ call) error {
	b, err := s.rawJSON(w, r)
	if err != nil {
		return err
	}
	req, c, err := decodeResponses(b)
	if err != nil {
		return err
	}
	session, err := s.responseSession(r, req.PreviousResponseID)
	if err != nil {
		return err
	}
	in, err := s.ownerInbound(r, session, c.text, "")
	if err != nil {
		return err
	}
	in.Via = "openai"
	in.Outside, in.Images = c.outside, c.images
	if c.stream {
		return s.streamAppending(w, r, in, func(out *sse, event string) appendingClient {
			return &responseClient{sse: out, response: newResponse(req, event)}
		})
	}
	st, err := s.runTurn(r, in)
	if err != nil {
		return err
	}
	response := newResponse(req, st.ID)
	response.setAnswer(answerOrQuestion(st), st.Usage)
	s.writeJSON(w, http.StatusOK, response)
	return nil
}

// response is the resource of the Responses API. Fields that Hob does not use have the values that
// the API prescribes for their absence.
type response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"` // Unix time in seconds
	CompletedAt        *int64            `json:"completed_at"`
	Status             string            `json:"status" schema:"enum=in_progress|completed|failed"`
	IncompleteDetails  *struct{}         `json:"incomplete_details"`
	Model              string            `json:"model"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Instructions       *string           `json:"instructions"`
	Output             []responseMessage `json:"output" schema:"notnull"`
	Error              *responseError    `json:"error"`
	Tools              []struct{}        `json:"tools" schema:"notnull"`
	ToolChoice         string            `json:"tool_choice"`
	Truncation         string            `json:"truncation"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	Text               responseFormat    `json:"text"`
	TopP               float64           `json:"top_p"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	TopLogprobs        int               `json:"top_logprobs"`
	Temperature        float64           `json:"temperature"`
	Reasoning          *struct{}         `json:"reasoning"`
	Usage              *responseUsage    `json:"usage"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Store              bool              `json:"store"`
	Background         bool              `json:"background"`
	ServiceTier        string            `json:"service_tier"`
	Metadata           json.RawMessage   `json:"metadata" schema:"type=object,null"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
}

// responseMessage is the assistant's message in a response.
type responseMessage struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Status  string         `json:"status" schema:"enum=in_progress|completed"`
	Role    string         `json:"role"`
	Content []responsePart `json:"content" schema:"notnull"`
}

// responsePart is the text of a message.
type responsePart struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations" schema:"notnull"`
	Logprobs    []struct{} `json:"logprobs" schema:"notnull"`
}

// responseError is the reason of a failed response.
type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// responseFormat is the format of the text, always {"format": {"type": "text"}}.
type responseFormat struct {
	Format struct {
		Type string `json:"type"`
	} `json:"format"`
}

// responseUsage is the number of tokens that a response has used.
type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// newResponse returns the response to a request before the turn of event has ended.
func newResponse(req responsesRequest, event string) *response {
	r := &response{
		ID: responsePrefix + event, Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress", Model: modelName,
		Output: []responseMessage{}, Tools: []struct{}{}, ToolChoice: "none", Truncation: "disabled", TopP: 1, Temperature: 1, Store: true,
		ServiceTier: "default", Metadata: json.RawMessage("{}"),
	}
	r.Text.Format.Type = "text"
	if req.PreviousResponseID != "" {
		r.PreviousResponseID = &req.PreviousResponseID
	}
	if req.Instructions != "" {
		r.Instructions = &req.Instructions
	}
	if isSet(req.Metadata) {
		r.Metadata = req.Metadata
	}
	return r
}

// assistantMessage returns the assistant's message with the given text.
func (r *response) assistantMessage(status string, parts ...responsePart) responseMessage {
	if parts == nil {
		parts = []responsePart{}
	}
	return responseMessage{ID: "msg_" + strings.TrimPrefix(r.ID, responsePrefix), Type: "message", Status: status, Role: "assistant", Content: parts}
}

func textPart(text string) responsePart {
	return responsePart{Type: "output_text", Text: text, Annotations: []struct{}{}, Logprobs: []struct{}{}}
}

// setAnswer sets the answer. usage is an api.EventStatus.Usage.
func (r *response) setAnswer(text string, usage json.RawMessage) {
	var u api.TokenUsage
	_ = json.Unmarshal(usage, &u) // null if no model was called
	r.Status, r.CompletedAt = "completed", new(time.Now().Unix())
	r.Output = []responseMessage{r.assistantMessage("completed", textPart(text))}
	r.Usage = &responseUsage{Input: u.Input, Output: u.Output, Total: u.Input + u.Output}
	r.Usage.InputDetails.Cached = u.CacheRead
}

// responseClient writes the events of the Responses API.
type responseClient struct {
	*sse
	response *response
	number   int // number of the next event
	text     strings.Builder
}

// responseEvent is one event of a stream. Each kind of event has some of the fields.
type responseEvent struct {
	Type           string           `json:"type"`
	SequenceNumber int              `json:"sequence_number"`
	Response       *response        `json:"response,omitempty"`
	OutputIndex    *int             `json:"output_index,omitempty"`
	ContentIndex   *int             `json:"content_index,omitempty"`
	ItemID         string           `json:"item_id,omitempty"`
	Item           *responseMessage `json:"item,omitempty"`
	Part           *responsePart    `json:"part,omitempty"`
	Delta          string           `json:"delta,omitempty"`
	Text           *string          `json:"text,omitempty"`
	Logprobs       []struct{}       `json:"logprobs,omitzero"`
}

func (c *responseClient) writeEvents(events ...responseEvent) error {
	for _, e := range events {
		e.SequenceNumber = c.number
		c.number++
		if err := c.sse.writeEvent(0, e.Type, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *responseClient) itemEvent(kind, status string, parts ...responsePart) responseEvent {
	return responseEvent{Type: kind, OutputIndex: new(0), Item: new(c.response.assistantMessage(status, parts...))}
}

func (c *responseClient) partEvent(kind string) responseEvent {
	return responseEvent{Type: kind, OutputIndex: new(0), ContentIndex: new(0), ItemID: c.response.assistantMessage("").ID}
}

func (c *responseClient) writeStart() error {
	added := c.partEvent("response.content_part.added")
	added.Part = new(textPart(""))
	return c.writeEvents(
		responseEvent{Type: "response.created", Response: c.response}, responseEvent{Type: "response.in_progress", Response: c.response},
		c.itemEvent("response.output_item.added", "in_progress"), added,
	)
}

func (c *responseClient) writeText(text string) error {
	c.text.WriteString(text)
	delta := c.partEvent("response.output_text.delta")
	delta.Delta, delta.Logprobs = text, []struct{}{}
	return c.writeEvents(delta)
}

func (c *responseClient) writeEnd(usage json.RawMessage) error {
	text := c.text.String()
	c.response.setAnswer(text, usage)
	textDone, partDone := c.partEvent("response.output_text.done"), c.partEvent("response.content_part.done")
	textDone.Text, textDone.Logprobs = &text, []struct{}{}
	partDone.Part = new(textPart(text))
	return c.writeEvents(
		textDone, partDone, c.itemEvent("response.output_item.done", "completed", textPart(text)),
		responseEvent{Type: "response.completed", Response: c.response},
	)
}

func (c *responseClient) writeFailure(why *failure) error {
	c.response.Status = "failed"
	c.response.Error = &responseError{Code: why.Code, Message: why.Message}
	return c.writeEvents(responseEvent{Type: "response.failed", Response: c.response})
}
