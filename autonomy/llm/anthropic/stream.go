package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"hob/autonomy/llm"
)

// drainGrace is how long to wait for the end of the response after its last
// event, without which the connection cannot be used again.
const drainGrace = 50 * time.Millisecond

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, watch := llm.NewWatch(ctx, m.wire.FirstLimit(m.o.Stall))
		defer watch.Stop()
		a := &answer{watch: watch, yield: yield}
		err := m.call(ctx, r, a)
		if err != nil && !a.left {
			err.Visible = a.visible
			yield(llm.Event{}, err)
		}
	}
}

// call makes the call, and once more without the thinking blocks of the history
// when the server does not accept their signatures.
func (m *Model) call(ctx context.Context, r llm.Request, a *answer) *llm.Error {
	params, thinking := m.build(r)
	err := m.once(ctx, params, a)
	if err == nil || a.left || !thinking || err.Kind != llm.BadRequest || !strings.Contains(strings.ToLower(err.Message), "thinking") {
		return err
	}
	m.noThinking.Store(true)
	params, _ = m.build(r)
	return m.once(ctx, params, a)
}

func (m *Model) once(ctx context.Context, params sdk.MessageNewParams, a *answer) *llm.Error {
	a.watch.Arm()
	var resp *http.Response
	stream := m.client.Messages.NewStreaming(ctx, params, option.WithResponseInto(&resp))
	defer func() { _ = stream.Close() }() // nothing was written
	if err := stream.Err(); err != nil {
		return m.failure(ctx, err)
	}
	if resp.StatusCode >= 300 {
		return m.wire.StatusError(resp.StatusCode, resp.Header, "", "")
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "text/html":
		return m.wire.Errorf(llm.Garbled, "the server answered with a web page")
	case "application/json":
		return m.whole(ctx, resp, a)
	}
	return m.events(ctx, resp, stream, a)
}

// events reads the stream to its end.
func (m *Model) events(ctx context.Context, resp *http.Response, stream *ssestream.Stream[sdk.MessageStreamEventUnion], a *answer) *llm.Error {
	for {
		if a.started {
			a.watch.Limit(m.o.Stall)
		}
		a.watch.Arm()
		if !stream.Next() {
			break
		}
		if err := a.take(stream.Current()); err != nil {
			return m.wire.Errorf(llm.Garbled, "%w", err)
		}
		if a.left {
			return nil
		}
		if a.stopped {
			a.done()
			a.watch.Limit(drainGrace)
			a.watch.Arm()
			_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // only to reuse the connection
			return nil
		}
	}
	err := stream.Err()
	if a.stop != "" && (ctx.Err() == nil || errors.Is(context.Cause(ctx), llm.ErrStalled)) {
		a.done() // only the last event is missing, which says nothing
		return nil
	}
	a.cutOff()
	if a.left {
		return nil
	}
	if err == nil && ctx.Err() == nil {
		if !a.started {
			return m.wire.Errorf(llm.Network, "the server closed the connection without an answer")
		}
		return m.wire.Errorf(llm.Network, "the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	return m.failure(ctx, err)
}

// whole handles a server that does not stream.
func (m *Model) whole(ctx context.Context, resp *http.Response, a *answer) *llm.Error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return m.failure(ctx, err)
	}
	var msg sdk.Message
	if err := json.Unmarshal(body, &msg); err != nil || msg.Type != "message" {
		if said := llm.ParseErrorBody(body); said.Message != "" && said.Code != "" {
			return m.wire.BodyError(0, nil, said)
		}
		return m.wire.Errorf(llm.Garbled, "the answer is not that of the Messages API")
	}
	if err := a.message(&msg); err != nil {
		return m.wire.Errorf(llm.Garbled, "%w", err)
	}
	if !a.left {
		a.done()
	}
	return nil
}

// failure maps an error of the SDK.
func (m *Model) failure(ctx context.Context, err error) *llm.Error {
	if ctx.Err() != nil {
		return m.wire.TransportError(ctx, err)
	}
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		return m.apiError(api)
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case syntax && strings.Contains(err.Error(), "unexpected end"):
		return m.wire.Errorf(llm.Network, "the stream ended in the middle of an event: %w", io.ErrUnexpectedEOF)
	case syntax, mismatch, errors.Is(err, bufio.ErrTooLong), errors.Is(err, llm.ErrTooLong):
		return m.wire.Errorf(llm.Garbled, "the stream does not follow the protocol: %w", err)
	}
	return m.wire.TransportError(ctx, err)
}

// apiError maps an error that the server reported. An error in the middle of a
// stream carries the status 200. The SDK's error is not kept: it holds the
// request.
func (m *Model) apiError(api *sdk.Error) *llm.Error {
	status := api.StatusCode
	var h http.Header
	if api.Response != nil {
		h = api.Response.Header
	}
	if status < 300 {
		status, h = 0, nil
	}
	return m.wire.BodyError(status, h, llm.ParseErrorBody([]byte(api.RawJSON())))
}
