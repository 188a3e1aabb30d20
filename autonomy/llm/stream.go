package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// Limits for a server's responses.
const (
	MaxAnswer    = 64 << 20 // maximum bytes of one answer
	MaxModelList = 8 << 20  // maximum bytes of a list of models
	maxErrorBody = 64 << 10 // maximum bytes read from an error response
	maxCalls     = 128      // maximum tool calls in one answer
	maxArgs      = 4 << 20  // maximum bytes of one call's arguments
)

const (
	// finishGrace is the maximum time without stream output after the finish reason. Token counts
	// may follow the finish reason.
	finishGrace = 5 * time.Second
	// drainGrace is how long to wait for the end of the response after its last event. The
	// connection can be reused only after the response has ended.
	drainGrace = 50 * time.Millisecond
)

// AnswerStream is the state of one streamed answer, for drivers that use HTTP. It reads the
// response, limits the time without output, and passes events to the consumer. It must be used by a
// single goroutine.
type AnswerStream struct {
	Endpoint
	Left    bool // whether the consumer stopped
	Started bool // whether the server sent a part of an answer
	Ended   bool // whether the server sent a finish reason
	Stop    StopReason
	Usage   Usage
	Watch   *StallTimer

	ctx     context.Context // context of the call that this AnswerStream reads
	stall   time.Duration
	yield   func(Event, error) bool
	visible bool // whether text or a picture was yielded
	spoke   bool // whether the model sent content
	called  bool // whether the model called a tool
	thought strings.Builder
}

// AnswerFormat is the part of a driver that knows the format of the server's answers. Its errors
// are *Error, or errors of encoding/json if the data does not have that format.
type AnswerFormat interface {
	// TakeEvent passes the content of one stream event to the consumer. It returns io.EOF after the
	// last event, and ErrKeepAlive for an event that is not model output.
	TakeEvent(name string, data []byte) error
	// TakeWhole passes an answer that is not streamed to the consumer.
	TakeWhole(data []byte) error
	// Flush passes the content that is still buffered at the end of a complete answer.
	Flush() error
	// Calls returns the tool calls received so far.
	Calls() []PendingCall
}

// ErrKeepAlive marks an event that only keeps the connection open. It does not restart the stall
// timer.
var ErrKeepAlive = errors.New("keep-alive event")

// PendingCall is a tool call that is being assembled.
type PendingCall struct {
	ID, Name  string
	Args      []byte // exactly as the model wrote them
	Signature string
}

// StreamAnswer implements Model.Stream for a driver. read makes the call and reads the answer. If
// read returns an error, it must be an *Error, and it is the last value that the consumer gets.
func (w Endpoint) StreamAnswer(ctx context.Context, o ModelOptions, read func(context.Context, *AnswerStream) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, watch := NewWatch(ctx, w.FirstLimit(o.Stall, o.Whole))
		defer watch.Stop()
		s := &AnswerStream{Endpoint: w, ctx: ctx, Watch: watch, stall: o.Stall, yield: yield}
		err := read(ctx, s)
		if fail, ok := errors.AsType[*Error](err); ok && !s.Left {
			fail.Visible = s.visible
			yield(Event{}, fail)
		}
	}
}

// Open makes the call. build returns the request and the function learn, which learns from an error
// response what the server does not support. learn reports whether a retry without that feature is
// worthwhile. Open retries at most `retries` times.
func (s *AnswerStream) Open(retries int, build func() (request any, learn func(status int, message string) bool), send func(body []byte) (*http.Response, error)) (*http.Response, error) {
	for try := 0; ; try++ {
		request, learn := build()
		body, err := EncodeRequest(request)
		if err != nil {
			return nil, s.Errorf(BadRequest, "encode the request: %w", err)
		}
		s.Watch.Arm()
		resp, err := send(body)
		if err != nil {
			return nil, s.TransportError(s.ctx, err)
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return resp, nil
		}
		said := readErrorBody(resp)
		_ = resp.Body.Close()
		if s.ctx.Err() != nil {
			return nil, s.TransportError(s.ctx, s.ctx.Err())
		}
		if try == retries || !learn(resp.StatusCode, said.Message) {
			return nil, s.BodyError(resp.StatusCode, resp.Header, said)
		}
	}
}

// Read passes the answer in a response to the consumer and closes the response. If the answer
// begins with one of the bytes listed in `whole`, it is not streamed. server names the expected
// sender in error messages.
func (s *AnswerStream) Read(resp *http.Response, f AnswerFormat, whole, server string) error {
	defer func() { _ = resp.Body.Close() }() // only read from, so Close cannot lose data
	s.Watch.Arm()
	in, first, err := s.openBody(LimitBody(resp.Body, MaxAnswer))
	if err != nil {
		return err
	}
	if strings.IndexByte(whole, first) >= 0 {
		return s.readWhole(in.Rest(), f, server)
	}
	if err = s.readEvents(in, f, server); err == nil && !s.Left {
		s.drainRest(in)
	}
	return err
}

// openBody returns a reader for the events in a body, and the first byte of the body.
func (s *AnswerStream) openBody(body io.Reader) (*EventReader, byte, error) {
	in := NewEventReader(body)
	first, err := in.First()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, s.Errorf(Network, "the server closed the connection without an answer")
	case err != nil:
		return nil, 0, s.ReadError(s.ctx, err)
	case first == '<':
		return nil, 0, s.Errorf(Garbled, "the server answered with a web page")
	}
	return in, first, nil
}

// drainRest reads the rest of the response if it is short, so that the connection can be reused.
func (s *AnswerStream) drainRest(in *EventReader) {
	s.Watch.Limit(drainGrace)
	s.Watch.Arm()
	_, _ = io.CopyN(io.Discard, in.Rest(), 4<<10) // an error only means that the connection is not reused
}

// readEvents reads the stream to its end and completes the answer.
func (s *AnswerStream) readEvents(in *EventReader, f AnswerFormat, server string) error {
	for idle := false; ; {
		switch {
		case s.Ended:
			s.Watch.Limit(finishGrace)
		case s.spoke:
			s.Watch.Limit(s.stall)
		}
		if !idle {
			s.Watch.Arm()
		}
		e, err := in.Next()
		if err != nil {
			if s.Ended && s.endsWell() {
				return s.finishAnswer(f) // many servers send no end marker, and at most the token counts are missing
			}
			if !s.CutOff(f) {
				return nil
			}
			return s.brokenOff(err)
		}
		data := bytes.TrimSpace(e.Data)
		if len(data) == 0 {
			continue
		}
		err = f.TakeEvent(e.Name, data)
		idle = errors.Is(err, ErrKeepAlive)
		_, final := errors.AsType[*Error](err)
		switch {
		case s.Left:
			return nil
		case idle:
		case errors.Is(err, io.EOF):
			return s.finishAnswer(f)
		case err == nil:
		case final:
			return err
		case e.Name == "error":
			return s.BodyError(0, nil, ParseErrorBody(e.Data))
		case !s.CutOff(f):
			return nil
		default:
			return s.garbledEvent(err, server)
		}
	}
}

// readWhole reads an answer that is not streamed.
func (s *AnswerStream) readWhole(body io.Reader, f AnswerFormat, server string) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return s.ReadError(s.ctx, err)
	}
	err = f.TakeWhole(data)
	_, final := errors.AsType[*Error](err)
	switch {
	case s.Left:
		return nil
	case err == nil:
		return s.finishAnswer(f)
	case final:
		return err
	case isTruncatedJSON(err):
		return s.Errorf(Network, "the answer is incomplete: %w", io.ErrUnexpectedEOF)
	}
	return s.Errorf(Garbled, "the answer is not from %s: %w", server, err)
}

// endsWell reports whether the response ended because the server closed it or stopped sending, and
// not because the call was canceled.
func (s *AnswerStream) endsWell() bool {
	return s.ctx.Err() == nil || errors.Is(context.Cause(s.ctx), ErrStalled)
}

// brokenOff converts the read error of a stream that ended before its answer was complete.
func (s *AnswerStream) brokenOff(err error) error {
	if errors.Is(err, io.EOF) {
		return s.Errorf(Network, "the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	return s.ReadError(s.ctx, err)
}

// garbledEvent converts the error for an event that is not in server's format.
func (s *AnswerStream) garbledEvent(err error, server string) error {
	if isTruncatedJSON(err) {
		return s.Errorf(Network, "the stream ended in the middle of an event: %w", io.ErrUnexpectedEOF)
	}
	return s.Errorf(Garbled, "the stream is not from %s: %w", server, err)
}

// finishAnswer completes an answer. It sets the finish reason itself, because servers differ in the
// reason for an answer with tool calls.
func (s *AnswerStream) finishAnswer(f AnswerFormat) error {
	if !s.Started {
		return s.Errorf(Unavailable, "the server sent an empty stream")
	}
	if err := f.Flush(); err != nil || s.Left || !s.EndThought() {
		return err
	}
	calls, stop := f.Calls(), s.Stop
	cut := stop == MaxTokens || stop == Refused
	if !s.finishCalls(calls, func(i int) bool { return cut && i == len(calls)-1 }) {
		return nil
	}
	switch {
	case cut:
	case s.called:
		stop = ToolUse
	default:
		stop = EndTurn
	}
	s.EmitEvent(Event{Kind: Done, Stop: stop, Usage: s.Usage})
	return nil
}

// CutOff marks all calls in a broken stream as truncated, because no call from a failed answer may
// run.
func (s *AnswerStream) CutOff(f AnswerFormat) bool {
	return s.finishCalls(f.Calls(), func(int) bool { return true })
}

// finishCalls passes the calls to the consumer. cut reports whether call i may be incomplete.
func (s *AnswerStream) finishCalls(calls []PendingCall, cut func(i int) bool) bool {
	for i, c := range calls {
		if !s.EmitEvent(Event{Kind: CallDone, Call: NewCall(c.ID, c.Name, string(c.Args), cut(i)), Signature: c.Signature}) {
			return false
		}
	}
	return true
}

// CheckCalls returns an error if there are too many calls or if the arguments of a call are too
// long.
func (s *AnswerStream) CheckCalls(count, args int) error {
	switch {
	case count > maxCalls:
		return s.Errorf(Garbled, "the answer contains more than %d tool calls", maxCalls)
	case args > maxArgs:
		return s.Errorf(Garbled, "the arguments of a tool call exceed %d MB", maxArgs>>20)
	}
	return nil
}

// EmitEvent passes an event to the consumer. The stall timer is stopped in the meantime, because
// the consumer may be slow. Like the other Emit methods, it returns false if the consumer stopped.
func (s *AnswerStream) EmitEvent(e Event) bool {
	s.spoke = true
	s.Watch.Disarm()
	s.Left = s.Left || !s.yield(e, nil)
	return !s.Left
}

// EmitText passes a piece of text to the consumer. signature must be returned to the API with the
// text, unless it is "".
func (s *AnswerStream) EmitText(text, signature string) bool {
	if text == "" && signature == "" {
		return true
	}
	if !s.EndThought() {
		return false
	}
	s.visible = s.visible || text != ""
	return s.EmitEvent(Event{Kind: TextDelta, Text: text, Signature: signature})
}

// EmitImage passes a picture to the consumer.
func (s *AnswerStream) EmitImage(i Image, signature string) bool {
	if !s.EndThought() {
		return false
	}
	s.visible = true
	return s.EmitEvent(Event{Kind: ImageDone, Image: i, Signature: signature})
}

// EmitReasoning passes a piece of the reasoning to the consumer.
func (s *AnswerStream) EmitReasoning(text string) bool {
	if text == "" {
		return true
	}
	s.thought.WriteString(text)
	return s.EmitEvent(Event{Kind: ReasoningDelta, Text: text})
}

// EndThought completes the current reasoning, if there is any.
func (s *AnswerStream) EndThought() bool {
	if s.thought.Len() == 0 {
		return true
	}
	t := s.thought.String()
	s.thought.Reset()
	return s.EmitEvent(Event{Kind: ReasoningDone, Reasoning: Reasoning{Text: t}})
}

// EmitCall announces a call if it is new, and passes a piece of its arguments to the consumer.
func (s *AnswerStream) EmitCall(c PendingCall, fresh bool, piece string) bool {
	s.called = true
	if fresh && !s.EmitEvent(Event{Kind: CallStart, Call: ToolCall{ID: c.ID, Name: c.Name}}) {
		return false
	}
	return piece == "" || s.EmitEvent(Event{Kind: CallDelta, Call: ToolCall{ID: c.ID}, Text: piece})
}

// EncodeRequest encodes the body of a request as JSON. It does not escape HTML, because models
// would see the escapes.
func EncodeRequest(request any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(request); err != nil {
		return nil, fmt.Errorf("a tool's schema or a call's arguments are not JSON: %w", err)
	}
	return b.Bytes(), nil
}

// NewRequest returns a request with the headers that all drivers use. A request without a body
// accepts only JSON, not a stream.
func NewRequest(ctx context.Context, method, url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "hob")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	return req, nil
}

// ReadBody reads the body of a successful response, up to limit bytes, and closes it. err is the
// error of the request.
func (w Endpoint) ReadBody(ctx context.Context, resp *http.Response, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, w.TransportError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read from, so Close cannot lose data
	if resp.StatusCode != http.StatusOK {
		return nil, w.BodyError(resp.StatusCode, resp.Header, readErrorBody(resp))
	}
	body, err := io.ReadAll(LimitBody(resp.Body, limit))
	if err != nil {
		return nil, w.ReadError(ctx, err)
	}
	return body, nil
}

func readErrorBody(resp *http.Response) ErrorBody {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // an incomplete body is sufficient
	return ParseErrorBody(body)
}

// TokenCount limits f, a number of tokens, to a plausible range.
func TokenCount(f float64) int { return int(min(max(f, 0), 1e9)) }
