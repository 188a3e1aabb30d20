package gemini

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"hob/autonomy/llm"
)

// maxAdaptions is the maximum number of times that a call is repeated without a refused feature.
const maxAdaptions = 5

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	path, query := m.path+":streamGenerateContent", url.Values{"alt": {"sse"}}
	if m.o.Whole {
		path, query = m.path+":generateContent", nil
	}
	return m.wire.StreamAnswer(ctx, m.o, func(ctx context.Context, a *llm.AnswerStream) error {
		resp, err := a.Open(maxAdaptions, func() (any, func(int, string) bool) { //nolint:bodyclose // the answer stream closes it
			q := m.knownQuirks()
			req := m.buildRequest(r, q)
			return req, func(status int, message string) bool {
				found := findRefused(status, message, req, q)
				m.addQuirk(found)
				return found != 0
			}
		}, func(body []byte) (*http.Response, error) {
			return m.sendRequest(ctx, http.MethodPost, path, query, body)
		})
		if err != nil {
			return err
		}
		return a.Read(resp, &stream{AnswerStream: a}, "{[", "the Gemini API") // '[' starts the response of a server that ignores alt=sse
	})
}

// stream is the state of one streamed answer.
type stream struct {
	*llm.AnswerStream
	broken string            // finish reason of an unusable answer
	calls  []llm.PendingCall // withheld until the answer is complete
}

// Calls implements llm.AnswerFormat.
func (s *stream) Calls() []llm.PendingCall { return s.calls }

// TakeEvent implements llm.AnswerFormat. The stream has no end marker.
func (s *stream) TakeEvent(name string, data []byte) error {
	if string(data) == "[DONE]" { // some proxies send this end marker
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	return s.takeChunk(&c, name == "error")
}

// TakeWhole implements llm.AnswerFormat. The answer may be a list of chunks.
func (s *stream) TakeWhole(data []byte) error {
	var list []chunk
	var err error
	if data[0] == '[' {
		err = json.Unmarshal(data, &list)
	} else {
		list = make([]chunk, 1)
		err = json.Unmarshal(data, &list[0])
	}
	if err != nil {
		return err
	}
	for i := range list {
		if err := s.takeChunk(&list[i], false); err != nil || s.Left {
			return err
		}
	}
	if !s.Started {
		return s.Errorf(llm.Garbled, "the answer is not from the Gemini API")
	}
	return nil
}

// takeChunk processes the content of a chunk.
func (s *stream) takeChunk(c *chunk, failed bool) error {
	if llm.JSONText(c.Error) != "" || failed {
		s.CutOff(s)
		return s.BodyError(0, nil, llm.ParseErrorObject(c.Error))
	}
	if u := parseUsage(c.Usage); u != nil {
		s.Usage = *u
	}
	if c.Feedback.Reason != "" && c.Feedback.Reason != "BLOCK_REASON_UNSPECIFIED" && !s.Started {
		s.Started, s.Ended, s.Stop = true, true, llm.Refused
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if x.Index != 0 {
			continue
		}
		s.Started = true
		for j := range x.Content.Parts {
			if err := s.takePart(&x.Content.Parts[j]); err != nil || s.Left {
				return err
			}
		}
		if x.Reason != "" && x.Reason != "FINISH_REASON_UNSPECIFIED" {
			ending := parseReason(x.Reason)
			s.Ended, s.Stop, s.broken = true, ending.stop, ""
			if ending.broken {
				s.broken = x.Reason
			}
		}
	}
	return nil
}

func (s *stream) takePart(p *answerPart) error {
	switch {
	case p.Call != nil:
		return s.addCall(p)
	case p.Inline != nil:
		if strings.HasPrefix(p.Inline.MIME, "image/") && !p.Thought {
			s.EmitImage(llm.Image{MIME: p.Inline.MIME, Data: p.Inline.Data}, p.Signature)
		}
	case p.Thought:
		if s.EmitReasoning(p.Text) && p.Signature != "" {
			s.EmitText("", p.Signature) // the signature is sent back as a separate part
		}
	default:
		s.EmitText(p.Text, p.Signature)
	}
	return nil
}

func (s *stream) addCall(p *answerPart) error {
	if err := s.CheckCalls(len(s.calls)+1, len(p.Call.Args)); err != nil {
		return err
	}
	c := llm.PendingCall{ID: s.uniqueID(p.Call.ID), Name: p.Call.Name, Args: p.Call.Args, Signature: p.Signature}
	s.calls = append(s.calls, c)
	if s.EndThought() {
		s.EmitCall(c, true, string(c.Args))
	}
	return nil
}

// uniqueID returns the server's id, or a new one if that id is missing or already used.
func (s *stream) uniqueID(id string) string {
	for _, c := range s.calls {
		if c.ID == id {
			id = ""
		}
	}
	if id == "" {
		return "call_" + rand.Text()[:12]
	}
	return id
}

// Flush implements llm.AnswerFormat.
func (s *stream) Flush() error {
	if s.broken == "" {
		return nil
	}
	s.CutOff(s)
	return s.Errorf(llm.Unavailable, "the model's answer is unusable (%s)", s.broken)
}
