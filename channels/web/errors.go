package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
)

// failure is an error with its HTTP status. errorBody encodes it for responses and streams.
type failure struct {
	Status                int
	Code, Message, Remedy string
	Event                 string        // id of a message that was accepted despite the error
	After                 time.Duration // value of the Retry-After header
}

func (f *failure) Error() string { return f.Message }

// errorBody returns the error as clients receive it.
func (f *failure) errorBody() api.ErrorBody {
	return api.ErrorBody{Error: api.Error{Code: f.Code, Message: f.Message, Remedy: f.Remedy}, Event: f.Event}
}

// StreamError is the data of the event "error" in a stream: the content of an api.ErrorBody without
// the outer object.
type StreamError struct {
	api.Error

	Event string `json:"event"`
}

// streamError returns the error in the form of a stream event.
func (f *failure) streamError() StreamError {
	b := f.errorBody()
	return StreamError{Error: b.Error, Event: b.Event}
}

// StepError is the last line in a stream of JSON lines that failed.
type StepError struct {
	Error string `json:"error"` // the message, and the remedy after "; "
	Code  string `json:"code"`
}

// stepError returns the error in the form of a line in a stream.
func (f *failure) stepError() StepError {
	b := f.errorBody()
	if b.Error.Remedy != "" {
		b.Error.Message += "; " + b.Error.Remedy
	}
	return StepError{Error: b.Error.Message, Code: b.Error.Code}
}

func newFailure(status int, code, remedy, format string, args ...any) *failure {
	return &failure{Status: status, Code: code, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

func invalidFailure(format string, args ...any) *failure {
	return newFailure(http.StatusBadRequest, "invalid", "", format, args...)
}

// awayRetry is how long a client should wait before it repeats a request while the database is away.
const awayRetry = 2 * time.Second

// failureOf converts any error into a failure.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{Status: http.StatusInternalServerError, Code: "failed", Message: err.Error()}
	for _, c := range []struct {
		class  error
		status int
		code   string
	}{
		{api.ErrNotFound, http.StatusNotFound, api.CodeNotFound},
		{api.ErrConflict, http.StatusConflict, api.CodeConflict},
		{api.ErrDenied, http.StatusForbidden, api.CodeDenied},
		{api.ErrInvalid, http.StatusBadRequest, api.CodeInvalid},
		{api.ErrFull, http.StatusInsufficientStorage, api.CodeFull},
		{api.ErrAway, http.StatusServiceUnavailable, api.CodeAway},
	} {
		if errors.Is(err, c.class) {
			f.Status, f.Code = c.status, c.code
			f.Message = strings.TrimPrefix(f.Message, c.class.Error()+": ") // the code already contains it
			break
		}
	}
	if f.Code == api.CodeAway {
		f.After = awayRetry
	}
	f.Message, f.Remedy = textnorm.SplitRemedy(f.Message)
	return f
}

// writeError responds with an error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	if f.Status >= 500 && r.Context().Err() == nil {
		s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "status", f.Status, "error", err)
	}
	if f.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Round(time.Second)/time.Second)))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="hob"`)
	}
	s.writeJSON(w, f.Status, f.errorBody())
}

// buffers is a pool of response buffers. Large buffers are not returned to it.
type buffers struct{ pool sync.Pool }

func (b *buffers) getBuffer() *bytes.Buffer {
	if x, ok := b.pool.Get().(*bytes.Buffer); ok {
		x.Reset()
		return x
	}
	return new(bytes.Buffer)
}

func (b *buffers) putBuffer(x *bytes.Buffer) {
	if x.Cap() <= 64<<10 {
		b.pool.Put(x)
	}
}

// encodeLine writes v as one line of JSON. It does not escape <, > and &, because responses are
// sent with nosniff and are never HTML.
func encodeLine(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// writeJSON responds with JSON. It encodes v first, so that a value that cannot be encoded results
// in an error and not in a partial response.
func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) {
	b := s.buffers.getBuffer()
	defer s.buffers.putBuffer(b)
	if err := encodeLine(b, v); err != nil {
		s.log.Error("encoding a response failed", "error", err)
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":{"code":"failed","message":"the answer could not be encoded"}}` + "\n")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	writeBy(w, time.Now().Add(writeTime))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a disconnected client needs no error
}

// writeBy sets the write deadline for the response.
func writeBy(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetWriteDeadline(t) // in-process writers have no deadline
}
