package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels"
)

// The part of OpenAI's Chat Completions that a chat client needs (reference:
// https://platform.openai.com/docs/api-reference/chat). Fields that configure a model, such as
// temperature, are ignored, because Hob chooses its model.

type chatRequest struct {
	Messages      []chatMessage `json:"messages" schema:"notnull"`
	Stream        bool          `json:"stream,omitempty"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage,omitempty"`
	} `json:"stream_options,omitzero"`
	User string `json:"user,omitempty"`
	N    *int   `json:"n,omitempty" schema:"minimum=1,maximum=1"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Name    string          `json:"name,omitempty"`
	Content json.RawMessage `json:"content,omitempty"` // a string or a list of parts
	// ToolCalls and ToolCallID belong to the client's tools. Hob calls only its own tools; the
	// content of these fields is untrusted text.
	ToolCalls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

type chatPart struct {
	Type     string  `json:"type"`
	Text     string  `json:"text"`
	Refusal  string  `json:"refusal"`
	ImageURL partURL `json:"image_url"`
}

// partURL is the address of an image: a string in the Responses API, an object with the field url
// in Chat Completions.
type partURL string

// UnmarshalJSON accepts both forms.
func (u *partURL) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			URL string `json:"url"`
		}
		err := json.Unmarshal(b, &o)
		*u = partURL(o.URL)
		return err
	}
	return json.Unmarshal(b, (*string)(u))
}

// chatInput is a client's request as Hob processes it. Only the last user message counts as the
// owner's words.
type chatInput struct {
	text    string
	images  []channels.Image
	outside []string
	stream  bool
	usage   bool
	user    string
}

func decodeChat(b []byte) (chatInput, error) {
	var req chatRequest
	if err := unmarshalOne(b, &req, false); err != nil {
		return chatInput{}, err
	}
	if req.N != nil && *req.N != 1 {
		return chatInput{}, invalidFailure("n must be 1: a turn has effects and cannot run twice")
	}
	in := chatInput{stream: req.Stream, usage: req.StreamOptions.IncludeUsage, user: req.User}
	return in, in.addMessages("messages", req.Messages)
}

// addMessages reads the messages of a request. field is the name of their list in the request.
func (in *chatInput) addMessages(field string, messages []chatMessage) error {
	last := -1
	for i, m := range messages {
		if m.Role == "user" {
			last = i
		}
	}
	if last < 0 {
		return newFailure(http.StatusBadRequest, "empty", fmt.Sprintf(`send "%s": [{"role": "user", "content": "..."}]`, field), "the user message is missing")
	}
	for i, m := range messages {
		text, images, err := m.parseContent()
		if err != nil {
			return invalidFailure("%s[%d]: %v", field, i, err)
		}
		if i == last {
			in.text, in.images = text, images
			continue
		}
		if text != "" {
			in.outside = append(in.outside, m.Role+": "+text)
		}
	}
	if in.text == "" && len(in.images) == 0 {
		return newFailure(http.StatusBadRequest, "empty", "", "the user message is empty")
	}
	if len(in.images) > maxImages {
		return invalidFailure("a message may contain at most %d images, this one contains %d", maxImages, len(in.images))
	}
	return checkText(in.text)
}

// parseContent returns the text and the images of a message, whose content is a string or a list of
// parts.
func (m chatMessage) parseContent() (string, []channels.Image, error) {
	var text strings.Builder
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&text, "[called %s %s]\n", c.Function.Name, c.Function.Arguments)
	}
	raw := bytes.TrimSpace(m.Content)
	if len(raw) == 0 || string(raw) == "null" {
		return text.String(), nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return text.String() + s, nil, err
	}
	var parts []chatPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", nil, errors.New("content must be a string or a list of parts")
	}
	var images []channels.Image
	for i, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text", "refusal":
			if i > 0 && text.Len() > 0 {
				text.WriteString("\n")
			}
			text.WriteString(p.Text + p.Refusal)
		case "image_url", "input_image":
			img, err := dataURL(string(p.ImageURL))
			if err != nil {
				return "", nil, err
			}
			images = append(images, img)
		default:
			return "", nil, fmt.Errorf("parts of type %q are not supported; send text and images", p.Type)
		}
	}
	return text.String(), images, nil
}

// dataURL decodes an image in the request. It does not fetch other URLs, because their author would
// choose which host this machine contacts.
func dataURL(u string) (channels.Image, error) {
	rest, ok := strings.CutPrefix(u, "data:")
	head, data, comma := strings.Cut(rest, ",")
	mime, ok64 := strings.CutSuffix(head, ";base64")
	if !ok || !comma || !ok64 {
		return channels.Image{}, errors.New("images must be sent as data:image/...;base64; URLs are not fetched")
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return channels.Image{}, errors.New("the image is not base64")
	}
	return channels.Image{MIME: mime, Data: b}, checkImage(mime, b)
}

// serveCompletions implements the chat endpoint for OpenAI clients.
func (s *Server) serveCompletions(w http.ResponseWriter, r *http.Request, _ call) error {
	b, err := s.rawJSON(w, r)
	if err != nil {
		return err
	}
	c, err := decodeChat(b)
	if err != nil {
		return err
	}
	session := r.Header.Get("X-Hob-Session")
	if session == "" {
		session = c.user
	}
	if session == "" {
		session = "openai"
	}
	if session, err = sessionID(session); err != nil {
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
			return &chunkClient{sse: out, usage: c.usage, chunk: chatCompletion{
				ID: "chatcmpl-" + event, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: modelName,
			}}
		})
	}
	st, err := s.runTurn(r, in)
	if err != nil {
		return err
	}
	content := answerOrQuestion(st)
	reply := chatCompletion{
		ID: "chatcmpl-" + st.ID, Object: "chat.completion", Created: time.Now().Unix(), Model: modelName,
		Choices: []chatChoice{{Message: &chatReply{Role: "assistant", Content: content}, FinishReason: new("stop")}},
		Usage:   usageOf(st.Usage),
	}
	s.writeJSON(w, http.StatusOK, reply)
	return nil
}

const modelName = "hob"

type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices" schema:"notnull"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index        int        `json:"index"`
	Message      *chatReply `json:"message,omitempty"`
	Delta        *chatReply `json:"delta,omitempty"`
	FinishReason *string    `json:"finish_reason"`
}

type chatReply struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func usageOf(raw json.RawMessage) *chatUsage {
	var u api.TokenUsage
	_ = json.Unmarshal(raw, &u) // null if no model was called
	return &chatUsage{u.Input, u.Output, u.Input + u.Output}
}

// answerOrQuestion returns the answer of a turn or, if the turn is waiting for the owner, the
// questions.
func answerOrQuestion(st api.EventStatus) string {
	if isFinal(st) {
		return st.Answer
	}
	return askText(st.Approvals)
}

// askText describes approval requests in words, because these clients have no format for them.
func askText(approvals []api.Approval) string {
	var b strings.Builder
	for _, a := range approvals {
		b.WriteString(approvalQuestion(a))
	}
	return b.String()
}

func approvalQuestion(a api.Approval) string {
	return fmt.Sprintf("May I do this? %s\n  Answer /yes %s or /no %s.\n", a.Text(), a.ID, a.ID)
}

// modelList is the response to GET /v1/models.
type modelList struct {
	Data   []modelEntry `json:"data" schema:"notnull"`
	Object string       `json:"object"`
}

type modelEntry struct {
	Created int    `json:"created"`
	ID      string `json:"id"`
	Object  string `json:"object"`
	OwnedBy string `json:"owned_by"`
}

func serveModels(*http.Request, call) (modelList, error) {
	return modelList{Object: "list", Data: []modelEntry{{ID: modelName, Object: "model", OwnedBy: "hob"}}}, nil
}
