package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"hob/autonomy/llm"
)

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return m.wire.StreamAnswer(ctx, m.o, func(ctx context.Context, s *llm.AnswerStream) error {
		return m.callAdaptive(ctx, r, &answer{AnswerStream: s})
	})
}

// callAdaptive makes the call, and repeats it without features that the server refuses: thinking
// blocks with unknown signatures in the history, and structured answers, which older models do not
// support.
func (m *Model) callAdaptive(ctx context.Context, r llm.Request, a *answer) error {
	for {
		params, thinking := m.buildRequest(r)
		if r.Format != nil && m.noFormat.Load() {
			a.format = llm.WireName(r.Format.Name)
		}
		err := m.callOnce(ctx, params, a)
		fail, ok := errors.AsType[*llm.Error](err)
		if !ok || a.Left || fail.Kind != llm.BadRequest {
			return err
		}
		said := strings.ToLower(fail.Message)
		switch {
		case thinking && strings.Contains(said, "thinking"):
			m.noThinking.Store(true)
		case r.Format != nil && a.format == "" && refusesFormat(said):
			m.noFormat.Store(true)
		default:
			return err
		}
	}
}

func refusesFormat(said string) bool {
	return strings.Contains(said, "output_config") || strings.Contains(said, "output_format") ||
		strings.Contains(said, "output format") || strings.Contains(said, "structured output")
}

// callOnce makes one request. The SDK builds the request and converts error responses. The body is
// read here, because servers send a stream, JSON or a web page whatever content type they declare.
func (m *Model) callOnce(ctx context.Context, params sdk.MessageNewParams, a *answer) error {
	options := []option.RequestOption{option.WithHeader("Accept", "text/event-stream, application/json")}
	if !m.o.Whole {
		options = append(options, option.WithJSONSet("stream", true))
	}
	a.Watch.Arm()
	var resp *http.Response
	if err := m.post(ctx, "v1/messages", params, &resp, options...); err != nil {
		return m.convertError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read from, so Close cannot lose data
	if resp.StatusCode >= 300 {
		return m.wire.StatusError(resp.StatusCode, resp.Header, "", "")
	}
	in, first, err := a.OpenBody(resp.Body)
	switch {
	case err != nil:
		return err
	case first == '{':
		return m.readWhole(ctx, in.Rest(), a)
	}
	return m.readEvents(in, a)
}

// readEvents reads the stream until it ends.
func (m *Model) readEvents(in *llm.EventReader, a *answer) error {
	for ping := false; ; {
		if a.Started {
			a.Watch.Limit(m.o.Stall)
		}
		if !ping { // a ping is not model output
			a.Watch.Arm()
		}
		e, err := in.Next()
		if err != nil {
			return m.handleEnd(err, a)
		}
		if e.Name == "error" {
			a.cutOff()
			return m.wire.BodyError(0, nil, llm.ParseErrorBody(e.Data))
		}
		var event sdk.MessageStreamEventUnion
		if err := json.Unmarshal(e.Data, &event); err != nil {
			a.cutOff()
			return a.GarbledEvent(err, "the Messages API")
		}
		if ping = event.Type == "ping"; ping {
			continue
		}
		if event.Type == "error" {
			a.cutOff()
			return m.wire.BodyError(0, nil, llm.ParseErrorBody(e.Data))
		}
		if err := a.takeEvent(event); err != nil {
			a.cutOff()
			return m.wire.Errorf(llm.Garbled, "%w", err)
		}
		if a.Left {
			return nil
		}
		if a.stopped && a.stop == "" && a.blocks == 0 {
			return m.wire.Errorf(llm.Network, "the server sent an empty stream")
		}
		if a.stopped {
			a.finishAnswer()
			a.Drain(in)
			return nil
		}
	}
}

// handleEnd handles a response that ends without the last event.
func (m *Model) handleEnd(err error, a *answer) error {
	if a.stop != "" && a.EndsWell() {
		a.finishAnswer() // only the last event is missing, and it carries no content
		return nil
	}
	a.cutOff()
	return a.BrokenOff(err)
}

// readWhole handles an answer that is not streamed.
func (m *Model) readWhole(ctx context.Context, in io.Reader, a *answer) error {
	body, err := io.ReadAll(in)
	if err != nil {
		return m.wire.ReadError(ctx, err)
	}
	var msg sdk.Message
	if err := json.Unmarshal(body, &msg); err != nil || msg.Type != "message" {
		if llm.IsTruncatedJSON(err) {
			return m.wire.Errorf(llm.Network, "the answer is incomplete: %w", io.ErrUnexpectedEOF)
		}
		if said := llm.ParseErrorBody(body); said.Message != "" && said.Code != "" {
			return m.wire.BodyError(0, nil, said)
		}
		return m.wire.Errorf(llm.Garbled, "the answer is not from the Messages API")
	}
	if err := a.takeMessage(&msg); err != nil {
		return m.wire.Errorf(llm.Garbled, "%w", err)
	}
	if !a.Left {
		a.finishAnswer()
	}
	return nil
}

// convertError converts an error of the SDK.
func (m *Model) convertError(ctx context.Context, err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok && ctx.Err() == nil {
		return m.apiError(api)
	}
	return m.wire.ReadError(ctx, err)
}

// apiError converts an error that the server reported. It does not wrap the SDK's error, because
// that error holds the request.
func (m *Model) apiError(api *sdk.Error) error {
	var h http.Header
	if api.Response != nil {
		h = api.Response.Header
	}
	return m.wire.BodyError(api.StatusCode, h, llm.ParseErrorBody([]byte(api.RawJSON())))
}
