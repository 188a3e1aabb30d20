package llmtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"hob/platform/retry"
)

// frame is one event in a streamed answer.
type frame struct {
	event string // SSE event name; empty means none
	data  string
	delta bool // whether Answer.After counts the frame and Answer.Gap delays it
}

// playAnswer sends one answer.
func (s *Server) playAnswer(w http.ResponseWriter, hr *http.Request, r *Request, a *Answer) {
	if retry.Sleep(hr.Context(), a.Delay) != nil {
		return
	}
	a.writeHeader(w.Header())
	id := func() string { return fmt.Sprintf("call_%d", s.ids.Add(1)) }
	switch {
	case a.Status != 0:
		writeStatus(w, r.API, a)
		return
	case a.Fault == NoBody:
		w.Header().Set("Content-Type", "application/json")
		return
	case a.Fault == HTML:
		w.Header().Set("Content-Type", "text/html")
		writeText(w, "<!doctype html><title>Welcome</title><p>This is not a model.")
		return
	case !r.Stream || a.Fault == JSON:
		w.Header().Set("Content-Type", "application/json")
		s.sendWhole(w, hr, a, bodyEncoders()[r.API](r, a, id))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s.sendStream(w, hr, r.API, a, streamEncoders()[r.API](r, a, id))
}

// encodeSSE returns the frame in its wire format.
func (f frame) encodeSSE() string {
	if f.event == "" {
		return "data: " + f.data + "\n\n"
	}
	return "event: " + f.event + "\ndata: " + f.data + "\n\n"
}

// bodyEncoders returns the encoders for answers that are not streamed.
func bodyEncoders() map[API]func(*Request, *Answer, func() string) string {
	return map[API]func(*Request, *Answer, func() string) string{OpenAI: openaiJSON, Anthropic: anthropicJSON, Gemini: geminiJSON}
}

// streamEncoders returns the encoders for streamed answers.
func streamEncoders() map[API]func(*Request, *Answer, func() string) []frame {
	return map[API]func(*Request, *Answer, func() string) []frame{OpenAI: openaiFrames, Anthropic: anthropicFrames, Gemini: geminiFrames}
}

// sendWhole sends an answer that is not streamed. If the fault is a cut, it sends at most the first
// half.
func (s *Server) sendWhole(w http.ResponseWriter, hr *http.Request, a *Answer, body string) {
	if !a.Fault.isCut() {
		writeText(w, body)
		return
	}
	if a.After > 0 || a.Fault == HalfJSON {
		writeText(w, body[:len(body)/2])
	}
	flushResponse(w)
	switch a.Fault {
	case Reset:
		resetConnection(w)
	case Stall, Pings:
		<-hr.Context().Done()
	case Garbage, StreamError:
		writeText(w, "}{")
	}
}

func writeStatus(w http.ResponseWriter, api API, a *Answer) {
	if a.Body != "" {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(a.Status)
		writeText(w, a.Body)
		return
	}
	kinds := map[int]string{401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
	kind := kinds[a.Status]
	switch {
	case kind == "" && a.Status >= 500:
		kind = "api_error"
	case kind == "":
		kind = "invalid_request_error"
	}
	writeError(w, api, a.Status, kind, fmt.Sprintf("scripted status %d", a.Status))
}

// sendStream writes the frames until the fault applies.
func (s *Server) sendStream(w http.ResponseWriter, hr *http.Request, api API, a *Answer, frames []frame) {
	deltas := 0
	for i, f := range frames {
		if f.delta {
			if a.Gap > 0 && deltas > 0 {
				flushResponse(w)
				if retry.Sleep(hr.Context(), a.Gap) != nil {
					return
				}
			}
			if a.Fault.isCut() && deltas == a.After {
				s.applyFault(w, hr, api, a, f)
				return
			}
			deltas++
		} else if a.Fault.isCut() && isFinal(api, frames[i:]) {
			s.applyFault(w, hr, api, a, f)
			return
		}
		writeFrame(w, f, a.Fault == Odd)
	}
}

// isFinal reports whether no delta follows. A fault with a large After, or in an answer without
// deltas, must still apply before the end marker.
func isFinal(api API, rest []frame) bool {
	for _, f := range rest {
		if f.delta {
			return false
		}
	}
	return api != Anthropic || rest[0].event == "message_delta"
}

func writeFrame(w http.ResponseWriter, f frame, odd bool) {
	if !odd {
		writeText(w, f.encodeSSE())
		return
	}
	var b strings.Builder
	b.WriteString(": comment\r\n\r\n")
	if f.event != "" {
		b.WriteString("event:" + f.event + "\r\n")
	}
	if i := strings.Index(f.data, `":`); i > 0 { // a line break between tokens is valid JSON
		b.WriteString("data:" + f.data[:i+2] + "\r\ndata: " + f.data[i+2:] + "\r\n")
	} else {
		b.WriteString("data: " + f.data + "\r\n")
	}
	b.WriteString("id: 7\r\nretry: 10\r\n\r\n")
	writeText(w, b.String())
}

func (s *Server) applyFault(w http.ResponseWriter, hr *http.Request, api API, a *Answer, next frame) {
	flushResponse(w)
	switch a.Fault {
	case Reset:
		resetConnection(w)
	case Stall:
		<-hr.Context().Done()
	case Pings:
		sendPings(w, hr, api)
	case HalfJSON:
		writeFrame(w, frame{event: next.event, data: next.data[:len(next.data)/2]}, false)
	case Garbage:
		body := a.Body
		if body == "" {
			body = "}{ this is not JSON \xff\x00"
		}
		writeFrame(w, frame{event: next.event, data: body}, false)
		flushResponse(w)
		<-hr.Context().Done()
	case StreamError:
		writeFrame(w, streamError(api, a.Body), false)
		flushResponse(w)
	case EOF:
	}
}

func streamError(api API, body string) frame {
	f := frame{data: body}
	if api == Anthropic {
		f.event = "error"
	}
	if body == "" {
		f.data = map[API]string{
			OpenAI:    `{"error":{"message":"Overloaded","type":"server_error","code":503}}`,
			Anthropic: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			Gemini:    `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`,
		}[api]
	}
	return f
}

func sendPings(w http.ResponseWriter, hr *http.Request, api API) {
	for {
		if api == Anthropic {
			writeFrame(w, frame{event: "ping", data: `{"type":"ping"}`}, false)
		} else {
			writeText(w, ": ping\n\n")
		}
		flushResponse(w)
		if retry.Sleep(hr.Context(), 5*time.Second) != nil {
			return
		}
	}
}

// resetConnection breaks the connection without ending the response properly.
func resetConnection(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// writeText writes text to a client. It ignores errors, because the client may have disconnected.
func writeText(w http.ResponseWriter, text string) { _, _ = io.WriteString(w, text) }

func flushResponse(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// Render returns the body of an answer in an API's wire format, for tests that modify the body.
func Render(api API, stream bool, a Answer) string {
	r := Request{API: api, Model: "scripted", Body: []byte(`"include_usage":true`)}
	n := 0
	id := func() string { n++; return fmt.Sprintf("call_%d", n) }
	if !stream {
		return bodyEncoders()[api](&r, &a, id)
	}
	var b strings.Builder
	for _, f := range streamEncoders()[api](&r, &a, id) {
		b.WriteString(f.encodeSSE())
	}
	return b.String()
}
