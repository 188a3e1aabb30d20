package apiclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"hob/autonomy/api"
	"hob/channels/web"
)

// EventOpen is the type of the first event in a stream. It means that the connection is open.
const EventOpen = "open"

// Progress is the progress of a tool call.
type Progress struct {
	Seconds int    `json:"seconds"`
	Percent *int   `json:"percent"`
	Note    string `json:"note"`
}

// TurnEvent is one event in a turn. Which fields are set depends on the type (see api.FeedEvent).
type TurnEvent struct {
	Type        string `json:"-"`
	ID          string `json:"id"` // of the tool call
	Event       string `json:"event"`
	Text        string `json:"text"`
	Answer      string `json:"answer"`
	Interrupted bool   `json:"interrupted"`
	Name        string `json:"name"`
	Arguments   string `json:"arguments"` // a piece of the arguments of the tool call
	Model       string `json:"model"`
	OK          *bool  `json:"ok"`
	Code        string `json:"code"`
	Message     string `json:"message"`
	Remedy      string `json:"remedy"`
	Progress

	Approval api.Approval `json:"-"` // set for events of type approval_required
}

// LiveEvent is one event in the live feed. Delivery is set for the type delivery, Tool and Progress
// for tool_progress.
type LiveEvent struct {
	ID            string // id for Follow
	Type, Session string
	Delivery      api.Delivery
	Tool          string
	Progress      Progress
}

// SendStreaming sends a message and yields the events of its turn. The first event is EventOpen.
func (c *Client) SendStreaming(ctx context.Context, session string, m web.Message) iter.Seq2[TurnEvent, error] {
	return func(yield func(TurnEvent, error) bool) {
		r, err := jsonRequest(inPath(sessionsPath, session)+"/messages", m)
		if err != nil {
			yield(TurnEvent{}, err)
			return
		}
		for e, err := range c.serverEvents(ctx, r) {
			t := TurnEvent{}
			if err == nil {
				_ = json.Unmarshal(e.data, &t) // an event with other data has no fields set
			}
			if t.Type = e.name; t.Type == "approval_required" {
				_ = json.Unmarshal(e.data, &t.Approval)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Follow yields the live events, of which the first is EventOpen. A client that reconnects passes
// the id of the last event it received. With an empty id, the stream starts with the next event.
func (c *Client) Follow(ctx context.Context, last string) iter.Seq2[LiveEvent, error] {
	return func(yield func(LiveEvent, error) bool) {
		r := request{method: http.MethodGet, path: "/api/v1/events", header: map[string]string{}}
		if last != "" {
			r.header["Last-Event-ID"] = last
		}
		for e, err := range c.serverEvents(ctx, r) {
			if !yield(decodeLive(e), err) {
				return
			}
		}
	}
}

// decodeLive decodes an event. Fields that cannot be decoded stay empty. A delivery or
// tool_progress event whose data cannot be decoded also loses its type.
func decodeLive(e serverEvent) LiveEvent {
	out := LiveEvent{ID: e.id, Type: e.name}
	var f struct {
		Session string          `json:"session"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(e.data, &f) != nil {
		return out
	}
	out.Session = f.Session
	switch e.name {
	case "delivery":
		if json.Unmarshal(f.Data, &out.Delivery) != nil {
			out.Type = ""
		}
	case "tool_progress":
		var p struct {
			Name string `json:"name"`
			Progress
		}
		if json.Unmarshal(f.Data, &p) != nil {
			out.Type = ""
		}
		out.Tool, out.Progress = p.Name, p.Progress
	}
	return out
}

// serverEvent is one server-sent event.
type serverEvent struct {
	id, name string
	data     []byte
}

// serverEvents yields EventOpen and then the server-sent events (WHATWG HTML, section 9.2) in the
// response to a request. A response that is plain JSON becomes one event without a name.
func (c *Client) serverEvents(ctx context.Context, r request) iter.Seq2[serverEvent, error] {
	return func(yield func(serverEvent, error) bool) {
		r.header["Accept"] = "text/event-stream"
		resp, err := c.openResponse(ctx, r)
		if err != nil {
			yield(serverEvent{}, err)
			return
		}
		defer resp.Body.Close()
		switch {
		case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
			b, err := io.ReadAll(resp.Body)
			yield(serverEvent{data: b}, err)
		case !yield(serverEvent{name: EventOpen}, nil):
		default:
			if err := readEvents(resp.Body, yield); err != nil {
				yield(serverEvent{}, connectionError(ctx, err))
			}
		}
	}
}

// maxEvent is the maximum length of one line in a stream, in bytes.
const maxEvent = 32 << 20

// readEvents parses events until the stream ends or yield returns false.
func readEvents(r io.Reader, yield func(serverEvent, error) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	var e serverEvent
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if (e.name != "" || len(e.data) > 0) && !yield(e, nil) {
				return nil
			}
			e = serverEvent{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
	return lines.Err()
}

// readSteps sends a request and passes each line of the response to step. If a line contains an
// error, it stops and returns that error.
func (c *Client) readSteps(ctx context.Context, path string, in any, step func(line json.RawMessage) error) error {
	r, err := jsonRequest(path, in)
	if err != nil {
		return err
	}
	resp, err := c.openResponse(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var line json.RawMessage
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil:
			return connectionError(ctx, err)
		}
		var failed web.StepError
		if err := json.Unmarshal(line, &failed); err == nil && failed.Error != "" {
			return &ResponseError{Status: resp.StatusCode, Code: failed.Code, Message: failed.Error}
		}
		if err := step(line); err != nil {
			return fmt.Errorf("decode a line of %s: %w", path, err)
		}
	}
}

// Examine implements api.Doctor.
func (c *Client) Examine(ctx context.Context, names []string, fix bool, step func(api.Finding)) error {
	return c.readSteps(ctx, "/api/v1/doctor", web.ExamineRequest{Names: names, Fix: fix}, func(line json.RawMessage) error {
		var f api.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		step(f)
		return nil
	})
}

// MemoryImport implements api.Memory.
func (c *Client) MemoryImport(ctx context.Context, in api.MemoryImport, step func(api.MemoryProgress)) (out api.ImportResult, err error) {
	err = c.readSteps(ctx, memoryPath+"/import", in, func(line json.RawMessage) error {
		var p struct {
			api.MemoryProgress
			Format *string `json:"format"` // only a result has this field
		}
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		if p.Format != nil {
			return json.Unmarshal(line, &out)
		}
		step(p.MemoryProgress)
		return nil
	})
	return out, err
}

// MemoryReindex implements api.Memory.
func (c *Client) MemoryReindex(ctx context.Context, step func(api.MemoryProgress)) error {
	return c.readSteps(ctx, memoryPath+"/reindex", struct{}{}, func(line json.RawMessage) error {
		var p api.MemoryProgress
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		step(p)
		return nil
	})
}
